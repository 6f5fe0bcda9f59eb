"""What a QuantizeLinear or DequantizeLinear does, read from its constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from trtlint.fixes.patch import MOST_ELEMENTS, NotApplicable
from trtlint.lean import dataclass
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.operators import ONNX_RUNTIME

Array = np.ndarray[Any, np.dtype[Any]]

RANGES = {"u8": (0, 255), "i8": (-128, 127), "u16": (0, 65535), "i16": (-32768, 32767)}
"""The integers of quantized types."""


def is_quantizer(node: Node, *ops: str) -> bool:
    """Whether an operator is one of these, of ONNX or of ONNX Runtime, which has had 16 bits for longer."""
    return node.op in ops and node.domain in ("", ONNX_RUNTIME)


@dataclass(frozen=True, slots=True)
class Quantizer:
    """A quantizer with stored parameters.

    Attributes:
        node: the operator.
        data: what it reads.
        scale: the scale, scalar or one number a channel.
        zero: the zero point, shaped like the scale, INT64.
        axis: the axis of the channels, counted from the front; None for one scale.
        rank: rank of the data, None where unknown.
    """

    node: Node
    data: Value
    scale: Array
    zero: Array
    axis: int | None
    rank: int | None

    def shaped(self, parameter: Array) -> Array:
        """A parameter in a shape that broadcasts against the data."""
        if self.axis is None or self.rank is None:
            return parameter.reshape(())
        return parameter.reshape([-1 if axis == self.axis else 1 for axis in range(self.rank)])

    def same(self, other: Quantizer) -> bool:
        """Whether another one has the same parameters."""
        return (
            self.axis == other.axis
            and np.array_equal(self.scale, other.scale)
            and np.array_equal(self.zero, other.zero)
        )


def quantizer(node: Node, model: Model) -> Quantizer:
    """Read the parameters of a QuantizeLinear or DequantizeLinear."""
    data = node.input(0)
    scale = model.constants.payload(node.input(1))
    given = node.input(2)
    if data is None or scale is None:
        raise NotApplicable("its scale is not stored in the model")
    zero = np.zeros(scale.shape, np.int64) if given is None else model.constants.payload(given)
    if zero is None:
        raise NotApplicable("its zero point is not stored in the model")
    if node.number("block_size", 0):
        raise NotApplicable("it quantizes in blocks")
    axis: int | None = None
    if scale.size > 1:
        if data.rank is None or scale.ndim != 1:
            raise NotApplicable("the rank of what it reads is not known")
        axis = int(node.number("axis", 1))
        axis += data.rank if axis < 0 else 0
        if not 0 <= axis < data.rank:
            raise NotApplicable("its axis is none of the tensor's")
    zero = np.asarray(zero).astype(np.int64)
    if zero.size not in (1, scale.size):
        raise NotApplicable("scale and zero point are of different sizes")
    zero = np.broadcast_to(zero.reshape(-1), (scale.size,)) if axis is not None else zero.reshape(())
    scale = np.asarray(scale).reshape(-1) if axis is not None else np.asarray(scale).reshape(())
    return Quantizer(node, data, scale, zero, axis, data.rank)


def folded(read: Quantizer, model: Model) -> Array | None:
    """What a dequantizer gives for a stored tensor; None where that is not known, or too large."""
    tensor = model.constants.stored(read.data)
    if tensor is None or int(np.prod(tensor.dims, dtype=np.float64)) > MOST_ELEMENTS:
        return None
    payload = model.constants.payload(read.data)
    if payload is None:
        return None
    wide = np.asarray(payload).astype(np.float64) - read.shaped(read.zero).astype(np.float64)
    # One rounding, to the type of the scale, as the operator's definition has it.
    result: Array = (wide * read.shaped(read.scale).astype(np.float64)).astype(read.scale.dtype)
    return result
