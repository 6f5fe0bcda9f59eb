"""Models that lie elsewhere, read without their weights and without being copied here."""

from __future__ import annotations

from pathlib import Path

import onnx

from trtlint.lean import dataclass
from trtlint.model.errors import ModelError
from trtlint.model.protos import text
from trtlint.model.reader import RawModel, compacted
from trtlint.model.tensors import Array, TensorStore, read_message
from trtlint.remote.addresses import Address
from trtlint.remote.file import RemoteError, RemoteFile, remote_file
from trtlint.remote.view import RemoteView

_SMALL = 4 << 20
"""Bytes of a model that is fetched whole: to ask for its parts takes longer."""
_LEAST_VALUES = 1 << 20
_VALUES = 100
"""Of the values of tensors so many bytes are read, or a hundredth of the file where that is more."""


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """A model at an address."""

    address: Address

    def read(self) -> RawModel:
        """Its structure.

        Raises:
            ModelError: it cannot be read, or is no ONNX model.
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
            raw = compacted(data, lambda notes: RemoteTensors(self.address, file, data, notes))
            file.require_unchanged()
        except RemoteError as error:
            raise ModelError(error.message) from error
        return raw


class RemoteTensors(TensorStore):
    """Reads tensors of a model elsewhere, as long as that is little.

    Files with external data are not asked for: what a model names is no address.

    Attributes:
        file: the file, which knows what has been read of it.
    """

    def __init__(
        self, address: Address, file: RemoteFile, data: RemoteView | bytes, notes: list[str]
    ) -> None:
        super().__init__(Path(address.name), None, notes)
        self.file = file
        self._data = data
        self._left_over = max(_LEAST_VALUES, file.size // _VALUES)

    def place(self, tensor: onnx.TensorProto) -> None:
        """Nothing: no tensor lies in a file of this machine."""

    def file_of(self, location: str) -> None:
        """Nothing."""
        self.note(f"external data {location!r} are not read from elsewhere: values in them are unknown")

    def _left(self, tensor: onnx.TensorProto, offset: int, length: int | None) -> Array | None:
        size = length or 0
        if size > self._left_over:
            self.note(f"values of {text(tensor.name)!r} and others are not read from elsewhere: too many")
            return None
        self._left_over -= size
        try:
            return read_message(tensor, self._data[offset : offset + size])
        except RemoteError as error:
            self.note(f"the values of {text(tensor.name)!r} are unknown: {error.message}")
            return None
