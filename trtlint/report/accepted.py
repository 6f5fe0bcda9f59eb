"""What was found and is not shown: suppressed, known from a baseline, or not sure enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trtlint.engine.caveats import suppressed_by_model
from trtlint.engine.finding import Finding, ModelReport
from trtlint.lean import dataclass
from trtlint.report.counts import plural

_GONE = 5
"""Entries of a baseline named at most for a model."""


@dataclass(slots=True)
class Accepted:
    """Counts over the files of a run."""

    suppressed: int = 0
    own: int = 0
    """How many of the suppressed ones the models themselves suppress."""
    known: int = 0
    withheld: int = 0
    gone: int = 0

    def add(self, models: Sequence[ModelReport]) -> None:
        """Count the findings of one file, given for each target that it was linted for."""
        found = {_key(finding) for model in models for finding in model.suppressed}
        known = sum(kind == "baseline" for _, _, kind in found)
        self.known += known
        self.suppressed += len(found) - known
        self.own += len(suppressed_by_model(models))
        self.withheld += max((model.withheld for model in models), default=0)
        self.gone += len({gone for model in models for gone in model.gone})

    @property
    def line(self) -> str:
        """The closing line: ``2 findings suppressed, 3 known from the baseline``; empty for nothing."""
        parts = []
        if self.suppressed:
            own = f" ({self.own:,} by the model itself)" if self.own else ""
            parts.append(f"{plural(self.suppressed, 'finding')} suppressed{own}")
        if self.known:
            parts.append(f"{plural(self.known, 'finding')} known from the baseline")
        if self.withheld:
            parts.append(f"{plural(self.withheld, 'finding')} below --min-confidence")
        if self.gone:
            parts.append(f"{plural(self.gone, 'place')} gone from the models (see --update-baseline)")
        return ", ".join(parts)


def gone_notes(models: Sequence[ModelReport]) -> Iterator[str]:
    """What the baseline holds and the model no longer has, each as a note about the file."""
    gone = list(dict.fromkeys(gone for model in models for gone in model.gone))
    for entry in gone[:_GONE]:
        place = f" at {entry.place}" if entry.place else ""
        yield f"{entry.rule}{place} is gone, and still in the baseline"
    if len(gone) > _GONE:
        yield f"{len(gone) - _GONE} more are gone, and still in the baseline"


def _key(finding: Finding) -> tuple[str, str, str]:
    return finding.rule, finding.fingerprint, finding.suppression.kind if finding.suppression else ""
