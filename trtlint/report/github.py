"""Report as annotations of GitHub Actions.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trtlint.report.escape import clean
from trtlint.report.formats import Run
from trtlint.report.guard import without_marks
from trtlint.report.locations import Overview, Spot
from trtlint.report.wording import full, heading

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def document(run: Run) -> Iterable[str]:
    """Return the lines of the report."""
    return lines(run.overview())


def lines(overview: Overview) -> Iterator[str]:
    """Yield a workflow command for each unreadable file, each caveat, and each location of a finding.

    The most severe commands come first, because GitHub shows only ten errors, ten warnings and ten
    notices of a step.
    """
    for problem in overview.problems:
        yield _command("error", problem.path, None, "trtlint", clean(str(problem)))
    for model, caveat in overview.caveats:
        yield _command(_COMMANDS[caveat.severity], model, None, "trtlint", clean(caveat.message))
    for spot in overview.spots:
        yield _annotation(spot)


def _annotation(spot: Spot) -> str:
    command = "notice" if spot.conditional else _COMMANDS[spot.finding.severity]
    return _command(command, spot.place.path, spot.place.line, heading(spot.finding), full(spot))


def _command(command: str, path: str, line: int | None, title: str, message: str) -> str:
    properties = {"file": clean(path), **({"line": str(line)} if line else {}), "title": title}
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{command} {listed}::{_data(message)}"


def _data(text: str) -> str:
    return without_marks(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
