"""Copy byte ranges of a file into another file."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import BinaryIO

from trtlint.model.errors import ModelError

_CHUNK = 1 << 20


def copy_stretch(source: BinaryIO, target: BinaryIO, start: int, stop: int) -> None:
    """Append the bytes from ``start`` to ``stop`` of a model file to another file.

    If the file system supports it, large ranges are copied by the operating system.

    Raises:
        ModelError: ``source`` ends before ``stop``.
        OSError: the bytes cannot be read or written.
    """
    if stop - start >= _CHUNK and hasattr(os, "copy_file_range"):
        target.flush()
        with suppress(OSError):  # not every file system supports it
            while start < stop:
                copied = os.copy_file_range(source.fileno(), target.fileno(), stop - start, start)
                if not copied:
                    break
                start += copied
    source.seek(start)
    while start < stop:
        chunk = source.read(min(_CHUNK, stop - start))
        if not chunk:
            raise ModelError("the file was truncated while it was copied", offset=start)
        target.write(chunk)
        start += len(chunk)
