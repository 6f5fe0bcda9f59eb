"""Report as annotations of GitHub Actions.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trtlint.report.entries import entries
from trtlint.report.escape import clean
from trtlint.report.formats import Run
from trtlint.report.guard import without_marks
from trtlint.report.locations import Overview
from trtlint.report.wording import heading

_COMMANDS = {"unreadable": "error", "error": "error", "warning": "warning", "note": "notice"}


def document(run: Run) -> Iterable[str]:
    """Return the lines of the report."""
    return lines(run.overview())


def lines(overview: Overview) -> Iterator[str]:
    """Yield a workflow command for each unreadable file, each caveat, and each location of a finding.

    The most severe commands come first, because GitHub shows only ten errors, ten warnings and ten
    notices of a step.
    """
    for entry in entries(overview):
        line = entry.place.line
        title = "trtlint" if entry.finding is None else heading(entry.finding)
        properties = {
            "file": clean(entry.place.path),
            **({"line": str(line)} if line else {}),
            "title": title,
        }
        listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
        yield f"::{_COMMANDS[entry.level]} {listed}::{_data(entry.message)}"


def _data(text: str) -> str:
    return without_marks(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
