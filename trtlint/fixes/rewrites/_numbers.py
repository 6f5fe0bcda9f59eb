"""Replace 8-bit quantized tensors by FP32 tensors with the same integers.

FP32 represents integers up to 2^24 exactly. The module :mod:`trtlint.fixes.rewrites._products` splits larger
sums of products into parts.
"""

from __future__ import annotations

import numpy as np

from trtlint.fixes.patch import Draft, NotApplicable, onnx_type
from trtlint.fixes.rewrites._forms import Forms
from trtlint.fixes.rewrites._quantizers import RANGES
from trtlint.model.graph import Node, Value
from trtlint.model.operators import ONNX_RUNTIME
from trtlint.model.payload import Array

_MOST_STORED = 4096
"""Maximum number of elements of a stored tensor that the rewrite stores a second time, as floats."""
_DEEPEST = 64
"""Maximum number of consecutive operators that only move quantized elements."""
F32 = onnx_type("f32")
HAS_ROUND = 11
"""The first opset with Round: https://onnx.ai/onnx/operators/onnx__Round.html"""
_EIGHT_BITS = frozenset({"u8", "i8"})


MOVING = frozenset(
    {"Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze", "Slice", "Gather", "MaxPool", "Concat"}
    | {"Identity", "Expand", "Tile", "Split"}
)
"""Operators in which each output element is an input element."""


def quantized_type(value: Value | None) -> str | None:
    """Return the 8-bit type of a quantized tensor, such as ``u8``, or None for a tensor of another type.

    Shape inference stops at ONNX Runtime's operators.  The result of such an operator has the quantized type
    of its inputs.
    """
    for _ in range(_DEEPEST):
        if value is None or value.dtype is not None or value.producer is None:
            break
        node = value.producer
        if node.domain == ONNX_RUNTIME and node.op.startswith("Q"):
            types = (each.dtype for each in node.inputs if each is not None)
            return next((dtype for dtype in types if dtype in _EIGHT_BITS), None)
        if node.domain or node.op not in MOVING:
            break
        value = node.input(0)
    return value.dtype if value is not None and value.dtype in _EIGHT_BITS else None


class Numbers:
    """Inserts operators that compute with quantized integers in FP32.

    Args:
        draft: the draft of the patch.
    """

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.forms = Forms(draft)
        self.known: dict[Value, str] = {}

    def of(self, value: Value | None) -> str:
        """Return the name of an FP32 tensor with the integers of a quantized tensor.

        Create the FP32 tensor if it does not exist yet.
        """
        if value is None:
            raise NotApplicable("a required operand is missing")
        if value in self.known:
            return self.known[value]
        if quantized_type(value) is None:
            raise NotApplicable(f"{value.name} is not an 8-bit tensor")
        self.known[value] = self._stored(value)
        return self.known[value]

    def _stored(self, value: Value) -> str:
        tensor = self.draft.model.constants.stored(value)
        if tensor is None:
            if value.is_input and value.dtype == "u8":
                return self.draft.op("Cast", value, to=F32)
            raise NotApplicable(f"{value.name} is neither stored nor computed by a supported operator")
        payload = self.stored(value) if np.prod(tensor.dims, dtype=np.float64) <= _MOST_STORED else None
        if payload is not None:
            return self.draft.constant(payload.astype(np.float32), "numbers")
        if value.dtype == "u8":
            return self.draft.op("Cast", value, to=F32)
        # The parser allows only DequantizeLinear to read a stored INT8 tensor.
        return self.draft.op("DequantizeLinear", value, self.draft.constant(np.array(1, np.float32), "one"))

    def stored(self, value: Value | None) -> Array | None:
        """Return the elements of a stored tensor, or None if ``value`` is not stored."""
        payload = self.draft.model.constants.payload(value)
        return None if payload is None else np.asarray(payload)

    def shifted(self, node: Node, port: int, zero: int, behind: int | None = None) -> str:
        """Insert ``integers - zero point`` for an input of ``node``, and return the name of the result.

        Args:
            node: the operator.
            port: index of the input with the integers.
            zero: index of the input with the zero point.
            behind: number of axes after the channel axis, if each channel has its own zero point; None for
                one zero point.
        """
        value, point = node.input(port), node.input(zero)
        numbers = self.of(value)
        if value is None or point is None:
            return numbers
        if point in self.known:
            return self.draft.op("Sub", numbers, self.known[point])
        known = self.stored(point)
        if known is None:
            raise NotApplicable("the zero point is not stored in the model")
        if not known.any():
            return numbers
        shaped = along(known.astype(np.float32), behind)
        return self.draft.op("Sub", numbers, self.draft.constant(shaped, "zero"))

    def scale(self, node: Node, port: int) -> Array:
        """Return the stored scale at input ``port`` of a node.

        The scale must be FLOAT, finite and not zero.
        """
        scale = self.stored(node.input(port))
        if scale is None or scale.dtype != np.float32:
            raise NotApplicable("the scale is not a FLOAT tensor stored in the model")
        if not np.all(np.isfinite(scale) & (scale != 0)):
            raise NotApplicable("the scale is 0 or not finite")
        return scale

    def quantized(self, node: Node, value: str, scale: Array | None, zero: int) -> str:
        """Quantize a float tensor.

        The new operators divide by a scale, round, and clip to the range of the result type of ``node``.

        Args:
            node: the operator whose result the quantized tensor replaces.
            value: name of the float tensor.
            scale: a scale with one element; None if the numbers are already divided by the scale.
            zero: index of the zero point among the inputs of ``node``.
        """
        result, point = node.output, node.input(zero)
        limits = RANGES.get(quantized_type(result) or "")
        if limits is None:
            raise NotApplicable(f"{node.op} does not quantize to 8 bits")
        known = np.zeros((), np.int64) if point is None else self.stored(point)
        if known is None or known.size != 1 or (scale is not None and scale.size != 1):
            raise NotApplicable("the scale or zero point of the result is not a stored scalar")
        draft = self.draft
        if scale is not None:
            value = draft.op("Div", value, draft.constant(scale.reshape(()), "scale"))
        shift = float(known.reshape(()))
        steps = draft.op("Round", value)
        within = self.forms.clip(steps, limits[0] - shift, limits[1] - shift, "f32")
        return draft.op("Add", within, draft.like(shift, "f32", "zero")) if shift else within


def along(parameter: Array, behind: int | None) -> Array:
    """Reshape a scalar or vector so that it broadcasts to a tensor.

    A vector broadcasts along one axis of the tensor. ``behind`` is the number of axes after this axis.
    """
    if parameter.size == 1:
        return parameter.reshape(())
    if behind is None or parameter.ndim != 1:
        raise NotApplicable("the scale or zero point is neither a scalar nor a vector")
    return parameter.reshape([parameter.size] + [1] * behind)
