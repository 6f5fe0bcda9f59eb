"""Replace an ``If`` with a known condition by the operators of the branch that runs.

https://onnx.ai/onnx/operators/onnx__If.html
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.fixes.rewrites._bodies import copy, store
from trtlint.model.imported import decided_if
from trtlint.model.load import Model
from trtlint.model.protos import text


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that replaces an If by the operators of the branch that runs.

    ``fact`` describes the If, or a node in one of its branches.
    """
    decided = decided_if(fact.node, model.graph, model.constants)
    if decided is None:
        raise NotApplicable("the condition of the If is known only at run time")
    node, taken = decided
    branch = "then_branch" if taken else "else_branch"
    proto = node.attributes[branch].g if branch in node.attributes else None
    if proto is None or len(proto.output) != len(node.outputs):
        raise NotApplicable("the outputs of the branch do not match the outputs of the If")
    if proto.sparse_initializer:
        raise NotApplicable("the branch stores a sparse tensor")
    draft = Draft(model, node)
    stored = store(draft, proto)
    computed = {text(name) for inner in proto.node for name in inner.output if name}
    wanted: dict[str, str] = {}
    given: list[tuple[str, str]] = []
    for output, value in zip(proto.output, node.outputs, strict=True):
        inner = text(output.name)
        if inner in computed and inner not in wanted and value.name:
            wanted[inner] = value.name
        elif value.name:
            given.append((inner, value.name))
    names = copy(draft, proto, stored, wanted)
    for source, name in given:
        draft.op("Identity", names.get(source, source), out=name)
    title = f"inlines the branch of an If whose condition is always {'true' if taken else 'false'}"
    return draft.patch(title, [node], folds=True)
