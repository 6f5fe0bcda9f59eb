"""Remove a DequantizeLinear and the QuantizeLinear after it, if both have the same parameters.

Dequantizing multiplies by the scale, and quantizing divides by it. The integers stay the same if the rounding
errors of both operations stay below half a step. The rewrite checks every number of the quantized type with
every scale. In BF16, some scales fail this check. Definitions:
https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html,
https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html
"""

from __future__ import annotations

import numpy as np

from trtlint.facts.base import Fact
from trtlint.fixes.patch import MOST_ELEMENTS, Draft, NotApplicable, Patch, numpy_type
from trtlint.fixes.rewrites._quantizers import RANGES, StoredQuantizer, quantizer
from trtlint.model.graph import Node
from trtlint.model.load import Model
from trtlint.model.payload import Array
from trtlint.model.protos import FLOAT_DTYPES

_EIGHT_BITS = frozenset({"f8e4m3fn", "f8e5m2"})
"""8-bit float types, for which trtlint enumerates all numbers."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that connects the readers of the second quantized tensor to the first one."""
    second = fact.node
    first = None if second is None or not second.inputs[0] else second.inputs[0].producer
    if second is None or first is None or not _is(second, "QuantizeLinear"):
        raise NotApplicable("there is no pair of consecutive quantizers at this place")
    if not _is(first, "DequantizeLinear") or first.scope != second.scope:
        raise NotApplicable("the quantized tensor does not come from a DequantizeLinear")
    before, after = quantizer(first, model), quantizer(second, model)
    unequal = _unequal(before, after)
    if unequal:
        raise NotApplicable(unequal)
    result = second.output
    if result.is_output or result.leaves_body or not result.uses:
        raise NotApplicable("the quantized tensor is an output")
    if any(reader.scope != second.scope for reader, _ in result.uses):
        raise NotApplicable("the quantized tensor is read in the body of an If or a loop")
    origin = before.data.producer
    around = [first] if origin is None or origin.scope != first.scope else [origin, first]
    rewire = [(reader, port, before.data.name) for reader, port in result.uses]
    title = "removes a quantizer after a dequantizer with the same scale"
    return Draft(model, second).patch(title, [second], rewire=rewire, around=around, folds=True)


def _is(node: Node, op: str) -> bool:
    return node.op == op and not node.domain


def _unequal(before: StoredQuantizer, after: StoredQuantizer) -> str:
    """Return the reason why dequantizing and quantizing changes a number.

    The result is an empty string if no number changes.

    Args:
        before: the DequantizeLinear.
        after: the QuantizeLinear.
    """
    dtype, kind = before.data.dtype, after.data.dtype
    if dtype is None or dtype != after.node.output.dtype:
        return "the two quantized tensors have different types"
    if not before.same(after):
        return "the scales, zero points or axes differ, so the tensor is rounded twice"
    numbers = _numbers(dtype)
    if numbers is None or kind not in FLOAT_DTYPES:
        return f"the numbers of {dtype} cannot be enumerated"
    if numbers.size * before.scale.size > MOST_ELEMENTS:
        return "there are too many scales to check"
    if not _survive(numbers, before, numpy_type(kind)):
        return f"dequantizing to {kind} and quantizing again with the same scale changes some numbers"
    return ""


def _numbers(dtype: str) -> Array | None:
    """Return all finite numbers of a quantized type, sorted, or None for an unsupported type."""
    if dtype in RANGES:
        low, high = RANGES[dtype]
        return np.arange(low, high + 1).astype(np.float64)
    if dtype in _EIGHT_BITS:
        every = np.arange(256, dtype=np.uint8).view(numpy_type(dtype)).astype(np.float64)
        return np.unique(every[np.isfinite(every)])
    return None


def _survive(numbers: Array, read: StoredQuantizer, kind: np.dtype[np.generic]) -> bool:
    """Return whether dequantizing and quantizing leaves all numbers unchanged.

    Args:
        numbers: the quantized numbers.
        read: the quantizer with the scale and zero point.
        kind: float type to which the products and quotients are rounded.
    """
    scale = np.atleast_1d(read.scale).astype(np.float64)[:, None]
    steps = numbers - np.atleast_1d(read.zero).astype(np.float64)[:, None]
    gaps = np.diff(numbers)
    room = np.minimum(np.append(gaps, np.inf), np.insert(gaps, 0, np.inf)) / 2
    with np.errstate(all="ignore"):
        tensor = (steps * scale).astype(kind).astype(np.float64)
        again = (tensor / scale).astype(kind).astype(np.float64)
    return bool(np.all(np.abs(again - steps) < room))  # False for NaN
