"""Copy a model file and change one entry of its metadata.

The model is not decoded; byte ranges of the file are copied.  So the copy needs no memory for weights, works
for files above protobuf's limit of 2 GB, and changes no other byte.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from trtlint.files.regular import open_regular
from trtlint.files.replace import replacing
from trtlint.files.view import View
from trtlint.model.datafile import copy_stretch
from trtlint.model.errors import ModelError
from trtlint.model.protos import text
from trtlint.model.reader import decode, read
from trtlint.model.wire import LENGTH, Buffer, fields, record

_METADATA = 14
"""``metadata_props`` of ModelProto: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto."""


def copy_with(path: Path, out: Path, key: str, change: Callable[[str], str]) -> None:
    """Copy a model file and change the value of one metadata key.  The copy is written atomically.

    Args:
        path: the model file.
        out: path of the copy; an existing file is replaced.
        key: the metadata key.
        change: function that returns the new value.  Its argument is the old value, or an empty text if the
            model does not have the key.

    Raises:
        ModelError: ``path`` is not a model, or the changed copy would not be a model.
        OSError: the copy cannot be written.
    """
    read(path)
    with open_regular(path) as source:
        data = View(source, os.fstat(source.fileno()).st_size)
        old = [entry for entry in _entries(data) if entry[2] == key]
        value = change(old[-1][3] if old else "")
        entry = onnx.StringStringEntryProto(key=key, value=value).SerializeToString(deterministic=True)
        with replacing(out, [path], lambda copy: _verify(copy, key, value)) as target:
            copied = 0
            for start, stop, _, _ in old:
                copy_stretch(source, target, copied, start)
                copied = stop
            copy_stretch(source, target, copied, len(data))
            target.write(record(_METADATA, entry))


def _entries(data: Buffer) -> Iterator[tuple[int, int, str, str]]:
    """Yield the start, stop, key and value of each metadata entry."""
    for number, wire, at, begin, stop in fields(data, 0, len(data)):
        if number == _METADATA and wire == LENGTH:
            try:
                entry = onnx.StringStringEntryProto.FromString(bytes(data[begin:stop]))
            except DecodeError:
                raise ModelError("not an ONNX model: a metadata entry cannot be decoded", offset=at) from None
            yield at, stop, text(entry.key), text(entry.value)


def _verify(copy: Path, key: str, value: str) -> None:
    """Raise an error if the copy does not have the new value, for example because the model is truncated."""
    entries = decode(read(copy).data).metadata_props
    if [text(entry.value) for entry in entries if text(entry.key) == key] != [value]:
        raise ModelError(
            "the new metadata value is missing in the written copy; the original model may be damaged"
        )
