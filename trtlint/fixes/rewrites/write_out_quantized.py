"""Operators that compute with quantized tensors, written out in floating point.

ONNX Runtime's quantizer writes ``QLinearConv`` and its like, and in dynamic quantisation
``DynamicQuantizeLinear``, ``MatMulInteger`` and ``ConvInteger``, for which TensorRT has no importers.  All
that is connected by quantized tensors is computed with the same whole numbers in FP32: the results stay,
what INT8 saves in time does not.

Definitions: https://onnx.ai/onnx/operators/onnx__QLinearConv.html,
https://onnx.ai/onnx/operators/onnx__DynamicQuantizeLinear.html and
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from onnx import helper

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.fixes.rewrites._connected import connected
from trtlint.fixes.rewrites._numbers import F32, HAS_ROUND, MOVING, Numbers, along, quantized_type
from trtlint.fixes.rewrites._products import (
    conv_integer,
    gemm,
    matmul_integer,
    qlinear_conv,
    qlinear_matmul,
    settings,
)
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.operators import ONNX_RUNTIME

_MOST_NODES = 4000
"""Operators that are connected by quantized tensors."""
_ONE_AXIS = 13
"""The opset from which on Softmax is over one axis: https://onnx.ai/onnx/operators/onnx__Softmax.html"""
_TITLE = "computes quantized tensors in FP32"

Write = Callable[[Numbers, Node], "str | None"]
"""Writes an operator out; gives the numbers that its first output holds, None for an output in floats."""


def propose(fact: Fact, model: Model) -> Patch:
    """Write out the operator at which a fact was found, and all that quantized tensors connect it with."""
    node = fact.node
    if node is None:
        raise NotApplicable("there is no operator here")
    nodes = connected(node, _near, _takes, "quantized tensor", _MOST_NODES)
    if model.opset is not None and model.opset < HAS_ROUND:
        raise NotApplicable(f"there is no Round before opset {HAS_ROUND}")
    draft = Draft(model, node)
    numbers = Numbers(model, draft)
    removed = list(nodes)
    for each in nodes:
        write = _WRITERS.get((each.domain, each.op), _moved)
        try:
            result = write(numbers, each)
        except NotApplicable as error:
            where = "" if each is node else f", at {each.op}"
            raise NotApplicable(f"{error}{where}") from error
        if result is not None:
            numbers.known[each.output] = result
            for value in each.outputs:
                removed += _given(numbers, each, value)
    return draft.patch(_TITLE, removed, opset=numbers.forms.opset, folds=True)


def _takes(node: Node) -> bool:
    return (node.domain, node.op) in _WRITERS or (not node.domain and node.op in MOVING)


def _near(node: Node) -> Iterator[Node]:
    """The operators that give a quantized tensor to another one, and that read what it gives."""
    for value in node.inputs:
        producer = None if value is None else value.producer
        if producer is not None and producer.op != "Constant" and quantized_type(value):
            yield producer
    for value in node.outputs:
        if quantized_type(value):
            yield from (reader for reader, _ in value.uses)


def _given(numbers: Numbers, node: Node, value: Value) -> list[Node]:
    """Give what leaves the quantized part its own type; returns the Casts whose place that takes."""
    name = numbers.known.get(value, "")
    if not name:
        return []
    if dtype := quantized_type(value):
        if value.is_output or value.leaves_body:
            numbers.draft.op("Cast", name, to=helper.np_dtype_to_tensor_dtype(_NUMPY[dtype]), out=value.name)
        return []
    casts = [reader for reader, _ in value.uses if reader.op == "Cast" and reader.number("to", 0) == F32]
    casts = [reader for reader in casts if reader.scope == node.scope]
    for cast in casts:
        numbers.draft.op("Identity", name, out=cast.output.name)
    if value.is_output or value.leaves_body or len(casts) < len(value.uses):
        numbers.draft.op("Cast", name, to=helper.np_dtype_to_tensor_dtype(np.dtype(np.int32)), out=value.name)
    return casts


