"""``trtlint trend``: compare two scans, and list new and removed findings."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from trtlint.commands.reportoptions import require_outputs
from trtlint.policy.failing import grave
from trtlint.report.escape import clean
from trtlint.report.outputs import ReportOutput, write_all
from trtlint.runs.exits import Exit
from trtlint.runs.progress import Activity

if TYPE_CHECKING:
    from trtlint.policy.options import FailOn
    from trtlint.report.trend import Trend


def run_trend(earlier: str, later: str, *, outputs: Sequence[ReportOutput], fail_on: FailOn) -> int:
    """Write the new and removed findings and return the exit code."""
    from trtlint.report.trend import RowsError, compare, read_rows

    read = [Path(earlier), Path(later)]
    require_outputs(outputs, read)
    name = earlier
    try:
        with Activity("reading the scans"):
            before = read_rows(Path(name))
            name = later
            trend = compare(before, read_rows(Path(name)))
    except RowsError as error:
        line = "" if error.line is None else f":{error.line}"
        print(clean(f"error: {name}{line}: {error.message}"), file=sys.stderr)
        return Exit.UNREADABLE
    write_all(outputs, lambda format, file: _write(trend, format, file), read)
    severities = grave(fail_on)
    worse = any(row.severity in severities and row.confidence != "low" for row in (*trend.new, *trend.added))
    return Exit.FINDINGS if worse else Exit.CLEAN


def _write(trend: Trend, format: str, file: TextIO) -> None:
    from trtlint.report.trend import as_json, as_text

    if format == "json":
        file.write(as_json(trend) + "\n")
    elif format == "text":
        file.writelines(f"{line}\n" for line in as_text(trend))
    else:
        from trtlint.report.document import render
        from trtlint.report.trend import page

        file.write(render(page(trend), format))
