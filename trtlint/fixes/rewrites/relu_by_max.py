"""Replace Relu of integers by Max with zero.

https://onnx.ai/onnx/operators/onnx__Relu.html
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, opset_of
from trtlint.model.load import Model

_SINCE = 12
"""First opset in which Max supports integers. Relu supports integers since opset 14."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that replaces one Relu."""
    node = fact.node
    value = None if node is None else node.input(0)
    if node is None or node.op != "Relu" or node.domain or value is None or opset_of(model) < _SINCE:
        raise NotApplicable("there is no Relu of integers at this place")
    if value.dtype not in ("i32", "i64"):
        raise NotApplicable(f"the input of Relu is {value.dtype}; this rewrite supports only i32 and i64")
    draft = Draft(model, node)
    draft.op("Max", value, draft.like(0, value, "zero"), out=node.output.name)
    return draft.patch("replaces Relu of integers by Max", [node], folds=True)
