"""Read remote models without their weights and without a local copy."""

from __future__ import annotations

from pathlib import Path

import onnx
from msgspec import Struct

from trtlint.model.errors import ModelError
from trtlint.model.payload import Array, read_message
from trtlint.model.protos import text
from trtlint.model.reader import RawModel, read_structure
from trtlint.model.tensors import TensorStore
from trtlint.remote.addresses import Address
from trtlint.remote.file import RemoteError, RemoteFile, remote_file
from trtlint.remote.view import RemoteView

_SMALL = 4 << 20
"""Size in bytes of the largest model that is fetched whole.  Reading a small model in parts takes longer."""
_LEAST_VALUES = 1 << 20
_VALUES = 100
"""Divisor for the limit of bytes that trtlint reads for tensor values.

The limit is the file size divided by this number, but at least 1 MiB.
"""


class RemoteModel(Struct, frozen=True):
    """A model at a remote address."""

    address: Address

    def read(self) -> RawModel:
        """Read the model without the elements of large tensors.

        Raises:
            ModelError: the model cannot be read or is not ONNX.
        """
        try:
            file = remote_file(self.address)
            if file.size == 0:
                raise ModelError("the file is empty")
            data: RemoteView | bytes
            if not file.partial:
                data = file.whole()
            elif file.size <= _SMALL:
                (data,) = file.parts([(0, file.size)])
            else:
                data = RemoteView(file)
            raw = read_structure(data, RemoteTensors(file, data))
            file.require_unchanged()
        except RemoteError as error:
            raise ModelError(error.message) from error
        return raw


class RemoteTensors(TensorStore):
    """Reads small amounts of tensor data from a remote model.

    External data files are never requested, because a model must not decide which addresses are opened.
    """

    def __init__(self, file: RemoteFile, data: RemoteView | bytes) -> None:
        super().__init__(Path(file.address.name))
        self._data = data
        self._left_over = max(_LEAST_VALUES, file.size // _VALUES)

    def place(self, tensor: onnx.TensorProto) -> None:
        """Return None, because the tensors are not in a local file."""

    def file_of(self, location: str) -> None:
        """Return None, and add a note that trtlint does not read external data of remote models."""
        self.note(f"external data {location!r} of a remote model are not read: their values are unknown")

    def _left(self, tensor: onnx.TensorProto, offset: int, length: int | None) -> Array | None:
        size = length or 0
        if size > self._left_over:
            self.note(
                f"values of large tensors such as {text(tensor.name)!r} are not read from remote models"
            )
            return None
        self._left_over -= size
        try:
            return read_message(tensor, self._data[offset : offset + size])
        except RemoteError as error:
            self.note(f"the values of {text(tensor.name)!r} are unknown: {error.message}")
            return None
