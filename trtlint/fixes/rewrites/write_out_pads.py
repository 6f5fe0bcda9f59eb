"""The padding that ``output_shape`` of a ``ConvTranspose`` asks for, written as ``pads``.

Without ``auto_pad`` the larger half goes before the image:
https://onnx.ai/onnx/operators/onnx__ConvTranspose.html
"""

from __future__ import annotations

from onnx import helper

from trtlint.facts.base import Fact
from trtlint.facts.of_model.transposed_convolution import asked_padding
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.model.load import Model
from trtlint.model.protos import text

_REPLACED = ("output_shape", "pads", "auto_pad")


def propose(fact: Fact, model: Model) -> Patch:
    """Write a ConvTranspose again with pads in place of its output_shape."""
    node = fact.node
    weight = None if node is None else node.input(1)
    if node is None or node.op != "ConvTranspose" or node.domain or weight is None or weight.shape is None:
        raise NotApplicable("there is no ConvTranspose here, or the shape of its weight is not known")
    asked = asked_padding(node, weight.shape[2:])
    if not asked:
        raise NotApplicable("the padding that it asks for is not known")
    if any(total < 0 for total in asked):
        raise NotApplicable("its output is larger than what it computes")
    draft = Draft(model, node)
    proto = draft.again(node, node.proto.input, node.proto.output)
    kept = [
        each for each in node.proto.attribute if text(each.name) not in ("output_shape", "pads", "auto_pad")
    ]
    del proto.attribute[:]
    proto.attribute.extend(kept)
    begins = [total - total // 2 for total in asked]
    ends = [total // 2 for total in asked]
    proto.attribute.append(helper.make_attribute("pads", begins + ends))
    return draft.patch("writes the padding out in place of output_shape", [node])
