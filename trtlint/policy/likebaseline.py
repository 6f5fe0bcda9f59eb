"""Check an existing file before trtlint writes a baseline to its path."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from trtlint.errors import SettingError
from trtlint.files.regular import open_regular
from trtlint.files.replace import require_output

_HEAD = 512
"""Number of bytes that are checked at the start of the file."""


def require_baseline_path(file: Path, protected: Iterable[Path] = ()) -> None:
    """Check that trtlint may write a baseline to a path.

    A damaged baseline, or a baseline with merge conflicts, may be overwritten.  A file with other content
    must not be overwritten, because the user may have given a model to ``--write-baseline`` by mistake.

    Args:
        file: the path of the new baseline.
        protected: the files that the run reads.

    Raises:
        SettingError: the file is not a baseline, is read in this run, or cannot be read or replaced.
    """
    require_output(file, protected, "the baseline to")
    try:
        with open_regular(file) as there:
            head = there.read(_HEAD).strip()
    except FileNotFoundError:
        return
    except OSError as error:
        raise SettingError(f"cannot write the baseline to {file}: {error.strerror}") from None
    if head and not head.startswith((b"{", b"<<<<<<<")):
        raise SettingError(f"cannot write the baseline to {file}: the existing file is not a baseline")
