"""What tells a model from others, at the cost of its nodes: its structure and samples of its weights."""

from __future__ import annotations

import hashlib
from itertools import groupby
from pathlib import Path

import onnx

from trtlint.files.regular import open_regular
from trtlint.model.external import place_of
from trtlint.model.reader import RawModel, decode, read
from trtlint.model.tensors import LEFT, TensorStore

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
    places = (_place(tensor, raw.tensors) for tensor in decode(raw.data).graph.initializer)
    for path, each in groupby(filter(None, places), key=lambda place: place[0]):
        with open_regular(path) as file:
            for _, offset, length in each:
                for start in (offset, offset + max(0, length - _SAMPLE)):
                    file.seek(start)
                    found.update(file.read(min(_SAMPLE, length)))
    return found.hexdigest()


def _place(tensor: onnx.TensorProto, tensors: TensorStore) -> tuple[Path, int, int] | None:
    """Where a tensor lies that is in no structure: the file, offset and length; None for others."""
    stored = place_of(tensor) if tensor.data_location == onnx.TensorProto.EXTERNAL else None
    if stored is not None and stored[0] == LEFT:
        return tensors.path, stored[1], stored[2] or 0
    return tensors.place(tensor)
