"""Copy byte ranges of a file into another file."""

from __future__ import annotations

from typing import BinaryIO

from trtlint.model.errors import ModelError

_CHUNK = 1 << 20
"""Number of bytes to copy at once.

The offset of a weight in its memory page usually differs between the two files.  Then the kernel copies page
by page for ``os.copy_file_range`` and ``os.sendfile``, which takes longer than reading and writing.
"""


def copy_stretch(source: BinaryIO, target: BinaryIO, start: int, stop: int) -> None:
    """Append the bytes from ``start`` to ``stop`` of a model file to another file.

    Raises:
        ModelError: ``source`` ends before ``stop``.
        OSError: the bytes cannot be read or written.
    """
    source.seek(start)
    while start < stop:
        chunk = source.read(min(_CHUNK, stop - start))
        if not chunk:
            raise ModelError("the file was truncated while it was copied", offset=start)
        target.write(chunk)
        start += len(chunk)
