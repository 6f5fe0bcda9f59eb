"""Replace a ``Clip`` that has only one bound by ``Min`` or ``Max``.

https://onnx.ai/onnx/operators/onnx__Clip.html
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, operator_of
from trtlint.model.load import Model

_SINCE = 13
"""First opset in which Min and Max support BF16."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that replaces one Clip."""
    reason = "there is no Clip at this place, or the opset is older than 13"
    node = operator_of(fact, model, "Clip", since=_SINCE, reason=reason)
    low, high = node.input(1), node.input(2)
    if (low is None) == (high is None):
        raise NotApplicable("Clip does not have exactly one bound")
    draft = Draft(model, node)
    op, bound = ("Min", high) if low is None else ("Max", low)
    draft.op(op, node.inputs[0], bound, out=node.output.name)
    return draft.patch(f"clips by {op}", [node])
