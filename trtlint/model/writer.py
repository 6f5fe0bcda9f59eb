"""Write a changed model to a file, and copy its large tensors from the source file.

:func:`trtlint.model.reader.read` reads a model without the elements of its large tensors.  The caller changes
this model.  The missing tensors are then copied from the source file byte for byte.  So writing takes as long
as copying the file, and the result can exceed protobuf's limit of 2 GB.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import onnx

from trtlint.files.problem import UnreadableError
from trtlint.files.replace import replacing
from trtlint.model.assembly import Make, pieces_of, size_of
from trtlint.model.contents import all_tensors
from trtlint.model.datafile import copy_stretch, data_file, files_in
from trtlint.model.reader import decode, read
from trtlint.model.tensors import TensorStore


def data_files(proto: onnx.ModelProto) -> list[str]:
    """Return the names of the external data files of a model, relative to the folder of the model."""
    return sorted({name for tensor in all_tensors(proto) for name in files_in(tensor)})


def data_files_of(path: Path) -> list[str]:
    """Return the names of the external data files of a model file, relative to its folder.

    Raises:
        ModelError: the file is not a model, or is damaged.
        OSError: the file cannot be read.
    """
    return data_files(decode(read(path, whole=True).data))


def files_of(path: Path) -> list[Path]:
    """Return a model file and its external data files, or only the model file if it cannot be read."""
    with suppress(UnreadableError, OSError):
        return [path, *(path.parent / name for name in data_files_of(path))]
    return [path]


def files_at_risk(models: Sequence[Path], outs: Iterable[Path]) -> list[Path]:
    """Return the files of a command that a new model must not replace.

    These are the models that the command reads. If a new file of external data may replace an existing file,
    the result includes the external data of these models.

    Args:
        models: the models that the command reads.
        outs: the models that the command may write.
    """
    if not any(data_file(out).exists() for out in outs):
        return list(models)
    return [file for model in models for file in files_of(model)]


def write(proto: onnx.ModelProto, source: TensorStore, out: Path, protected: Iterable[Path] = ()) -> None:
    """Write a changed model atomically.

    Args:
        proto: the changed model, read with ``whole=True``.  Its missing tensors are copied from the source
            file.
        source: the tensors of the source file.
        out: the file to write; an existing file is replaced.
        protected: further files that ``out`` must not replace.

    Raises:
        ModelError: the source file changed since it was read.
        OSError: a file cannot be read or written, or ``out`` is a protected file.
    """
    with replacing(out, [source.path, *protected]) as target:
        write_to(target, proto, source)


def write_to(file: BinaryIO, proto: onnx.ModelProto, source: TensorStore, make: Make | None = None) -> None:
    """Write a changed model to an open file.

    Args:
        file: the file, open for writing in binary.
        proto: the changed model, read with ``whole=True``.
        source: the tensors of the source file.
        make: function that returns the pieces of a changed tensor.  If it returns None, the tensor is copied
            from the source file.

    Raises:
        ModelError: the source file changed since it was read.
        OSError: a file cannot be read or written.
    """
    pieces = pieces_of(proto.SerializeToString(), source, make)
    _reserve(file, sum(map(size_of, pieces)))
    with source.open() as weights:
        for piece in pieces:
            if isinstance(piece, bytes):
                file.write(piece)
            elif isinstance(piece, tuple):
                copy_stretch(weights, file, *piece)
            else:
                piece.write(file)


def _reserve(file: BinaryIO, size: int) -> None:
    """Reserve space for an empty file, so that a full disk is reported before the weights are copied.

    Raises:
        OSError: the disk has not enough space.
    """
    if size and hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENODEV):
                raise
