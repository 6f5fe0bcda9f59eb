"""The number of a Constant operator, stored as a tensor instead of an attribute.

Parsers before TensorRT 9.2 read ``value_int`` and ``value_ints`` as floats, which leaves nothing of them:
https://github.com/onnx/onnx-tensorrt/blob/6ba67d3428e0/builtin_op_importers.cpp.
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, Patch, Refusal
from trtlint.fixes.rewrites._computing import known
from trtlint.model.load import Model


def propose(fact: Fact, model: Model) -> Patch | Refusal:
    """Store the output of a Constant as an initializer of the same name."""
    node = fact.node
    if node is None or node.op != "Constant" or not node.outputs:
        return Refusal("there is no Constant here")
    value = node.outputs[0]
    if value.is_output or node.scope:
        return Refusal("it is an output, or lies in a body")
    array = known(value, model)
    if array is None:
        return Refusal("its elements cannot be read")
    draft = Draft(model, node)
    draft.constant(array, out=value.name)
    return draft.patch("stores the number as a tensor", [node])
