"""``trtlint trend``: new and removed findings between two scans."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from trtlint.policy.failing import grave
from trtlint.report.escape import clean
from trtlint.runs.exits import Exit

if TYPE_CHECKING:
    from trtlint.policy.options import FailOn


def run_trend(earlier: str, later: str, *, format: Literal["text", "json"], fail_on: FailOn) -> int:
    """Write the differences to standard output and return the exit code."""
    from trtlint.report.trend import RowsError, as_json, as_text, compare, read_rows

    name = earlier
    try:
        before = read_rows(Path(name))
        name = later
        trend = compare(before, read_rows(Path(name)))
    except RowsError as error:
        line = "" if error.line is None else f":{error.line}"
        print(clean(f"error: {name}{line}: {error.message}"), file=sys.stderr)
        return Exit.UNREADABLE
    if format == "json":
        print(as_json(trend))
    else:
        for line in as_text(trend):
            print(line)
    severities = grave(fail_on)
    worse = any(row.severity in severities and row.confidence != "low" for row in (*trend.new, *trend.added))
    return Exit.FINDINGS if worse else Exit.CLEAN
