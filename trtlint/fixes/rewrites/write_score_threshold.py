"""Set the score threshold of ``NonMaxSuppression`` to the lowest number, so that every score passes.

https://onnx.ai/onnx/operators/onnx__NonMaxSuppression.html
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, lowest, operator_of
from trtlint.model.load import Model
from trtlint.model.protos import text

_THRESHOLD = 4


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that sets the score threshold of a NonMaxSuppression."""
    node = operator_of(fact, model, "NonMaxSuppression")
    if node.input(_THRESHOLD) is not None:
        raise NotApplicable("NonMaxSuppression already has a score threshold")
    draft = Draft(model, node)
    given = [text(name) for name in node.proto.input][:_THRESHOLD]
    given += [""] * (_THRESHOLD - len(given))
    draft.again(node, [*given, draft.like(lowest("f32"), "f32", "least")])
    return draft.patch("sets the score threshold to the lowest number", [node])
