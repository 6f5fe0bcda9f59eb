"""The text of rule files; what it means is for :mod:`trtlint.engine.rulefile`."""

from __future__ import annotations

from pathlib import Path

from trtlint.engine.rule import RuleError

_MAX_BYTES = 256 * 1024


def read_rule(path: Path) -> str:
    """The text of a rule file.

    Raises:
        RuleError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise RuleError(path, 1, f"longer than {_MAX_BYTES} bytes")
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise RuleError(path, 1, error.strerror or str(error)) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RuleError(path, line, f"not UTF-8 at byte {error.start}") from None
