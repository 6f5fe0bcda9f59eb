"""Deliberately wrong rewrites: each patch with one typical mistake."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from msgspec.structs import replace
from onnx import TensorProto, helper, numpy_helper

from trtlint.fixes.patch import Patch

ORDERED = (
    "Sub",
    "Div",
    "Pow",
    "MatMul",
    "Gemm",
    "Less",
    "LessOrEqual",
    "Greater",
    "GreaterOrEqual",
    "Concat",
)
"""Operators whose operands cannot be swapped."""
BINARY = ("Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "And", "Or", "MatMul")
"""Operators one of whose operands can be dropped."""
OTHERS = {
    "Add": "Sub",
    "Min": "Max",
    "Max": "Min",
    "And": "Or",
    "Less": "LessOrEqual",
    "LessOrEqual": "Less",
    "GreaterOrEqual": "Greater",
    "ReduceMax": "ReduceMin",
    "ReduceMin": "ReduceMax",
    "ReduceSum": "ReduceMean",
    "ReduceMean": "ReduceSum",
    "Round": "Floor",
    "Floor": "Round",
    "Sqrt": "Reciprocal",
    "Erf": "Tanh",
    "Sin": "Cos",
    "Cos": "Sin",
}
"""Pairs of operators to confuse."""
AXES = ("axis", "axes", "perm")
RARELY_LEFT_OUT = ("keepdims", "noop_with_empty_axes")

Array = np.ndarray[Any, np.dtype[Any]]


def spoilt(patch: Patch) -> Iterator[tuple[str, Patch]]:
    """Yield named wrong variants of a patch."""
    for index, tensor in enumerate(patch.initializers):
        array = numpy_helper.to_array(tensor)
        for kind, wrong in _arrays(array):
            if wrong.shape != array.shape or not np.array_equal(wrong.astype(array.dtype), array):
                other = numpy_helper.from_array(wrong.astype(array.dtype, order="C"), tensor.name)
                yield (
                    f"{kind}: {tensor.name}",
                    replace(patch, initializers=_placed(patch.initializers, index, other)),
                )
    for index, node in enumerate(patch.insert):
        for kind, spoiled in _nodes(node):
            yield (
                f"{kind}: {node.name or node.op_type}",
                replace(patch, insert=_placed(patch.insert, index, spoiled)),
            )
    yield from _rewired(patch)


def _placed(items: tuple[Any, ...], index: int, item: Any) -> tuple[Any, ...]:
    return (*items[:index], item, *items[index + 1 :])


def _arrays(array: Array) -> Iterator[tuple[str, Array]]:
    """Yield wrong variants of a stored tensor."""
    if array.dtype == bool:
        yield "condition turned round", ~array
        return
    if array.dtype.kind == "f":
        finite = np.isfinite(array)
        yield "scale off by 30 %", np.where(finite, array, 1) * 0.7
        yield "nothing stored", np.zeros_like(array)
        yield "ones stored", np.ones_like(array)
        yield "sign turned round", -array
    elif array.dtype.kind in "iu" and array.size:
        yield "off by one", array + 1
        if array.size > 1:
            yield (
                "last off by one",
                np.append(array.reshape(-1)[:-1], array.reshape(-1)[-1] + 1).reshape(array.shape),
            )
    if array.size > 1:
        yield "elements in the wrong order", array.reshape(-1)[::-1].reshape(array.shape)
    if array.ndim > 1 and array.shape[-1] == array.shape[-2]:
        yield "transposed", np.swapaxes(array, -1, -2)


def _nodes(node: onnx.NodeProto) -> Iterator[tuple[str, onnx.NodeProto]]:
    """Yield wrong variants of an inserted operator."""
    op, inputs = node.op_type, list(node.input)
    if op in ORDERED and len(inputs) > 1 and inputs[0] != inputs[1]:
        yield "operands swapped", _with_inputs(node, [inputs[1], inputs[0], *inputs[2:]])
    if op in BINARY and len(inputs) == 2:
        for kept in inputs:
            yield "operand dropped", helper.make_node("Identity", [kept], node.output)
    if op == "Where":
        yield "branches swapped", _with_inputs(node, [inputs[0], inputs[2], inputs[1]])
    if op.endswith("Normalization") or op in ("Conv", "Gemm", "Clip", "QuantizeLinear", "DequantizeLinear"):
        least = 2 if op != "Clip" else 1
        for port in range(least, len(inputs)):
            if inputs[port]:
                left = [*inputs[:port], "", *inputs[port + 1 :]]
                yield "input left out", _with_inputs(node, left[:port] if not any(left[port:]) else left)
    if op in OTHERS:
        yield "another operator", _copy(node, OTHERS[op])
    for attribute in node.attribute:
        for kind, value in _attributes(attribute):
            copy = _copy(node)
            (there,) = (each for each in copy.attribute if each.name == attribute.name)
            there.CopyFrom(helper.make_attribute(attribute.name, value))
            yield f"{kind} {attribute.name}", copy
    if op not in ("Constant", "Identity", "Shape") and len(node.output) == 1:
        yield "operator dropped", helper.make_node("Identity", inputs[:1], node.output)


def _attributes(attribute: onnx.AttributeProto) -> Iterator[tuple[str, Any]]:
    """Yield wrong variants of an attribute."""
    value = helper.get_attribute_value(attribute)
    if attribute.name in AXES and attribute.type == attribute.INTS:
        for first in range(len(value) - 1):
            swapped = [*value]
            swapped[first], swapped[first + 1] = swapped[first + 1], swapped[first]
            if attribute.name == "perm":
                yield "wrong", swapped
        if attribute.name == "axes":
            yield "wrong", [value[0] - 1 if value[0] else 1, *value[1:]]
    elif attribute.name in AXES:
        yield "wrong", value - 1 if value else 1
    elif attribute.name == "to":
        yield "wrong", TensorProto.INT32 if value != TensorProto.INT32 else TensorProto.INT8
    elif attribute.name == "epsilon":
        yield "much larger", value * 1000
        yield "no", 0.0
    elif attribute.type == attribute.FLOAT:
        yield "30 % off", value * 0.7
    elif attribute.type == attribute.INTS:
        yield "off by one", [value[0] + 1, *value[1:]]
        if len(set(value)) > 1:
            yield "in the wrong order", value[::-1]
    elif attribute.type == attribute.INT:
        yield "off by one", 1 - value if value in (0, 1) else value + 1


def _rewired(patch: Patch) -> Iterator[tuple[str, Patch]]:
    """Yield another value for a reader: from another port or from another reader."""
    given = [name for _, _, name in patch.rewire]
    for index, (node, port, name) in enumerate(patch.rewire):
        own = [value.name for at, value in enumerate(node.inputs) if value is not None and at != port]
        for other in list(dict.fromkeys(each for each in (*own, *given) if each != name))[:2]:
            rewire = _placed(patch.rewire, index, (node, port, other))
            yield f"another value: {node.path} {port}", replace(patch, rewire=rewire)


def _copy(node: onnx.NodeProto, op: str = "") -> onnx.NodeProto:
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    copy.op_type = op or node.op_type
    return copy


def _with_inputs(node: onnx.NodeProto, inputs: list[str]) -> onnx.NodeProto:
    copy = _copy(node)
    copy.input[:] = inputs
    return copy
