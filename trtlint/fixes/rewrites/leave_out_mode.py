"""Remove the default mode, linear interpolation, from a GridSample.

Some releases of TensorRT's parser know only the mode names of opsets before 20. These parsers treat
``linear``, a mode name of opset 20, as ``nearest``. https://onnx.ai/onnx/operators/onnx__GridSample.html
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, operator_of
from trtlint.model.load import Model


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that removes the attribute ``mode`` of a GridSample."""
    node = operator_of(fact, model, "GridSample")
    if node.attribute("mode") != "linear":
        raise NotApplicable(
            "the mode is not linear; this rewrite deletes the attribute mode, which is correct only for the "
            "default mode linear"
        )
    draft = Draft(model, node)
    draft.again(node, without=["mode"])
    return draft.patch("removes the attribute mode, which has the default value", [node])
