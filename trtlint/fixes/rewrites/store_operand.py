"""Operands that hang on nothing that is fed, stored where they are computed.

A parser wants some operands, such as the axes of a reduction, in the file, and does not look through
arithmetic on constants: https://github.com/onnx/onnx-tensorrt/blob/main/onnxOpImporters.cpp.
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.fixes.rewrites._bodies import hangs_on_sizes
from trtlint.fixes.rewrites._computing import known
from trtlint.model.load import Model


def propose(fact: Fact, model: Model) -> Patch:
    """Store what the operator of a finding reads behind its first input."""
    node = fact.node
    if node is None:
        raise NotApplicable("there is no operator here")
    draft, rewire = Draft(model, node), []
    for port, value in enumerate(node.inputs):
        if not port or value is None or value.initializer is not None:
            continue
        array = None if hangs_on_sizes(value) else known(value, model)
        if array is not None:
            rewire.append((node, port, draft.constant(array, "stored")))
    if not rewire:
        raise NotApplicable("what has to be stored is known at run time only")
    return draft.patch(f"stores what {node.op} reads", [], rewire=rewire, folds=True)
