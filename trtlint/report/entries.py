"""Problems, caveats and findings of a run in one form, for formats with one list of messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from trtlint.engine.finding import Finding
from trtlint.report.escape import clean
from trtlint.report.locations import Overview, Place
from trtlint.report.wording import full


class ReportEntry(Struct, frozen=True):
    """A problem, a caveat, or a finding at one place.

    Attributes:
        place: the file and line at which the entry is shown.
        level: ``unreadable`` for a problem. ``note`` for a finding that depends on unset options. Otherwise,
            the severity.
        kind: id of the rule, kind of the caveat, or ``unreadable``.
        message: the message, which is safe to print.
        identity: texts that identify the entry in all runs.
        finding: the finding; None for a problem or a caveat.
    """

    place: Place
    level: Literal["unreadable", "error", "warning", "note"]
    kind: str
    message: str
    identity: tuple[str, ...]
    finding: Finding | None = None


def entries(overview: Overview) -> Iterator[ReportEntry]:
    """Yield an entry for each problem, each caveat, and each location of a finding."""
    yield from remarks(overview)
    for spot in overview.spots:
        finding = spot.finding
        level = "note" if spot.conditional else finding.severity
        # Two exports of one network share fingerprints, so the model is part of the identity.
        identity = spot.model, finding.rule, spot.fingerprint
        yield ReportEntry(spot.place, level, finding.rule, full(spot), identity, finding)


def remarks(overview: Overview) -> Iterator[ReportEntry]:
    """Yield an entry for each problem and each caveat."""
    for problem in overview.problems:
        identity = problem.path, "", problem.message
        yield ReportEntry(Place(problem.path), "unreadable", "unreadable", clean(str(problem)), identity)
    for model, caveat in overview.caveats:
        identity = model, caveat.kind, caveat.message
        yield ReportEntry(Place(model), caveat.severity, caveat.kind, clean(caveat.message), identity)
