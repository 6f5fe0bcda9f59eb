"""A changed model written, its large tensors streamed from the file that it was read from.

What is changed is the structure that :func:`trtlint.model.reader.read` gives; each tensor that was
left out there is copied from the source file byte for byte, so that the cost of writing is that of
copying the file, whatever the weights take, and files beyond protobuf's limit of 2 GB can be written.

Copying takes the kernel longer than all that is done to a large model: it begins while that is being done.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import BinaryIO

import onnx

from trtlint.errors import TrtlintError
from trtlint.files.replace import replacing
from trtlint.model.assembly import Assembly, Piece, size_of
from trtlint.model.copying import LARGE, copy_stretch
from trtlint.model.errors import ModelError
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
    with Writing(out) as writing:
        writing.finish(proto, source)


def write_to(file: BinaryIO, proto: onnx.ModelProto, source: TensorStore) -> None:
    """Write such a model to a file that is open.

    Args:
        file: the file, open for writing in binary.
        proto: the structure.
        source: the tensors of the file that it was read from.

    Raises:
        ModelError: the file has changed and no longer holds what was read.
        OSError: a file cannot be read or written.
    """
    pieces = Assembly(source).pieces(proto.SerializeToString())
    with source.opened() as weights:
        for piece in pieces:
            if isinstance(piece, bytes):
                file.write(piece)
            else:
                copy_stretch(weights, file, *piece)


class _AbandonedError(TrtlintError):
    """The file is not wanted any more."""


class Writing:
    """A file that a model is written to: begun, where it is large, while the model is still being changed.

    It appears whole when it is finished, and not at all if it never is.  The kernel copies the weights
    in a thread; what keeps it from doing so is raised when the file is finished.

    Args:
        out: the file; one that is there is replaced.
    """

    def __init__(self, out: Path) -> None:
        self._out = out
        self._asked: SimpleQueue[tuple[Sequence[Piece], bool] | None] = SimpleQueue()
        self._assembly: Assembly | None = None
        self._thread: Thread | None = None
        self._failure: BaseException | None = None

    def __enter__(self) -> Writing:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        """Leave nothing behind of a file that was not finished."""
        if self._thread is not None:
            self._asked.put(None)
            self._thread.join()

    def begin(self, proto: onnx.ModelProto, source: TensorStore) -> None:
        """Write what can be written of a model that is likely to change, if it is large; return at once.

        Args:
            proto: the structure as it is now; what is the same in the end is not written again.
            source: the tensors of the file that it was read from.
        """
        if source.size < LARGE:
            return
        self._assembly = Assembly(source)
        with suppress(ModelError, OSError):  # finish meets it again
            self._asked.put((self._assembly.pieces(proto.SerializeToString()), False))
            self._thread = Thread(target=self._keep_failure, args=(source,), name="trtlint-writing")
            self._thread.start()

    def finish(self, proto: onnx.ModelProto, source: TensorStore) -> None:
        """Write a model as it is to be.

        Args:
            proto: the structure.
            source: the tensors of the file that it was read from.

        Raises:
            ModelError: the file has changed and no longer holds what was read.
            OSError: a file cannot be read or written.
        """
        assembly = self._assembly or Assembly(source)
        self._asked.put((assembly.pieces(proto.SerializeToString()), True))
        if self._thread is None:
            self._write(source)
            return
        self._thread.join()
        self._thread = None
        if self._failure is not None:
            raise self._failure

    def _keep_failure(self, source: TensorStore) -> None:
        try:
            self._write(source)
        except BaseException as error:  # noqa: BLE001 - finish raises it
            self._failure = error

    def _write(self, source: TensorStore) -> None:
        """Write what is asked for, one after the other, until it is said to be the last."""
        with replacing(self._out, [source.path]) as target, source.opened() as file:
            written: list[Piece] = []
            while (asked := self._asked.get()) is not None:
                pieces, last = asked
                if self._put(pieces, written, file, target) and last:
                    return
            raise _AbandonedError

    def _put(self, pieces: Sequence[Piece], written: list[Piece], file: BinaryIO, target: BinaryIO) -> bool:
        """Make the file so; False if something else is asked for meanwhile.

        Args:
            pieces: what is to be in it.
            written: what is in it; is kept up to date.
            file: the source.
            target: the file.
        """
        at = same = 0
        for old, new in zip(written, pieces, strict=False):
            if old != new:
                if isinstance(old, tuple) or isinstance(new, tuple) or len(old) != len(new):
                    break
                # Of the bytes before the tensors, the length of the graph is all that is likely to change.
                target.seek(at)
                target.write(new)
                written[same] = new
            at += size_of(new)
            same += 1
        target.seek(at)
        if written[same:]:
            target.truncate()
            del written[same:]
        for piece in pieces[same:]:
            if not self._asked.empty():
                return False
            if isinstance(piece, bytes):
                target.write(piece)
            else:
                copy_stretch(file, target, *piece)
            written.append(piece)
        return True
