"""What tells a model from others, at the cost of its nodes: its structure and samples of its weights."""

from __future__ import annotations

import hashlib
from pathlib import Path

from trtlint.model.reader import RawModel, decode, read

_SAMPLE = 4096
"""Bytes at the beginning and the end of a tensor; training changes them all."""


def digest(path: Path) -> str:
    """A hash that changes with the graph and, as training changes them, with the weights.

    Raises:
        ModelError: the file is no model.
    """
    return digest_of(read(path))


def digest_of(raw: RawModel) -> str:
    """The same of a model that has been read; the file is opened for the samples alone.

    What it was read with counts: ``read(path, whole=True)`` gives another structure, and another hash.
    """
    found = hashlib.sha256(raw.data)
    for tensor in decode(raw.data).graph.initializer:
        place = raw.tensors.place(tensor)
        if place is None:
            continue
        file, offset, length = place
        with file.open("rb") as stream:
            stream.seek(offset)
            found.update(stream.read(min(_SAMPLE, length)))
            stream.seek(offset + max(0, length - _SAMPLE))
            found.update(stream.read(min(_SAMPLE, length)))
    return found.hexdigest()
