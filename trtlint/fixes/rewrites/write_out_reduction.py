"""Replace a reduction over no axes by an element-wise operator, such as ReduceL1 by Abs.

https://onnx.ai/onnx/operators/onnx__ReduceL1.html
"""

from __future__ import annotations

from collections.abc import Mapping

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.model.load import Model

_EACH: Mapping[str, str] = {"ReduceL1": "Abs", "ReduceL2": "Abs", "ReduceLogSum": "Log"}


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that replaces one reduction."""
    node = fact.node
    tensor = None if node is None else node.input(0)
    if node is None or node.domain or tensor is None or node.input(1) is not None:
        raise NotApplicable("there is no reduction without axes at this place")
    if not node.number("noop_with_empty_axes", 0) or "axes" in node.attributes:
        raise NotApplicable(f"{node.op} reduces at least one axis")
    draft = Draft(model, node)
    if node.op in _EACH:
        draft.op(_EACH[node.op], tensor, out=node.output.name)
    elif node.op == "ReduceSumSquare":
        draft.op("Mul", tensor, tensor, out=node.output.name)
    else:
        raise NotApplicable(f"{node.op} over no axes returns its input unchanged")
    return draft.patch(f"replaces {node.op} over no axes by an element-wise operator", [node])
