"""Copy byte ranges of a file into another file."""

from __future__ import annotations

from typing import BinaryIO

from trtlint.model.errors import ModelError

_CHUNK = 1 << 20
"""Number of bytes to copy at once.

trtlint reads and writes the bytes, because ``os.copy_file_range`` usually takes longer.  A weight rarely has
the same offset within a memory page in both files.  So the kernel would copy page by page.
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
