"""Read rule files as text. :mod:`trtlint.engine.rulefile` parses the text."""

from __future__ import annotations

from pathlib import Path

from trtlint.engine.rule import RuleError
from trtlint.files.regular import read_bytes

LARGEST = 256 << 10
"""Largest size of a rule file in bytes."""


def read_rule(path: Path) -> str:
    """Return the text of a rule file.

    Raises:
        RuleError: the file cannot be read.
    """
    try:
        data = read_bytes(path, LARGEST)
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise RuleError(path, 1, error.strerror or str(error)) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RuleError(path, line, f"not UTF-8 at byte {error.start}") from None
