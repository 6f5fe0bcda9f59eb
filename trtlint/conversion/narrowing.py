"""Round initializers to a 16-bit type. Large initializers are read and written in parts."""

from __future__ import annotations

from typing import BinaryIO

import ml_dtypes
import numpy as np
import onnx
from msgspec import Struct
from onnx import TensorProto

from trtlint.measurement.formats import BF16, Format
from trtlint.model.errors import ModelError
from trtlint.model.external import unreadable_values
from trtlint.model.payload import Array
from trtlint.model.streaming import Streamer
from trtlint.model.tensors import TensorStore

_SIGN = np.uint32(0x7FFF_FFFF)


def narrowed(numbers: Array, format_: Format, *, clamp: bool) -> Array:
    """Round FP32 numbers to a 16-bit type, and return their bits as little-endian integers.

    Args:
        numbers: the numbers in FP32.
        format_: the 16-bit type.
        clamp: true if finite numbers beyond the range become the largest number of the type, false if they
            become infinite.
    """
    if clamp:
        finite = np.isfinite(numbers)
        bounded = np.clip(numbers, -format_.largest, format_.largest)
        numbers = np.where(finite, bounded, numbers).astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        rounded: Array = numbers.astype(ml_dtypes.bfloat16 if format_ is BF16 else np.float16)
    return rounded.view(np.uint16).astype("<u2", copy=False)


class Extent(Struct, frozen=True):
    """Statistics of the magnitudes in a stored tensor.

    Attributes:
        largest: the largest finite magnitude, 0 for a tensor of zeros.
        beyond: number of finite elements beyond the range of the 16-bit type.
        vanishing: number of nonzero elements that round to zero.
        used: number of nonzero elements.
    """

    largest: float
    beyond: int
    vanishing: int
    used: int


def extent(tensor: onnx.TensorProto, streamer: Streamer, format_: Format) -> Extent | None:
    """Return statistics of the magnitudes in a stored FP32 tensor, or None for an unreadable tensor."""
    parts = streamer.parts(tensor)
    if parts is None:
        return None
    largest = 0.0
    beyond = vanishing = used = 0
    for bits in parts:
        magnitude = (bits & _SIGN).view(np.float32)
        finite = magnitude[np.isfinite(magnitude)]
        largest = max(largest, float(finite.max(initial=0.0)))
        beyond += int(np.count_nonzero(finite >= format_.infinite_from))
        used += int(np.count_nonzero(finite))
        if format_ is not BF16:
            vanishing += int(np.count_nonzero((finite > 0) & (finite <= format_.zero_below)))
    return Extent(largest, beyond, vanishing, used)


class NarrowTensor:
    """A stored tensor that is rounded while it is written.

    Args:
        tensor: the tensor of the source, in FP32.
        store: reader of the elements.
        format_: the 16-bit type.
        clamp: as for :func:`narrowed`.
    """

    def __init__(self, tensor: TensorProto, store: TensorStore, format_: Format, *, clamp: bool) -> None:
        self._tensor = tensor
        self._store = store
        self._format = format_
        self._clamp = clamp
        self._count = int(np.prod([max(0, int(dim)) for dim in tensor.dims], dtype=np.int64))

    @property
    def size(self) -> int:
        """Return the number of bytes after rounding."""
        return 2 * self._count

    def write(self, file: BinaryIO) -> None:
        """Append the rounded elements to a file.

        Raises:
            ModelError: the elements cannot be read.
        """
        written = 0
        for bits in Streamer(self._store).parts(self._tensor) or ():
            rounded = narrowed(bits.view(np.float32), self._format, clamp=self._clamp)
            file.write(rounded.tobytes())
            written += rounded.nbytes
        if written != self.size:
            raise ModelError(unreadable_values(self._tensor))
