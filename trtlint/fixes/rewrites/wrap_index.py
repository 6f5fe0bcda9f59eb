"""Replace negative indices of ``OneHot`` by index + depth.

https://onnx.ai/onnx/operators/onnx__OneHot.html
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, operator_of
from trtlint.model.load import Model
from trtlint.model.protos import text

_SINCE = 9
"""First opset with Where."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that adds the depth to negative indices of one OneHot."""
    node = operator_of(fact, model, "OneHot", since=_SINCE)
    index, depth = node.input(0), node.input(1)
    count = model.constants.scalar(depth)
    if index is None or index.dtype not in ("i32", "i64", "f32", "f16") or count is None:
        raise NotApplicable("the type of the indices is unknown, or the model does not store the depth")
    draft = Draft(model, node)
    below = draft.op("Less", index, draft.like(0, index, "zero"))
    wrapped = draft.op("Where", below, draft.op("Add", index, draft.like(count, index, "depth")), index)
    draft.again(node, [wrapped, *(text(name) for name in list(node.proto.input)[1:])])
    return draft.patch("replaces negative indices by non-negative ones", [node])
