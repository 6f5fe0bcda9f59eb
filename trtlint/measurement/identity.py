"""Identify a model by a hash of its graph and of samples of its weights.

The time to compute the hash depends on the number of nodes, not on the size of the weights.
"""

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
"""Number of bytes to hash at each end of a tensor. Few bytes are enough, as training changes both ends."""


def digest(path: Path) -> str:
    """Return a hash of the graph of a model and of samples of its weights.

    Raises:
        ModelError: the file is not a model.
    """
    return digest_of(read(path))


def digest_of(raw: RawModel) -> str:
    """Return the hash of :func:`digest` for a model that was already read.

    The model must be read without ``whole=True``. With this option, the reader keeps more parts of the file,
    so the hash would differ.
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
    """Return the file with a tensor's data, and the offset and length of the data in bytes.

    The result is None if ``tensor`` itself contains its data.
    """
    stored = place_of(tensor) if tensor.data_location == onnx.TensorProto.EXTERNAL else None
    if stored is not None and stored[0] == LEFT:
        return tensors.path, stored[1], stored[2] or 0
    return tensors.place(tensor)
