"""A changed model written, its large tensors streamed from the file that it was read from.

What is changed is the structure that :func:`trtlint.model.reader.read` gives; each tensor that was
left out there is copied from the source file byte for byte, so that the cost of writing is that of
copying the file, whatever the weights take, and files beyond protobuf's limit of 2 GB can be written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import onnx

from trtlint.files.regular import open_regular
from trtlint.files.replace import replacing
from trtlint.files.view import View
from trtlint.model.copying import copy_stretch
from trtlint.model.errors import ModelError
from trtlint.model.protos import text
from trtlint.model.reader import MODEL, PARTS, TENSOR
from trtlint.model.tensors import LEFT, TensorStore, place_of
from trtlint.model.wire import LENGTH, Buffer, fields, header, record

_NAME = 8
"""``name`` of TensorProto: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto."""
_MARK = onnx.StringStringEntryProto(key="location", value=LEFT).SerializeToString(deterministic=True)

_Piece = bytes | tuple[int, int]
"""Bytes of the structure, or where in the source file bytes begin and end."""


def write(
    proto: onnx.ModelProto,
    source: TensorStore,
    out: Path,
    tail: Callable[[], onnx.ModelProto] | None = None,
) -> None:
    """Write a model that was read with ``whole=True`` and changed.

    The file appears whole or not at all.

    Args:
        proto: the structure; tensors that were left out are streamed from the file that it was read from.
        source: the tensors of that file.
        out: the file to write; one that is there is replaced.
        tail: what is added at the end, asked for when all else is written; None for nothing.

    Raises:
        ModelError: the file has changed and no longer holds what was read.
        OSError: a file cannot be read or written.
    """
    with open_regular(source.path) as file, replacing(out, [source.path]) as target:
        _require(source, file)
        data = View(file, os.fstat(file.fileno()).st_size)
        for piece in _pieces(proto.SerializeToString(), data):
            if isinstance(piece, bytes):
                target.write(piece)
            else:
                copy_stretch(file, target, *piece)
        if tail is not None:
            target.write(tail().SerializeToString())
        _require(source, file)


def _require(source: TensorStore, file: BinaryIO) -> None:
    """Refuse a file that was written to since it was read: its tensors are others, or lie elsewhere."""
    if not source.is_of(os.fstat(file.fileno())):
        raise ModelError("the file changed after it was read")


def _pieces(structure: bytes, source: Buffer) -> Iterator[_Piece]:
    """The file to write, in order."""
    pieces, _ = _message(MODEL, structure, 0, len(structure), source)
    yield from pieces


def _message(kind: int, data: bytes, start: int, end: int, source: Buffer) -> tuple[list[_Piece], int]:
    """A message with the tensors put back that were left out, and how many bytes it takes."""
    pieces: list[_Piece] = []
    size, copied = 0, start
    for number, wire, at, begin, stop in fields(data, start, end):
        part = PARTS[kind].get(number)
        if part is None or wire != LENGTH or data.find(_MARK, begin, stop) < 0:
            continue
        inner, length = (
            _tensor(data[begin:stop], source) if part == TENSOR else _message(part, data, begin, stop, source)
        )
        before = data[copied:at] + header(number, length)
        pieces += [before, *inner]
        size += len(before) + length
        copied = stop
    pieces.append(data[copied:end])
    return pieces, size + end - copied


def _tensor(stub: bytes, source: Buffer) -> tuple[list[_Piece], int]:
    """What stands in the source for a tensor that was left out, under the name that it has now."""
    tensor = onnx.TensorProto.FromString(stub)
    place = place_of(tensor)
    if place is None or place[2] is None or place[1] + place[2] > len(source):
        # The reader leaves none out so: the file itself says it.
        raise ModelError(f"tensor {text(tensor.name)!r} names no file for its external data")
    start, end = place[1], place[1] + place[2]
    names = [field for field in fields(source, start, end) if field[0] == _NAME]
    if [bytes(source[begin:stop]) for _, _, _, begin, stop in names] == [_bytes(tensor.name)]:
        return [(start, end)], end - start
    pieces: list[_Piece] = []
    copied = start
    for _, _, at, _, stop in names:
        pieces.append((copied, at))
        copied = stop
    pieces += [(copied, end), record(_NAME, _bytes(tensor.name))]
    return pieces, sum(len(piece) if isinstance(piece, bytes) else piece[1] - piece[0] for piece in pieces)


def _bytes(name: str | bytes) -> bytes:
    return name if isinstance(name, bytes) else name.encode()
