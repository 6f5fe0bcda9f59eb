"""Store the number of a Constant operator as a tensor instead of an attribute such as ``value_int``.

The parsers of TensorRT before 9.2 read ``value_int`` and ``value_ints`` as floats and lose the value:
https://github.com/onnx/onnx-tensorrt/blob/6ba67d3428e0/builtin_op_importers.cpp.
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.fixes.rewrites._computing import known
from trtlint.model.graph import Node
from trtlint.model.load import Model


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that replaces Constants by stored tensors of the same name.

    The patch replaces a single Constant, or the Constants with ``value_ints`` that are inputs of an operator.
    """
    node = fact.node
    constants = [] if node is None or not node.outputs else _constants(node)
    if node is None or not constants:
        raise NotApplicable("there is no Constant at this place")
    draft = Draft(model, node)
    for constant in constants:
        value = constant.outputs[0]
        if value.is_output or constant.scope:
            raise NotApplicable(
                "the constant is an output of the model, or is in the body of an If or a loop"
            )
        array = known(value, model)
        if array is None:
            raise NotApplicable("the elements of the constant cannot be read")
        draft.constant(array, out=value.name)
    return draft.patch("stores the number as a tensor", constants)


def _constants(node: Node) -> list[Node]:
    """Return the Constants to replace.

    If ``node`` is a Constant, return only ``node``. Otherwise, return the Constants with ``value_ints`` that
    are inputs of ``node``.
    """
    if node.op == "Constant":
        return [node]
    made = dict.fromkeys(value.producer for value in node.inputs[1:] if value is not None)
    return [
        constant
        for constant in made
        if constant is not None and constant.op == "Constant" and constant.attribute("value_ints")
    ]
