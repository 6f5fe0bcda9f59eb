"""Read the elements of stored tensors from the file on demand."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

import numpy as np
import onnx

from trtlint.files import lfs
from trtlint.files.beside import real_file
from trtlint.files.regular import open_regular
from trtlint.files.view import View
from trtlint.model.errors import ModelError
from trtlint.model.external import misplaced, place_of
from trtlint.model.payload import (
    MALFORMED,
    Array,
    direct_type,
    inline_array,
    payload_fields,
    read_message,
    stored_size,
)
from trtlint.model.protos import text

LEFT = "\0"
"""External data location of a tensor that was left in the model file.  No file name can contain a NUL."""

LEFT_OUT = "trtlint-left-out"
"""External data location of a tensor that :mod:`trtlint.model.outline` removed."""

DATA_LOCATION_FIELD = onnx.TensorProto.DATA_LOCATION_FIELD_NUMBER

_MOST_NOTES = 50
"""Limit of notes about one file."""
_Stamp = tuple[int, int]
"""Size and modification time of a file.  A new size or time shows that the file has changed."""


class TensorStore:
    """Reads the tensors of one model, from the loaded model, the model file, or external data.

    Tensors are not cached between calls.

    Args:
        path: model file.
        status: ``os.stat`` of the file when it was read; None for a model that is not in a local file.

    Attributes:
        notes: problems while reading the model, without duplicates.
        missing: missing files of external data, each with the first tensor that needs the file.
        misplaced: tensors whose external data TensorRT's parser cannot read.  The value is the reason, such
            as ``is at an absolute path``.
    """

    def __init__(self, path: Path, status: os.stat_result | None = None) -> None:
        self.path = path
        self.notes: list[str] = []
        self._stamp = None if status is None else _stamp(status)
        self._changed = False
        self._files: dict[str, tuple[Path, int] | None] = {}
        self._absent: set[str] = set()
        self.missing: dict[str, str] = {}
        self.misplaced: dict[str, str] = {}

    @property
    def locations(self) -> tuple[str, ...]:
        """The names of the external data files that were used so far, relative to the folder of the model."""
        return tuple(self._files)

    @property
    def size(self) -> int:
        """Size of the model file in bytes; 0 for a model that is not in a file."""
        return 0 if self._stamp is None else self._stamp[0]

    def is_of(self, status: os.stat_result) -> bool:
        """Return whether ``status`` equals the status that the model file had when trtlint read it."""
        return _stamp(status) == self._stamp

    @contextmanager
    def open(self) -> Iterator[BufferedReader]:
        """Open the model file for reading.

        Raises:
            ModelError: the file changed after it was read, or during the ``with`` block.
            OSError: the file cannot be opened.
        """
        with open_regular(self.path) as file:
            self._require(file)
            yield file
            self._require(file)

    def _require(self, file: BinaryIO) -> None:
        if not self.is_of(os.fstat(file.fileno())):
            raise ModelError("the file changed after it was read")

    def note(self, text: str) -> None:
        """Add a note.  A note with the same text is added only once."""
        if len(self.notes) < _MOST_NOTES and text not in self.notes:
            self.notes.append(text)
            if len(self.notes) == _MOST_NOTES:
                self.notes.append("trtlint omitted further notes about tensors")

    def array(self, tensor: onnx.TensorProto) -> Array | None:
        """Return all values of a tensor, with its shape and element type.

        Types that numpy lacks (bfloat16, float8, int4, ...) are types of ``ml_dtypes``.  The result is None
        if the data are missing, are outside the folder of the model, or have the wrong size for the shape.
        """
        shape = tuple(tensor.dims)
        try:
            array = None if any(dim < 0 for dim in shape) else self._read(tensor)
        except (OSError, *MALFORMED):
            array = None
        if array is not None and array.size == math.prod(shape):
            return array.reshape(shape)
        if not self._changed and (tensor.data_location != onnx.TensorProto.EXTERNAL or is_left(tensor)):
            kind = f"shape {list(shape)} and element type {tensor.data_type}"
            self.note(
                f"the values of tensor {text(tensor.name)!r} are unknown: the stored data do not "
                f"match the {kind} of the tensor"
            )
        return None

    def _read(self, tensor: onnx.TensorProto) -> Array | None:
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            return inline_array(tensor)
        place = place_of(tensor)
        if place is None:
            return None
        return self._left(tensor, *place[1:]) if place[0] == LEFT else self._external(tensor, *place)

    def place(self, tensor: onnx.TensorProto) -> tuple[Path, int, int] | None:
        """Return the file, offset and length of a tensor's elements, if they are raw little-endian bytes.

        The path is resolved.  The result is None if the elements are already loaded, in another encoding, or
        not available.
        """
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            return None
        stored = place_of(tensor)
        if stored is None:
            return None
        location, offset, length = stored
        try:
            if location == LEFT:
                return self._raw_place(tensor, offset, length or 0)
            path = self._resolve(tensor, location, offset, length)
        except (ValueError, OSError, ModelError):
            return None
        return None if path is None else (path, offset, stored_size(tensor))

    def _raw_place(self, tensor: onnx.TensorProto, offset: int, length: int) -> tuple[Path, int, int] | None:
        with open_regular(self.path) as file:
            status = os.fstat(file.fileno())
            if not self.is_of(status):
                return None
            payload = payload_fields(View(file, status.st_size), offset, offset + length)
        if len(payload) != 1:
            return None
        number, begin, end = payload[0]
        whole = end - begin == stored_size(tensor) and direct_type(tensor, number) is not None
        return (Path(os.path.realpath(self.path)), begin, end - begin) if whole else None

    def check(self, tensor: onnx.TensorProto, name: str) -> None:
        """Add a note if the external data of a tensor cannot be read.

        ``name`` is the name of the value that the tensor defines.
        """
        if tensor.data_location == onnx.TensorProto.EXTERNAL and not is_left(tensor):
            place = place_of(tensor)
            if fault := misplaced(tensor):
                self.misplaced[name] = fault
            if place is None:
                self.note(f"tensor {name!r} has an invalid location of its external data")
            else:
                self._resolve(tensor, *place)
                if place[0] in self._absent:
                    self.missing.setdefault(place[0], name)

    def _left(self, tensor: onnx.TensorProto, offset: int, length: int | None) -> Array | None:
        """Read the elements of a tensor from its TensorProto in the model file.

        ``offset`` and ``length`` are the byte range of the TensorProto.
        """
        data, stamp = _part(self.path, offset, length or 0)
        if stamp != self._stamp:
            self._changed = True
            self.note("the file changed while it was linted: values of its large tensors are unknown")
            return None
        return read_message(tensor, data)

    def _external(
        self, tensor: onnx.TensorProto, location: str, offset: int, length: int | None
    ) -> Array | None:
        path = self._resolve(tensor, location, offset, length)
        if path is None:
            return None
        data, _ = _part(path, offset, stored_size(tensor))
        if len(data) != stored_size(tensor):
            self.note(f"external data {location!r} changed while the model was linted: values are unknown")
            return None
        direct = direct_type(tensor, onnx.TensorProto.RAW_DATA_FIELD_NUMBER)
        if direct is not None:
            return np.frombuffer(data, direct)
        return inline_array(
            onnx.TensorProto(dims=tensor.dims, data_type=tensor.data_type, raw_data=bytes(data))
        )

    def _resolve(
        self, tensor: onnx.TensorProto, location: str, offset: int, length: int | None
    ) -> Path | None:
        """Return the path of a tensor's external data, or None if the data cannot be read.

        Data that are missing, outside the folder of the model, or too short cannot be read.
        """
        if location == LEFT_OUT:
            self.note("the model is a skeleton (a copy without weights): values in its weights are unknown")
            return None
        if location not in self._files:
            self._files[location] = self.file_of(location)
        found = self._files[location]
        if found is None:
            return None
        path, available = found
        size = stored_size(tensor)
        if size < 0 or (length is not None and length != size) or offset + size > available:
            stored = available - offset if length is None else length
            if size >= 0:
                self.misplaced.setdefault(
                    text(tensor.name), f"exceeds the external data file: {location} has {available} bytes"
                )
            self.note(
                f"external data {location!r} do not fit: tensor {text(tensor.name)!r} {list(tensor.dims)} is"
                f" stored as {stored} bytes at offset {offset}, but the file has {available} bytes"
            )
            return None
        return path

    def file_of(self, location: str) -> tuple[Path, int] | None:
        """Return the resolved path and the size of an external data file, or None if it cannot be read."""
        try:
            path = real_file(self.path.parent, location, self.path)
            if path is None:
                self.note(f"external data {location!r} are outside the model's folder and were not read")
                return None
            status = path.stat()
        except (OSError, ValueError):  # ValueError: a NUL in the name
            self._absent.add(location)
            self.note(f"external data {location!r} are missing: values in them are unknown")
            return None
        if lfs.is_pointer(path):
            self.note(f"values in external data {location!r} are unknown: {location!r} is {lfs.POINTER}")
            return None
        if not stat.S_ISREG(status.st_mode):
            self.note(f"external data {location!r} are not a file: values in them are unknown")
            return None
        return path, status.st_size


def is_left(tensor: onnx.TensorProto) -> bool:
    """Return whether the reader left the elements of a tensor in the model file."""
    return any(entry.key == "location" and entry.value == LEFT for entry in tensor.external_data)


def _part(path: Path, offset: int, length: int) -> tuple[memoryview, _Stamp]:
    """Return two results: ``length`` bytes of a file, and the size and modification time of the file.

    If the file is too short, the function returns no bytes.  The function does not map the file into memory;
    :mod:`trtlint.files.view` explains why.

    Raises:
        OSError: the file cannot be read.
    """
    with open_regular(path) as file:
        whole = offset + length <= os.fstat(file.fileno()).st_size
        file.seek(offset if whole else 0)
        data = file.read(length if whole else 0)
        return memoryview(data), _stamp(os.fstat(file.fileno()))


def _stamp(status: os.stat_result) -> _Stamp:
    return status.st_size, status.st_mtime_ns
