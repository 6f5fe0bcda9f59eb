"""Replace operators on quantized tensors by floating-point operators.

ONNX Runtime's quantizer writes ``QLinearConv`` and similar operators. For dynamic quantization, the quantizer
writes ``DynamicQuantizeLinear``, ``MatMulInteger`` and ``ConvInteger``. TensorRT does not support these
operators. The rewrite replaces all operators that are connected by quantized tensors. The new operators
compute the same integers in FP32. The results stay the same, but the model no longer runs at the speed of
INT8.

Definitions: https://onnx.ai/onnx/operators/onnx__QLinearConv.html,
https://onnx.ai/onnx/operators/onnx__DynamicQuantizeLinear.html and
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, name_of, onnx_type, operator_of, opset_of
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
"""Maximum number of operators connected by quantized tensors."""
_ONE_AXIS = 13
"""First opset with Softmax over one axis: https://onnx.ai/onnx/operators/onnx__Softmax.html"""

Write = Callable[[Numbers, Node], "str | None"]
"""Function that inserts the replacement of a quantized operator.

If the replaced output is quantized, the function returns the name of the FP32 tensor with the integers of
this output. If the outputs are floats, the function returns None.
"""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch for an operator, and for all operators connected to it by quantized tensors."""
    node = operator_of(fact, model)
    nodes = connected(node, _near, _takes, "quantized tensor", _MOST_NODES)
    if model.opset is not None and model.opset < HAS_ROUND:
        raise NotApplicable(f"Round needs opset {HAS_ROUND} or newer")
    draft = Draft(model, node)
    numbers = Numbers(draft)
    removed = list(nodes)
    for each in nodes:
        write = _WRITERS.get((each.domain, each.op), _copy_to_fp32)
        try:
            result = write(numbers, each)
        except NotApplicable as error:
            where = "" if each is node else f" ({each.op})"
            raise NotApplicable(f"{error}{where}") from error
        if result is not None:
            numbers.known[each.output] = result
            for value in each.outputs:
                removed += _connect_readers(numbers, each, value)
    return draft.patch("computes quantized tensors in FP32", removed, opset=numbers.forms.opset, folds=True)


def _takes(node: Node) -> bool:
    return (node.domain, node.op) in _WRITERS or (not node.domain and node.op in MOVING)


def _near(node: Node) -> Iterator[Node]:
    """Yield the neighbours of a node that write or read its quantized tensors."""
    for value in node.inputs:
        producer = None if value is None else value.producer
        if producer is not None and producer.op != "Constant" and quantized_type(value):
            yield producer
    for value in node.outputs:
        if quantized_type(value):
            yield from (reader for reader, _ in value.uses)


def _connect_readers(numbers: Numbers, node: Node, value: Value) -> list[Node]:
    """Connect a result, which is now FP32, to the readers that are not rewritten.

    If the result is an output, or if a reader is not a Cast to FP32, the function inserts a Cast to the
    original integer type. The function returns the Casts to FP32 that are no longer needed.
    """
    name = numbers.known.get(value, "")
    if not name:
        return []
    if dtype := quantized_type(value):
        if value.is_output or value.leaves_body:
            numbers.draft.op("Cast", name, to=onnx_type(dtype), out=value.name)
        return []
    casts = [reader for reader, _ in value.uses if reader.op == "Cast" and reader.number("to", 0) == F32]
    casts = [reader for reader in casts if reader.scope == node.scope]
    for cast in casts:
        numbers.draft.op("Identity", name, out=cast.output.name)
    if value.is_output or value.leaves_body or len(casts) < len(value.uses):
        numbers.draft.op("Cast", name, to=onnx_type("i32"), out=value.name)
    return casts


def _copy_to_fp32(numbers: Numbers, node: Node) -> str | None:
    """Insert an FP32 copy of an operator that only moves or selects elements, such as Reshape or MaxPool."""
    if node.op == "MaxPool" and any(value.name for value in node.outputs[1:]):
        raise NotApplicable("MaxPool also returns indices")
    names = []
    for port, value in enumerate(node.inputs):
        if value is not None and quantized_type(value):
            names.append(numbers.of(value))
        else:
            names.append(name_of(value))
        if port == 0 and not quantized_type(value):
            raise NotApplicable(f"the first input of {node.op} is not quantized, but another input is")
    given = [numbers.draft.name(node.op.lower()) if value.name else "" for value in node.outputs]
    numbers.draft.again(node, names, given)
    numbers.known |= dict(zip(node.outputs[1:], given[1:], strict=True))
    return given[0]


def _quantize(numbers: Numbers, node: Node) -> str | None:
    data, scale = node.input(0), numbers.scale(node, 1)
    if data is None or data.dtype != "f32":
        raise NotApplicable("the input of the quantizer is not in FP32")
    return numbers.quantized(node, data.name, scale, 2)


def _dequantize(numbers: Numbers, node: Node) -> str | None:
    """Replace a DequantizeLinear by Sub and Mul.

    The scale must be stored in the model or be a scalar.
    """
    value, scale = node.input(0), node.input(1)
    axis = node.integer("axis", 1)
    if value is None or scale is None or scale.dtype != "f32":
        raise NotApplicable("the dequantizer does not return FLOAT")
    behind = None if value.rank is None else value.rank - 1 - axis % value.rank if value.rank else 0
    shifted = numbers.shifted(node, 0, 2, behind)
    known = numbers.stored(scale)
    if known is None and scale.rank != 0:
        raise NotApplicable("the scale is neither stored nor a scalar")
    factor = scale.name if known is None else numbers.draft.constant(along(known, behind), "scale")
    numbers.draft.op("Mul", shifted, factor, out=node.output.name)
    return None


def _cast(numbers: Numbers, node: Node) -> str | None:
    """Replace a Cast of 8-bit integers to a type with more than 8 bits."""
    name, to = numbers.of(node.input(0)), node.integer("to", 0)
    if quantized_type(node.output) or node.output.dtype is None:
        raise NotApplicable("the output type of the Cast is unknown or has 8 bits")
    if to == F32:
        numbers.draft.op("Identity", name, out=node.output.name)
    else:
        numbers.draft.op("Cast", name, to=to, out=node.output.name)
    return None


def _quantize_dynamically(numbers: Numbers, node: Node) -> str | None:
    """Replace a DynamicQuantizeLinear by float operators.

    The 255 quantization steps cover the range from the minimum to the maximum of the tensor. If this range
    does not contain 0, it is extended to 0.
    """
    draft, data = numbers.draft, node.input(0)
    if data is None or len(node.outputs) != 3:
        raise NotApplicable("DynamicQuantizeLinear does not have three outputs")
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


def _dequantized(numbers: Numbers, node: Node, port: int) -> str:
    """Dequantize input ``port`` of a node. The next two inputs are the scale and the zero point."""
    shifted = numbers.shifted(node, port, port + 2)
    scale = numbers.scale(node, port + 1)
    if scale.size != 1:
        raise NotApplicable("the scale is not a scalar")
    return numbers.draft.op("Mul", shifted, numbers.draft.constant(scale.reshape(()), "scale"))


def _in_floats(reads: tuple[int, ...], scale: int, write: Callable[[Draft, Node, list[str]], str]) -> Write:
    """Create a function that replaces a quantized operator by its float operator.

    The function dequantizes the operands, inserts the float operator, and quantizes the result.

    Args:
        reads: input indices of the operands.
        scale: input index of the result's scale; the next input is the result's zero point.
        write: function that inserts the float operator.
    """

    def written(numbers: Numbers, node: Node) -> str | None:
        operands = [_dequantized(numbers, node, port) for port in reads]
        own = numbers.scale(node, scale)
        return numbers.quantized(node, write(numbers.draft, node, operands), own, scale + 1)

    return written


def _float_operator(op: str, *names: str) -> Callable[[Draft, Node, list[str]], str]:
    """Create a function that inserts the float operator ``op``.

    ``names`` are the attributes that the new operator gets from the quantized operator.
    """
    return lambda draft, node, operands: draft.op(op, *operands, **settings(node, frozenset(names)))


def _pooling(op: str, *names: str) -> Write:
    """Create a function that replaces a quantized pooling operator, but rejects channels-last images."""
    write = _in_floats((0,), 3, _float_operator(op, *names))

    def written(numbers: Numbers, node: Node) -> str | None:
        if node.number("channels_last", 0):
            raise NotApplicable("the image has channels last")
        return write(numbers, node)

    return written


def _softmax(numbers: Numbers, node: Node) -> str | None:
    """Replace a QLinearSoftmax by a float Softmax.

    The attribute ``opset`` must agree with the model's opset. Before opset 13, Softmax covers all axes from
    ``axis`` on; since opset 13, Softmax covers only ``axis``.
    """
    axis, opset = node.integer("axis", -1), opset_of(numbers.draft.model)
    own = node.number("opset", opset)
    if axis != -1 and (own < _ONE_AXIS) != (opset < _ONE_AXIS):
        raise NotApplicable("the attribute opset of the Softmax does not agree with the opset of the model")
    return _in_floats((0,), 3, lambda draft, _, operands: draft.op("Softmax", *operands, axis=axis))(
        numbers, node
    )


def _concatenated(numbers: Numbers, node: Node) -> str | None:
    """Replace a QLinearConcat. Each tensor is followed by two inputs: its scale and zero point."""
    parts = [_dequantized(numbers, node, port) for port in range(2, len(node.inputs), 3)]
    scale = numbers.scale(node, 0)
    whole = numbers.draft.op("Concat", *parts, axis=node.integer("axis", 0))
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
    (ONNX_RUNTIME, "QLinearAdd"): _in_floats((0, 3), 6, _float_operator("Add")),
    (ONNX_RUNTIME, "QLinearMul"): _in_floats((0, 3), 6, _float_operator("Mul")),
    (ONNX_RUNTIME, "QLinearSigmoid"): _in_floats((0,), 3, _float_operator("Sigmoid")),
    (ONNX_RUNTIME, "QLinearLeakyRelu"): _in_floats((0,), 3, _float_operator("LeakyRelu", "alpha")),
    (ONNX_RUNTIME, "QLinearGlobalAveragePool"): _pooling("GlobalAveragePool"),
    (ONNX_RUNTIME, "QLinearAveragePool"): _pooling(
        "AveragePool", "auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides"
    ),
    (ONNX_RUNTIME, "QLinearSoftmax"): _softmax,
    (ONNX_RUNTIME, "QLinearConcat"): _concatenated,
    (ONNX_RUNTIME, "QGemm"): gemm,
}
"""For each operator (domain and type), the function that inserts its replacement."""
