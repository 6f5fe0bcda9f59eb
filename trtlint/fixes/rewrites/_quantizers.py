"""Read the scale and zero point of QuantizeLinear and DequantizeLinear from constants."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from trtlint.fixes.patch import MOST_ELEMENTS, NotApplicable
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.operators import ONNX_RUNTIME
from trtlint.model.payload import Array

RANGES = {"u8": (0, 255), "i8": (-128, 127), "u16": (0, 65535), "i16": (-32768, 32767)}
"""Integer ranges of quantized types."""


def is_quantizer(node: Node, *ops: str) -> bool:
    """Return True if a node has a type in ``ops`` and belongs to ONNX or ONNX Runtime.

    Before opset 21, models with 16-bit integers use the quantizers of ONNX Runtime's domain.
    """
    return node.op in ops and node.domain in ("", ONNX_RUNTIME)


class StoredQuantizer(Struct, frozen=True):
    """A QuantizeLinear or DequantizeLinear whose scale and zero point are stored in the model.

    Attributes:
        node: the operator.
        data: the data input of the operator.
        scale: a scalar, or a vector with one number for each channel.
        zero: the zero point as INT64, with the same shape as the scale.
        axis: the non-negative axis of the channels; None for a scalar scale.
        rank: rank of the data; None if unknown.
    """

    node: Node
    data: Value
    scale: Array
    zero: Array
    axis: int | None
    rank: int | None

    def shaped(self, parameter: Array) -> Array:
        """Reshape a scale or zero point to broadcast against the data."""
        if self.axis is None or self.rank is None:
            return parameter.reshape(())
        return parameter.reshape([parameter.size if axis == self.axis else 1 for axis in range(self.rank)])

    def same(self, other: StoredQuantizer) -> bool:
        """Return whether another quantizer has the same scale, zero point and axis."""
        return (
            self.axis == other.axis
            and np.array_equal(self.scale, other.scale)
            and np.array_equal(self.zero, other.zero)
        )


def quantizer(node: Node, model: Model) -> StoredQuantizer:
    """Read the scale and zero point of a QuantizeLinear or DequantizeLinear.

    Raises:
        NotApplicable: the scale or zero point is not stored in the model, or is not supported.
    """
    data = node.input(0)
    scale = model.constants.payload(node.input(1))
    given = node.input(2)
    if data is None or scale is None:
        raise NotApplicable("the scale is not stored in the model")
    zero = np.zeros(scale.shape, np.int64) if given is None else model.constants.payload(given)
    if zero is None:
        raise NotApplicable("the zero point is not stored in the model")
    if node.number("block_size", 0):
        raise NotApplicable(f"{node.op} quantizes in blocks")
    axis: int | None = None
    if scale.size > 1:
        if data.rank is None or scale.ndim != 1:
            raise NotApplicable(f"the rank of the input of {node.op} is not known")
        axis = node.integer("axis", 1)
        axis += data.rank if axis < 0 else 0
        if not 0 <= axis < data.rank:
            raise NotApplicable(f"the axis of {node.op} is out of range")
    zero = np.asarray(zero).astype(np.int64)
    if zero.size not in (1, scale.size):
        raise NotApplicable("scale and zero point have different sizes")
    zero = np.broadcast_to(zero.ravel(), (scale.size,)) if axis is not None else zero.reshape(())
    scale = np.asarray(scale).ravel() if axis is not None else np.asarray(scale).reshape(())
    return StoredQuantizer(node, data, scale, zero, axis, data.rank)


def folded(read: StoredQuantizer, model: Model) -> Array | None:
    """Dequantize a stored tensor, or return None if the result is too large."""
    tensor = model.constants.stored(read.data)
    if tensor is None or int(np.prod(tensor.dims, dtype=np.float64)) > MOST_ELEMENTS:
        return None
    payload = model.constants.payload(read.data)
    if payload is None:
        return None
    wide = np.asarray(payload).astype(np.float64) - read.shaped(read.zero).astype(np.float64)
    # Round once, to the type of the scale, as the operator's definition requires.
    result: Array = (wide * read.shaped(read.scale).astype(np.float64)).astype(read.scale.dtype)
    return result
