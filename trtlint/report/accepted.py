"""Counts of findings that a report does not show: suppressed, in a baseline, or of low confidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from trtlint.engine.caveats import suppressed_by_model
from trtlint.engine.finding import Finding, ModelReport
from trtlint.report.counts import plural

_GONE = 5
"""Largest number of notes about stale baseline entries of a model. A stale entry matches no finding."""


class HiddenFindings(Struct):
    """Counts of the findings that the reports of a run do not show."""

    suppressed: int = 0
    """Number of findings that the configuration or the metadata of the models suppresses."""
    own: int = 0
    """Number of findings that the metadata of the models suppresses."""
    known: int = 0
    """Number of baseline entries that match findings. An entry is for a node, module or source line."""
    withheld: int = 0
    """Number of findings below ``--min-confidence``."""
    gone: int = 0
    """Number of baseline entries that match no finding."""

    def add(self, models: Sequence[ModelReport]) -> None:
        """Count the hidden findings of one file, from its reports for all targets."""
        found = {_key(finding) for model in models for finding in model.suppressed if not _is_known(finding)}
        self.known += places_in_baseline(models)
        self.suppressed += len(found)
        self.own += len(suppressed_by_model(models))
        self.withheld += max((model.withheld for model in models), default=0)
        self.gone += len({gone for model in models for gone in model.gone})

    @property
    def clean(self) -> str:
        """Return the text for a run that has no findings to show.

        The text is ``no findings``, or ``no new findings`` if the run has a baseline.
        """
        return "no new findings" if self.known else "no findings"

    @property
    def line(self) -> str:
        """Return the closing line about hidden findings, or an empty string if none are hidden.

        An example is ``2 findings suppressed, 3 places in the baseline``.
        """
        parts = []
        if self.suppressed:
            own = f" ({self.own:,} by metadata of the model)" if self.own else ""
            parts.append(f"{plural(self.suppressed, 'finding')} suppressed{own}")
        if self.known:
            parts.append(f"{plural(self.known, 'place')} in the baseline")
        if self.withheld:
            parts.append(
                f"{plural(self.withheld, 'finding')} below --min-confidence "
                "(see them with --min-confidence low)"
            )
        if self.gone:
            parts.append(
                f"{plural(self.gone, 'stale place')} in the baseline (remove with --update-baseline)"
            )
        return ", ".join(parts)


def places_in_baseline(models: Sequence[ModelReport]) -> int:
    """Count the baseline entries that match findings of one file."""
    known = (finding for model in models for finding in model.suppressed if _is_known(finding))
    return len({(finding.rule, site.fingerprint) for finding in known for site in finding.sites})


def no_findings(accepted: int) -> str:
    """Return the text for a file that has no findings to show.

    Args:
        accepted: the number of baseline entries that match findings of the file.

    >>> no_findings(0), no_findings(2)
    ('no findings', 'no new findings (2 places in the baseline)')
    """
    return f"no new findings ({plural(accepted, 'place')} in the baseline)" if accepted else "no findings"


def gone_notes(models: Sequence[ModelReport]) -> Iterator[str]:
    """Yield a note for each baseline entry that no longer matches a finding of the model."""
    gone = list(dict.fromkeys(gone for model in models for gone in model.gone))
    for entry in gone[:_GONE]:
        place = f" at {entry.place}" if entry.place else ""
        yield f"{entry.rule}{place} no longer occurs, but is still in the baseline"
    if len(gone) > _GONE:
        yield f"further stale places in the baseline: {len(gone) - _GONE}"


def _is_known(finding: Finding) -> bool:
    return finding.suppression is not None and finding.suppression.kind == "baseline"


def _key(finding: Finding) -> tuple[str, str, str]:
    return finding.rule, finding.fingerprint, finding.suppression.kind if finding.suppression else ""
