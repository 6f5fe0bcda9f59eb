"""Write tensors to a file of external data.

https://github.com/onnx/onnx/blob/main/docs/ExternalData.md
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

import onnx
from onnx import TensorProto

from trtlint.files.regular import open_regular
from trtlint.model.assembly import ComputedPiece
from trtlint.model.contents import all_tensors
from trtlint.model.errors import ModelError
from trtlint.model.external import set_place, unreadable_values
from trtlint.model.payload import stored_size
from trtlint.model.protos import text
from trtlint.model.tensors import LEFT, TensorStore

_ALIGNED = 4096
"""Offsets of external data are multiples of this number, so that readers can map the data into memory:
https://github.com/onnx/onnx/blob/main/docs/ExternalData.md
"""
_CHUNK = 1 << 20
"""Number of bytes to copy at once.

trtlint reads and writes the bytes, because ``os.copy_file_range`` usually takes longer.  A weight rarely has
the same offset within a memory page in both files.  So the kernel would copy page by page.
"""


def data_file(model: Path) -> Path:
    """Return the file for the external data of a new model: ``MODEL.onnx.data``."""
    return model.with_name(f"{model.name}.data")


def files_in(tensor: TensorProto) -> list[str]:
    """Return the names of the external data files of a tensor, relative to the folder of the model."""
    places = (text(entry.value) for entry in tensor.external_data if entry.key == "location")
    return [place for place in places if place != LEFT]


def is_in_file(tensor: TensorProto) -> bool:
    """Return whether the elements of a tensor are in a file of external data."""
    return tensor.data_location == TensorProto.EXTERNAL and bool(files_in(tensor))


class CopiedTensor:
    """A stored tensor whose elements are copied unchanged from the source.

    Args:
        tensor: the tensor of the source, of any type. The object keeps a copy.
        store: reader of the elements.

    Raises:
        ModelError: the element type or the shape is invalid.
    """

    def __init__(self, tensor: TensorProto, store: TensorStore) -> None:
        self._tensor = TensorProto()
        self._tensor.CopyFrom(tensor)
        self._store = store
        self.size = stored_size(tensor)
        if self.size < 0:
            raise ModelError(unreadable_values(tensor))

    def write(self, file: BinaryIO) -> None:
        """Append the elements to a file.

        Raises:
            ModelError: the elements cannot be read.
            OSError: a file cannot be read or written.
        """
        place = self._store.place(self._tensor)
        if place is not None and place[2] == self.size:
            path, start, size = place
            with open_regular(path) as source:
                copy_stretch(source, file, start, start + size)
            return
        array = self._store.array(self._tensor)
        data = b"" if array is None else onnx.numpy_helper.from_array(array).raw_data
        if len(data) != self.size:
            raise ModelError(unreadable_values(self._tensor))
        file.write(data)


def write_data(file: BinaryIO, name: str, tensors: Iterable[tuple[TensorProto, ComputedPiece]]) -> None:
    """Write tensors to an empty file, and store in each tensor where its elements are.

    Args:
        file: the file, open for writing in binary.
        name: name of the file, relative to the folder of the model.
        tensors: the tensors to change, each with its elements.

    Raises:
        ModelError: the elements of a tensor cannot be read.
        OSError: a file cannot be read or written.
    """
    offset = 0
    for tensor, elements in tensors:
        gap = -offset % _ALIGNED
        file.write(b"\0" * gap)
        offset += gap
        elements.write(file)
        set_place(tensor, name, offset, elements.size)
        offset += elements.size


def copy_data(proto: onnx.ModelProto, source: TensorStore, file: BinaryIO, name: str) -> onnx.ModelProto:
    """Copy the external data of a model to an empty file.

    Tensors that share bytes in the source share no bytes in the copy.

    Args:
        proto: the model.
        source: the tensors of the source file.
        file: the file, open for writing in binary.
        name: name of the file, relative to the folder of the new model.

    Returns:
        A copy of the model that reads the new file.

    Raises:
        ModelError: the elements of a tensor cannot be read.
        OSError: a file cannot be read or written.
    """
    moved = onnx.ModelProto()
    moved.CopyFrom(proto)
    external = filter(is_in_file, all_tensors(moved))
    write_data(file, name, ((tensor, CopiedTensor(tensor, source)) for tensor in external))
    return moved


def copy_stretch(source: BinaryIO, target: BinaryIO, start: int, stop: int) -> None:
    """Append the bytes from ``start`` to ``stop`` of a model file to another file.

    Raises:
        ModelError: ``source`` ends before ``stop``.
        OSError: the bytes cannot be read or written.
    """
    source.seek(start)
    while start < stop:
        chunk = source.read(min(_CHUNK, stop - start))
        if not chunk:
            raise ModelError("the file was truncated while it was copied", offset=start)
        target.write(chunk)
        start += len(chunk)
