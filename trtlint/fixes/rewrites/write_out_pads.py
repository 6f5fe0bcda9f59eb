"""Replace ``output_shape`` of a ``ConvTranspose`` by explicit ``pads``.

If the padding of an axis is odd and ``auto_pad`` is not set, the larger half is at the start of the axis:
https://onnx.ai/onnx/operators/onnx__ConvTranspose.html
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.facts.of_model.transposed_convolution import asked_padding
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.model.load import Model


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that replaces output_shape of a ConvTranspose by pads."""
    node = fact.node
    weight = None if node is None else node.input(1)
    if node is None or node.op != "ConvTranspose" or node.domain or weight is None or weight.shape is None:
        raise NotApplicable(
            "there is no ConvTranspose at this place, or the shape of the weight is not known"
        )
    asked = asked_padding(node, weight.shape[2:])
    if not asked:
        raise NotApplicable("the required padding is not known")
    if any(total < 0 for total in asked):
        raise NotApplicable("output_shape is larger than the result without padding")
    draft = Draft(model, node)
    begins = [total - total // 2 for total in asked]
    ends = [total // 2 for total in asked]
    draft.again(node, without=("output_shape", "auto_pad"), pads=begins + ends)
    return draft.patch("replaces output_shape by explicit padding", [node])
