"""Store operands as tensors if the model computes these operands from constants.

The parser requires stored tensors for some operands, such as the axes of a reduction.  The parser does not
fold arithmetic on constants: https://github.com/onnx/onnx-tensorrt/blob/main/onnxOpImporters.cpp.
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, operator_of
from trtlint.fixes.rewrites._bodies import hangs_on_sizes
from trtlint.fixes.rewrites._computing import known
from trtlint.model.load import Model


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that stores all constant operands of an operator, except its first input."""
    node = operator_of(fact, model)
    draft, rewire = Draft(model, node), []
    for port, value in enumerate(node.inputs):
        if not port or value is None or value.initializer is not None:
            continue
        array = None if hangs_on_sizes(value) else known(value, model)
        if array is not None:
            rewire.append((node, port, draft.constant(array, "stored")))
    if not rewire:
        raise NotApplicable("the operands are known only at run time")
    return draft.patch(f"stores constant operands of {node.op}", [], rewire=rewire, folds=True)
