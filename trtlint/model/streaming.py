"""Read the elements of stored tensors in parts, so that large tensors need little memory.

A tensor is read in parts only if its elements have the same encoding in the file as in memory.  A tensor in a
different encoding, or a small tensor that is already loaded, is returned as one part.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx

from trtlint.files.limits import extend_for_weights
from trtlint.files.regular import open_regular
from trtlint.model.payload import stored_size
from trtlint.model.tensors import TensorStore

PART = 1 << 20
"""Bytes of one part.  A part fits into the processor cache."""
_LARGEST_WHOLE = 256 << 20
"""Size limit, in bytes, of tensors that are read as a whole.

A tensor is read as a whole if its elements have another encoding in the file, or are not in a local file.
"""
_BITS: Mapping[int, np.dtype[Any]] = {
    onnx.TensorProto.FLOAT: np.dtype("<u4"),
    onnx.TensorProto.DOUBLE: np.dtype("<u8"),
    onnx.TensorProto.FLOAT16: np.dtype("<u2"),
    onnx.TensorProto.BFLOAT16: np.dtype("<u2"),
}

Bits = np.ndarray[Any, np.dtype[Any]]


class Streamer:
    """Reads the tensors of one model in parts.

    Args:
        tensors: reads whole tensors of the model.
    """

    def __init__(self, tensors: TensorStore) -> None:
        self._tensors = tensors
        self._buffer = bytearray(PART)
        self._counted: set[Any] = set()

    def parts(self, tensor: onnx.TensorProto) -> Iterator[Bits] | None:
        """Return an iterator over the parts of a float tensor, or None if its elements are not available.

        Each part is an array of unsigned integers with the bits of the elements.  The buffer is reused, so
        each part overwrites the previous part.  The result is also None if the tensor has no float type.
        """
        bits = _BITS.get(tensor.data_type)
        if bits is None:
            return None
        place = self._tensors.place(tensor)
        if place is not None:
            return self._read(*place, bits)
        whole = self._tensors.array(tensor) if stored_size(tensor) <= _LARGEST_WHOLE else None
        return None if whole is None else iter((np.ascontiguousarray(whole).reshape(-1).view(bits),))

    def _read(self, path: Any, offset: int, length: int, bits: np.dtype[Any]) -> Iterator[Bits]:
        if path not in self._counted:
            self._counted.add(path)
            if str(path) != os.path.realpath(self._tensors.path):
                extend_for_weights(path)
        view = memoryview(self._buffer)[: PART - PART % bits.itemsize]
        with open_regular(path) as file:
            file.seek(offset)
            for start in range(0, length, len(view)):
                read = file.readinto(view[: length - start])
                whole = read - read % bits.itemsize
                if not whole:
                    return  # the file became shorter
                yield np.frombuffer(view[:whole], bits)
