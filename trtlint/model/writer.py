"""Write a changed model; stream its large tensors from the file that it was read from.

What is changed is the structure that :func:`trtlint.model.reader.read` gives; each tensor that was
left out there is copied from the source file byte for byte, so that the cost of writing is that of
copying the file, whatever the weights take, and files beyond protobuf's limit of 2 GB can be written.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import onnx

from trtlint.files.replace import replacing
from trtlint.model.assembly import Make, pieces_of
from trtlint.model.copying import copy_stretch
from trtlint.model.tensors import TensorStore


def write(proto: onnx.ModelProto, source: TensorStore, out: Path) -> None:
    """Write a model that was read with ``whole=True`` and changed.

    The file appears whole or not at all.

    Args:
        proto: the structure; tensors that were left out are streamed from the file that it was read from.
        source: the tensors of that file.
        out: the file to write; one that is there is replaced.

    Raises:
        ModelError: the file has changed and no longer holds what was read.
        OSError: a file cannot be read or written.
    """
    with replacing(out, [source.path]) as target:
        write_to(target, proto, source)


def write_to(file: BinaryIO, proto: onnx.ModelProto, source: TensorStore, make: Make | None = None) -> None:
    """Write such a model to a file that is open.

    Args:
        file: the file, open for writing in binary.
        proto: the structure.
        source: the tensors of the file that it was read from.
        make: gives the tensors that are not copied from that file.

    Raises:
        ModelError: the file has changed and no longer holds what was read.
        OSError: a file cannot be read or written.
    """
    pieces = pieces_of(proto.SerializeToString(), source, make)
    with source.opened() as weights:
        for piece in pieces:
            if isinstance(piece, bytes):
                file.write(piece)
            elif isinstance(piece, tuple):
                copy_stretch(weights, file, *piece)
            else:
                piece.write(file)
