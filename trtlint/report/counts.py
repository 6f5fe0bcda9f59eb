"""Counts of findings and of hidden findings, and the unset options that findings depend on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from trtlint.engine.caveats import suppressed_by_model
from trtlint.engine.finding import SEVERITIES, Finding, ModelReport

_WITH_VALUE = frozenset({"--trt", "--rtx", "--gpu", "--plugins"})
"""Options with a value. All other options are switches, such as ``--fp16`` and ``--no-fp16``."""
_GONE = 5
"""Largest number of notes about stale baseline entries of a model. A stale entry matches no finding."""


def plural(number: int, word: str) -> str:
    """Format a count: ``1 error``, ``2 errors``, ``2 batches``."""
    ending = "es" if word.endswith("ch") else "s"
    return f"{number:,} {word}" + ("" if number == 1 else ending)


def left_out(number: int, shown: int, word: str) -> list[str]:
    """Return the line ``and 3 more findings`` for omitted entries of a list, or no line if none are omitted.

    Args:
        number: the number of entries.
        shown: the largest number of entries that the list shows.
        word: an entry in the singular, such as ``finding``.
    """
    return [f"and {plural(number - shown, f'more {word}')}"] if number > shown else []


def files_in_words(forms: Counter[str], affected: int = 0) -> str:
    """Format the number of files by kind: ``2 models``, ``1 of 2 models``, ``3 files (2 models, 1 log)``.

    Args:
        forms: the number of files of each kind.
        affected: the number of files with findings.
    """
    if not forms:
        return plural(0, "model")
    total = forms.total()
    part = f"{affected:,} of " if 0 < affected < total else ""
    kinds = ", ".join(plural(number, form) for form, number in forms.items())
    return f"{part}{kinds}" if len(forms) == 1 else f"{part}{plural(total, 'file')} ({kinds})"


def by_severity(severities: Counter[str]) -> str:
    """Format counts by severity: ``2 errors, 1 note``, or ``no findings``."""
    parts = [plural(severities[severity], severity) for severity in SEVERITIES if severities[severity]]
    return ", ".join(parts) or "no findings"


def severities_in(findings: Iterable[Finding]) -> str:
    """Format the number of findings by severity: ``2 errors, 1 note``, or ``no findings``."""
    return by_severity(Counter(finding.severity for finding in findings))


def either(option: str) -> str:
    """Return an option as the user writes it. A switch becomes ``--fp16 or --no-fp16``."""
    if option in _WITH_VALUE or option.startswith("--no-"):
        return option
    return f"{option} or --no-{option.removeprefix('--')}"


def settling(depends: Iterable[tuple[str, ...]]) -> str:
    """List the options that some findings depend on: ``--fp16 or --no-fp16 (4), --gpu (3)``.

    Args:
        depends: the unset options of each finding.
    """
    counts = Counter(option for options in depends for option in options)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{either(option)} ({count})" for option, count in ranked)


def hidden(conditional: Iterable[Finding]) -> str:
    """Return a line that counts the findings that are hidden because they depend on unset options.

    Return an empty string if there are no such findings.
    """
    depends = [finding.depends for finding in conditional]
    if not depends:
        return ""
    options = settling(depends)
    give = f"give {options}, or " if options else ""
    return f"{plural(len(depends), 'conditional finding')} hidden: {give}see them with --show-conditional"


def hidden_line(conditional: Iterable[Finding], accepted: HiddenFindings, folded: int = 0) -> str:
    """Return one line about all hidden findings and the options that show them.

    Return an empty string if no findings are hidden.

    Args:
        conditional: hidden findings that depend on unset options.
        accepted: counts of suppressed findings and findings in baselines.
        folded: the number of findings that are merged into the finding about their cause.
    """
    words = [accepted.line] if accepted.line else []
    words += [f"{plural(folded, 'finding')} merged into other findings"] if folded else []
    listed = " (listed by --format json)" if folded or accepted.suppressed or accepted.known else ""
    return "; ".join(filter(None, (hidden(conditional), ", ".join(words) + listed)))


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
