"""Read remote models without their weights and without a local copy."""

from __future__ import annotations

from pathlib import Path

import onnx
from msgspec import Struct

from trtlint.files.view import View
from trtlint.model.errors import ModelError
from trtlint.model.payload import Array, read_message
from trtlint.model.protos import text
from trtlint.model.reader import RawModel, read_structure
from trtlint.model.tensors import TensorStore
from trtlint.remote.addresses import Address
from trtlint.remote.file import RemoteError, RemoteFile, remote_file

_SMALL = 4 << 20
"""Size in bytes of the largest model that is fetched whole.  Reading a small model in parts takes longer."""
_LEAST_VALUES = 1 << 20
_VALUES = 100
"""Divisor for the limit of bytes that trtlint reads for tensor values.

The limit is the file size divided by this number, but at least 1 MiB.
"""
_BLOCK = 1 << 13
"""Size of a block in bytes."""
_AHEAD = 3
"""Smallest number of blocks in one request."""


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


class RemoteView(View):
    """A remote file as a sequence of bytes.

    Args:
        file: the remote file.
    """

    __slots__ = ("_blocks", "_remote")

    def __init__(self, file: RemoteFile) -> None:
        super().__init__(None, file.size)  # type: ignore[arg-type] # this class reads only the remote file
        self._remote = file
        self._blocks: dict[int, bytes] = {}

    def _hold(self, start: int) -> None:
        block = start // _BLOCK
        if block not in self._blocks:
            self._fetch(block, block + _AHEAD)
        self._chunk = self._blocks[block][start - block * _BLOCK :]
        self._at = start

    def _read(self, start: int, count: int) -> bytes:
        first, stop = start // _BLOCK, max(start, start + count - 1) // _BLOCK + 1
        self._fetch(first, stop)
        data = b"".join(self._blocks[block] for block in range(first, stop))
        return data[start - first * _BLOCK :][:count]

    def _between(self, start: int, stop: int) -> bytes:
        if start >= self._at and stop <= self._at + len(self._chunk):
            return self._chunk[start - self._at : stop - self._at]
        return self._read(start, stop - start) if stop > start else b""

    def _fetch(self, first: int, stop: int) -> None:
        """Fetch the missing blocks from block ``first`` up to block ``stop`` (exclusive).

        Adjacent blocks share one request.
        """
        beyond = -(-len(self) // _BLOCK)
        spans: list[tuple[int, int]] = []
        for block in range(first, min(stop, beyond)):
            if block in self._blocks:
                continue
            if spans and spans[-1][1] == block:
                spans[-1] = (spans[-1][0], block + 1)
            else:
                spans.append((block, block + 1))
        if not spans:
            return
        parts = self._remote.parts([(start * _BLOCK, min(end * _BLOCK, len(self))) for start, end in spans])
        for (start, end), data in zip(spans, parts, strict=True):
            for block in range(start, end):
                at = (block - start) * _BLOCK
                self._blocks[block] = data[at : at + _BLOCK]
