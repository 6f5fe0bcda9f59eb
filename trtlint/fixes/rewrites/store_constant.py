"""The number of a Constant operator, stored as a tensor instead of an attribute.

Parsers before TensorRT 9.2 read ``value_int`` and ``value_ints`` as floats, which leaves nothing of them:
https://github.com/onnx/onnx-tensorrt/blob/6ba67d3428e0/builtin_op_importers.cpp.
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.fixes.rewrites._computing import known
from trtlint.model.graph import Node
from trtlint.model.load import Model


def propose(fact: Fact, model: Model) -> Patch:
    """Store the output of a Constant, or of those that an operator reads as sizes, under the same name."""
    node = fact.node
    constants = [] if node is None or not node.outputs else _constants(node)
    if node is None or not constants:
        raise NotApplicable("there is no Constant here")
    draft = Draft(model, node)
    for constant in constants:
        value = constant.outputs[0]
        if value.is_output or constant.scope:
            raise NotApplicable("it is an output, or lies in a body")
        array = known(value, model)
        if array is None:
            raise NotApplicable("its elements cannot be read")
        draft.constant(array, out=value.name)
    return draft.patch("stores the number as a tensor", constants)


def _constants(node: Node) -> list[Node]:
    """The Constant that a node is, or each one with ``value_ints`` that gives it sizes."""
    if node.op == "Constant":
        return [node]
    made = dict.fromkeys(value.producer for value in node.inputs[1:] if value is not None)
    return [
        constant
        for constant in made
        if constant is not None and constant.op == "Constant" and constant.attribute("value_ints")
    ]
