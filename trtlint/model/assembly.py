"""Assemble a rewritten model file from changed bytes and from byte ranges of the source file.

In the new file, the stored tensors of a graph come before the remaining fields of the graph.  So unchanged
tensors that are adjacent in the source file can be copied as one byte range.  Protobuf allows any order of
the fields of a message: https://protobuf.dev/programming-guides/encoding/#order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, Protocol

import onnx

from trtlint.files.view import View
from trtlint.model.errors import ModelError
from trtlint.model.external import place_of
from trtlint.model.protos import text
from trtlint.model.reader import GRAPH, MODEL, PARTS, TENSOR
from trtlint.model.tensors import LEFT, TensorStore
from trtlint.model.wire import LENGTH, fields, header, record


class ComputedPiece(Protocol):
    """Part of a new file, with bytes that :meth:`write` computes."""

    @property
    def size(self) -> int:
        """The number of bytes."""

    def write(self, file: BinaryIO) -> None:
        """Append the bytes to a file."""


Piece = bytes | tuple[int, int] | ComputedPiece
"""A part of the file: bytes, a byte range of the source file (start and stop), or bytes to compute."""
Make = Callable[[onnx.TensorProto], "list[Piece] | None"]
"""Function that returns the new pieces of a stored tensor, or None to copy it from the source file."""

_NAME = 8
"""Number of the field ``name`` of TensorProto: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto."""
_MARK = onnx.StringStringEntryProto(key="location", value=LEFT).SerializeToString(deterministic=True)


def size_of(piece: Piece) -> int:
    """Return the number of bytes of a piece."""
    if isinstance(piece, bytes):
        return len(piece)
    return piece[1] - piece[0] if isinstance(piece, tuple) else piece.size


def pieces_of(structure: bytes, source: TensorStore, make: Make | None = None) -> list[Piece]:
    """Return the pieces of the new model file, in file order.

    Args:
        structure: the changed model as a serialized ModelProto.  The elements of its large tensors are
            missing.
        source: the tensors of the source file.
        make: function that returns the pieces of a changed tensor.  If it returns None, the tensor is copied
            from the source file.

    Raises:
        ModelError: the source file changed, or it does not contain one of the missing tensors.
        OSError: the source file cannot be read.
    """
    with source.open() as file:
        data = View(file, source.size)
        return list(_joined(_message(MODEL, structure, 0, len(structure), data, make), data))


def _message(kind: int, data: bytes, start: int, end: int, source: View, make: Make | None) -> list[Piece]:
    """Return the pieces of the protobuf message in ``data[start:end]``.

    ``kind`` is the type of the message.  If ``data`` lacks the elements of a tensor, the elements are copied
    from the source file.
    """
    stored: list[Piece] = []
    rest: list[Piece] = []
    copied = start
    for number, wire, at, begin, stop in fields(data, start, end):
        part = PARTS[kind].get(number)
        if part is None or wire != LENGTH:
            continue
        is_stored = kind == GRAPH and part == TENSOR
        inner: list[Piece]
        if data.find(_MARK, begin, stop) < 0:
            if not is_stored:
                continue
            inner = [data[begin:stop]]
        elif part == TENSOR:
            tensor = onnx.TensorProto.FromString(data[begin:stop])
            made = None if make is None else make(tensor)
            inner = _found(tensor, source) if made is None else made
        else:
            inner = _message(part, data, begin, stop, source, make)
        rest.append(data[copied:at])
        (stored if is_stored else rest).extend((header(number, sum(map(size_of, inner))), *inner))
        copied = stop
    rest.append(data[copied:end])
    return stored + rest


def _joined(pieces: Iterable[Piece], source: View) -> Iterator[Piece]:
    """Merge adjacent byte ranges of the source file, and adjacent pieces of bytes.

    If a piece of bytes equals the bytes directly after a range of the source file, the piece is merged into
    the range.
    """
    last: Piece = b""
    for piece in pieces:
        if isinstance(last, tuple) and isinstance(piece, bytes | tuple):
            end = last[1] + size_of(piece)
            if piece == (source[last[1] : end] if isinstance(piece, bytes) else (last[1], end)):
                last = last[0], end
                continue
        elif isinstance(piece, bytes) and isinstance(last, bytes):
            last += piece
            continue
        yield last
        last = piece
    yield last


def _found(tensor: onnx.TensorProto, source: View) -> list[Piece]:
    """Return the pieces that copy a tensor from the source file.

    If the tensor was renamed, the pieces contain its new name in place of its old name.
    """
    place = place_of(tensor)
    if place is None or place[2] is None or place[1] + place[2] > len(source):
        # The reader never writes such a location, so the location comes from the model file itself.
        raise ModelError(
            f"tensor {text(tensor.name)!r} has external data, but the model does not name the file"
        )
    start, end = place[1], place[1] + place[2]
    names = [field for field in fields(source, start, end) if field[0] == _NAME]
    if [bytes(source[begin:stop]) for _, _, _, begin, stop in names] == [_bytes(tensor.name)]:
        return [(start, end)]
    pieces: list[Piece] = []
    copied = start
    for _, _, at, _, stop in names:
        pieces.append((copied, at))
        copied = stop
    return [*pieces, (copied, end), record(_NAME, _bytes(tensor.name))]


def _bytes(name: str | bytes) -> bytes:
    return name if isinstance(name, bytes) else name.encode()