_NUMPY = {"u8": np.dtype(np.uint8), "i8": np.dtype(np.int8)}


def _moved(numbers: Numbers, node: Node) -> str | None:
    """An operator that only moves numbers, or picks the largest."""
    if node.op == "MaxPool" and any(value.name for value in node.outputs[1:]):
        raise NotApplicable("MaxPool gives where the largest numbers are, too")
    names = []
    for port, value in enumerate(node.inputs):
        if value is not None and quantized_type(value):
            name = numbers.of(value)
            names.append(name)
        else:
            names.append("" if value is None else value.name)
        if port == 0 and not quantized_type(value):
            raise NotApplicable(f"{node.op} reads a quantized tensor as something else")
    given = [numbers.draft.name(node.op.lower()) if value.name else "" for value in node.outputs]
    numbers.draft.again(node, names, given)
    numbers.known |= dict(zip(node.outputs[1:], given[1:], strict=True))
    return given[0]


def _quantize(numbers: Numbers, node: Node) -> str | None:
    data, scale = node.input(0), numbers.scale(node, 1)
    if data is None or data.dtype != "f32":
        raise NotApplicable("it quantizes another type than FLOAT")
    return numbers.quantized(node, data.name, scale, 2)


def _dequantize(numbers: Numbers, node: Node) -> str | None:
    """Numbers as the floats that they stand for; the scale may be computed."""
    value, scale = node.input(0), node.input(1)
    axis = int(node.number("axis", 1))
    if value is None or scale is None or scale.dtype != "f32":
        raise NotApplicable("it does not give FLOAT")
    behind = None if value.rank is None else value.rank - 1 - axis % value.rank if value.rank else 0
    shifted = numbers.shifted(node, 0, 2, behind)
    known = numbers.stored(scale)
    if known is None and scale.rank != 0:
        raise NotApplicable("its scale is neither stored nor a scalar")
    factor = scale.name
    if known is not None:
        shaped = along(known, behind)
        factor = numbers.draft.constant(shaped, "scale")
    numbers.draft.op("Mul", shifted, factor, out=node.output.name)
    return None


def _cast(numbers: Numbers, node: Node) -> str | None:
    """The numbers as such, in another type than one of eight bits."""
    name, to = numbers.of(node.input(0)), int(node.number("to", 0))
    if quantized_type(node.output) or node.output.dtype is None:
        raise NotApplicable("Cast gives another type of eight bits")
    if to == F32:
        numbers.draft.op("Identity", name, out=node.output.name)
    else:
        numbers.draft.op("Cast", name, to=to, out=node.output.name)
    return None


def _quantize_dynamically(numbers: Numbers, node: Node) -> str | None:
    """The range of a tensor and 0 in 255 steps, as a number that is counted from the least."""
    draft, data = numbers.draft, node.input(0)
    if data is None or len(node.outputs) != 3:
        raise NotApplicable("it does not give three tensors")
    zero, one, most = (draft.like(number, "f32", "number") for number in (0.0, 1.0, 255.0))
    low, high = (draft.op(pick, draft.op(f"Reduce{pick}", data, keepdims=0), zero) for pick in ("Min", "Max"))
    span = draft.op("Sub", high, low)
    divided = draft.op("Div", span, most)
    scale = draft.op("Where", draft.op("Equal", span, zero), one, divided, out=node.outputs[1].name)
    least = draft.op("Sub", zero, draft.op("Div", low, scale))
    point = draft.op("Round", numbers.forms.clip(least, 0.0, 255.0, "f32"))
    steps = draft.op("Add", draft.op("Round", draft.op("Div", data, scale)), point)
    numbers.known[node.outputs[2]] = point
    if any(value.is_output or value.leaves_body for value in (node.output, node.outputs[2])):
        raise NotApplicable("the quantized tensor or its zero point is an output")
    return numbers.forms.clip(steps, 0.0, 255.0, "f32")


