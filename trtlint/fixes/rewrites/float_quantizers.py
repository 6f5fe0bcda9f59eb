"""Replace quantizers that TensorRT does not support: UINT8 quantizers, and quantizers with a zero point.

TensorRT quantizes to INT8 without a zero point. UINT8 with the zero point 128 is equivalent to INT8 with the
zero point 0, so the rewrite changes UINT8 to INT8. The rewrite replaces the remaining quantizers by rounding
and clipping in floating point. The results stay the same, but TensorRT uses no INT8 kernels for the replaced
quantizers. Definition:
https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html
"""

from __future__ import annotations

import numpy as np

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, opset_of
from trtlint.fixes.rewrites import write_out_quantized
from trtlint.fixes.rewrites._numbers import HAS_ROUND
from trtlint.fixes.rewrites._quantizers import RANGES, StoredQuantizer, folded, is_quantizer, quantizer
from trtlint.model.graph import Node
from trtlint.model.load import Model
from trtlint.model.payload import Array

_MIDDLE = 128
"""Zero point of UINT8 that corresponds to 0 in INT8."""
_ROUNDS_BF16_SINCE = 22
_OF_16_BITS = ("u16", "i16")
_EXACT = 4
"""Size in bytes of the smallest float type that represents every 16-bit integer."""
_SHIFTED = "replaces UINT8 with the zero point 128 by INT8 with the zero point 0"


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch for a QuantizeLinear and its DequantizeLinear, or for a dequantized stored tensor."""
    node = fact.node
    if node is None or not is_quantizer(node, "QuantizeLinear", "DequantizeLinear"):
        raise NotApplicable("there is no quantizer at this place")
    if model.opset is not None and model.opset < HAS_ROUND:
        raise NotApplicable(f"Round needs opset {HAS_ROUND} or newer")
    quantize = node if node.op == "QuantizeLinear" else _producer(node)
    if quantize is None:
        return _of_stored(node, model)
    readers = quantize.output.uses if quantize.op == "QuantizeLinear" else []
    paired = all(is_quantizer(reader, "DequantizeLinear") for reader, _ in readers)
    return _of_pair(quantize, model) if readers and paired else write_out_quantized.propose(fact, model)


def _producer(node: Node) -> Node | None:
    data = node.input(0)
    return None if data is None else data.producer


def _of_stored(node: Node, model: Model) -> Patch:
    read = quantizer(node, model)
    if read.data.dtype not in RANGES or node.output.is_output:
        raise NotApplicable(
            "the quantized tensor holds no 8-bit or 16-bit integers, or the result is an output of the model"
        )
    payload = model.constants.payload(read.data)
    if payload is None:
        raise NotApplicable("the quantized values are not stored in the model")
    draft = Draft(model, node)
    if read.data.dtype == "u8" and bool(np.all(read.zero == _MIDDLE)):
        shifted = draft.constant((payload.astype(np.int16) - _MIDDLE).astype(np.int8), "shifted")
        _as_int8(draft, read, shifted, node.output.name)
        return draft.patch(_SHIFTED, [node], folds=True)
    result = folded(read, model)
    if result is None:
        raise NotApplicable("the tensor is too large to be stored as floats")
    draft.constant(result, out=node.output.name)
    return draft.patch("stores the dequantized tensor as floats", [node], folds=True)


def _of_pair(quantize: Node, model: Model) -> Patch:
    read = quantizer(quantize, model)
    zero = quantize.input(2)
    # ONNX's shape inference does not support ONNX Runtime's quantizers.
    dtype = quantize.output.dtype or ("u8" if zero is None else zero.dtype)
    if dtype not in RANGES or quantize.output.is_output or quantize.output.leaves_body:
        raise NotApplicable(
            "the quantized tensor holds no 8-bit or 16-bit integers, or is an output of the model or a body"
        )
    readers = [reader for reader, _ in quantize.output.uses]
    if any(reader.scope != quantize.scope for reader in readers):
        raise NotApplicable("the quantized tensor is read in the body of an If or a loop")
    pairs = [quantizer(reader, model) for reader in readers]
    draft = Draft(model, quantize)
    nodes = [quantize, *(pair.node for pair in pairs)]
    if dtype == "u8" and all(bool(np.all(each.zero == _MIDDLE)) for each in (read, *pairs)):
        quantized = _as_int8(draft, read, read.data.name)
        for pair in pairs:
            _as_int8(draft, pair, quantized, pair.node.output.name)
        return draft.patch(_SHIFTED, nodes, folds=True)
    if read.data.dtype == "bf16" and opset_of(model) < _ROUNDS_BF16_SINCE:
        raise NotApplicable(f"Round supports BF16 only from opset {_ROUNDS_BF16_SINCE} on")
    if any(read.scale.dtype != pair.scale.dtype for pair in pairs):
        raise NotApplicable("the scales of the quantizer and of the dequantizer have different types")
    if dtype in _OF_16_BITS and read.scale.dtype.itemsize < _EXACT:
        raise NotApplicable("the 16-bit type of the scale cannot represent all 16-bit integers")
    steps = _quantized_as_floats(draft, read, RANGES[dtype])
    for pair in pairs:
        _dequantize_floats(draft, steps, read, pair)
    return draft.patch("decomposes quantization and dequantization into float operators", nodes, folds=True)


def _as_int8(draft: Draft, read: StoredQuantizer, data: str, out: str = "") -> str:
    """Insert an INT8 copy of a quantizer, with the zero point 0."""
    scale = draft.constant(read.scale, "scale")
    zero = draft.constant(np.zeros(read.scale.shape, np.int8), "zero")
    if read.axis is None:
        return draft.op(read.node.op, data, scale, zero, out=out)
    return draft.op(read.node.op, data, scale, zero, axis=read.axis, out=out)


def _quantized_as_floats(draft: Draft, read: StoredQuantizer, limits: tuple[int, int]) -> str:
    """Quantize in floating point: divide by the scale, round and clip.

    Return the name of a float tensor with the quantized integers minus the zero point.
    """
    dtype = read.scale.dtype
    divided = draft.op("Div", read.data, draft.constant(read.shaped(read.scale), "scale"))
    low, high = (read.shaped(limit - read.zero).astype(dtype) for limit in limits)
    rounded = draft.op("Round", divided)
    if read.axis is None:
        return draft.op("Clip", rounded, draft.constant(low, "low"), draft.constant(high, "high"))
    above = draft.op("Max", rounded, draft.constant(low, "low"))
    return draft.op("Min", above, draft.constant(high, "high"))


def _dequantize_floats(draft: Draft, steps: str, read: StoredQuantizer, pair: StoredQuantizer) -> None:
    """Dequantize in floating point, with the scale and zero point of ``pair``.

    Args:
        draft: the draft of the patch.
        steps: name of the float tensor that :func:`_quantized_as_floats` returns.
        read: the quantizer.
        pair: the dequantizer.
    """
    dtype = pair.scale.dtype
    shift: Array = read.shaped(read.zero) - pair.shaped(pair.zero)
    if shift.any():
        steps = draft.op("Add", steps, draft.constant(shift.astype(dtype), "shift"))
    draft.op("Mul", steps, draft.constant(pair.shaped(pair.scale), "scale"), out=pair.node.output.name)
