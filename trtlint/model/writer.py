"""Write a changed model, and copy its large tensors from the source file.

The caller changes the structure from :func:`trtlint.model.reader.read`.  Each tensor that is not in the
structure is copied from the source file byte for byte.  So writing takes as long as copying the file, and
files beyond protobuf's limit of 2 GB are supported.
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
    """Write a changed model atomically.

    Args:
        proto: the changed structure, read with ``whole=True``.  Missing tensors are copied from the source
            file.
        source: the tensors of the source file.
        out: the file to write; an existing file is replaced.

    Raises:
        ModelError: the source file changed since it was read.
        OSError: a file cannot be read or written.
    """
    with replacing(out, [source.path]) as target:
        write_to(target, proto, source)


def write_to(file: BinaryIO, proto: onnx.ModelProto, source: TensorStore, make: Make | None = None) -> None:
    """Write a changed model to an open file.

    Args:
        file: the file, open for writing in binary.
        proto: the structure.
        source: the tensors of the source file.
        make: function that returns the pieces of a changed tensor, or None to copy the tensor.

    Raises:
        ModelError: the source file changed since it was read.
        OSError: a file cannot be read or written.
    """
    pieces = pieces_of(proto.SerializeToString(), source, make)
    with source.open() as weights:
        for piece in pieces:
            if isinstance(piece, bytes):
                file.write(piece)
            elif isinstance(piece, tuple):
                copy_stretch(weights, file, *piece)
            else:
                piece.write(file)