def _real(numbers: Numbers, node: Node, port: int) -> str:
    """The floats that an operand stands for, whose scale and zero point come behind it."""
    shifted = numbers.shifted(node, port, port + 2)
    scale = numbers.scale(node, port + 1)
    if scale.size != 1:
        raise NotApplicable("it has a scale for each element")
    return numbers.draft.op("Mul", shifted, numbers.draft.constant(scale.reshape(()), "scale"))


def _in_floats(reads: tuple[int, ...], scale: int, write: Callable[[Draft, Node, list[str]], str]) -> Write:
    """An operator that is computed with what its operands stand for, and quantized.

    Args:
        reads: which of its inputs the operands are.
        scale: which of its inputs is the scale of the result; its zero point is behind it.
        write: writes the operator.
    """

    def written(numbers: Numbers, node: Node) -> str | None:
        operands = []
        for port in reads:
            real = _real(numbers, node, port)
            operands.append(real)
        own = numbers.scale(node, scale)
        return numbers.quantized(node, write(numbers.draft, node, operands), own, scale + 1)

    return written


def _by(op: str, *names: str) -> Callable[[Draft, Node, list[str]], str]:
    """An operator of ONNX that takes some attributes of the quantized one."""
    return lambda draft, node, operands: draft.op(op, *operands, **settings(node, frozenset(names)))


def _pooled(op: str, *names: str) -> Write:
    """A mean over parts of an image whose channels come before its rows."""
    write = _in_floats((0,), 3, _by(op, *names))

    def written(numbers: Numbers, node: Node) -> str | None:
        if node.number("channels_last", 0):
            raise NotApplicable("the channels of its image are last")
        return write(numbers, node)

    return written


def _softmax(numbers: Numbers, node: Node) -> str | None:
    """Softmax, over all axes from one on where its own opset, and not the model's, is below 13."""
    axis, opset = int(node.number("axis", -1)), numbers.opset
    own = node.number("opset", opset)
    if axis != -1 and (own < _ONE_AXIS) != (opset < _ONE_AXIS):
        raise NotApplicable("it is that of another opset than the model's")
    return _in_floats((0,), 3, lambda draft, _, operands: draft.op("Softmax", *operands, axis=axis))(
        numbers, node
    )


def _concatenated(numbers: Numbers, node: Node) -> str | None:
    """Tensors with a scale and a zero point each, which come behind those of the result."""
    parts = []
    for port in range(2, len(node.inputs), 3):
        real = _real(numbers, node, port)
        parts.append(real)
    scale = numbers.scale(node, 0)
    whole = numbers.draft.op("Concat", *parts, axis=int(node.number("axis", 0)))
    return numbers.quantized(node, whole, scale, 1)


_WRITERS: Mapping[tuple[str, str], Write] = {
    ("", "QuantizeLinear"): _quantize,
    ("", "DequantizeLinear"): _dequantize,
    ("", "Cast"): _cast,
    ("", "DynamicQuantizeLinear"): _quantize_dynamically,
    ("", "MatMulInteger"): matmul_integer,
    ("", "ConvInteger"): conv_integer,
    ("", "QLinearMatMul"): qlinear_matmul,
    ("", "QLinearConv"): qlinear_conv,
    (ONNX_RUNTIME, "QLinearAdd"): _in_floats((0, 3), 6, _by("Add")),
    (ONNX_RUNTIME, "QLinearMul"): _in_floats((0, 3), 6, _by("Mul")),
    (ONNX_RUNTIME, "QLinearSigmoid"): _in_floats((0,), 3, _by("Sigmoid")),
    (ONNX_RUNTIME, "QLinearLeakyRelu"): _in_floats((0,), 3, _by("LeakyRelu", "alpha")),
    (ONNX_RUNTIME, "QLinearGlobalAveragePool"): _pooled("GlobalAveragePool"),
    (ONNX_RUNTIME, "QLinearAveragePool"): _pooled(
        "AveragePool", "auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides"
    ),
    (ONNX_RUNTIME, "QLinearSoftmax"): _softmax,
    (ONNX_RUNTIME, "QLinearConcat"): _concatenated,
    (ONNX_RUNTIME, "QGemm"): gemm,
}
"""How each operator is written out."""
