"""Closing lines of a report on a terminal: counts, hidden findings and the next command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct, field
from rich.cells import cell_len

from trtlint.engine.finding import Finding, ModelReport, Suggestion
from trtlint.report.counts import HiddenFindings, by_severity, files_in_words, hidden_line, plural
from trtlint.report.escape import clean
from trtlint.report.wording import further_lines


def examined(models: Sequence[ModelReport]) -> list[ModelReport]:
    """Return the reports of one file, except for targets for which the file could not be linted."""
    done = [model for model in models if not model.skipped]
    return [model for model in done if not model.errors or model.findings or model.conditional]


class ReportFooter(Struct):
    """Counts over all files of a run, and the closing lines of the report.

    Attributes:
        severities: the number of findings by severity.
        places: the number of sites of these findings.
        conditional: the number of shown findings that depend on unset options.
        forms: the number of linted files of each kind.
        affected: the number of files with findings.
        targets: the targets of the run, without duplicates.
    """

    severities: Counter[str] = field(default_factory=Counter)
    places: int = 0
    conditional: int = 0
    forms: Counter[str] = field(default_factory=Counter)
    affected: int = 0
    targets: dict[str, None] = field(default_factory=dict)
    _folded: int = 0
    _hidden: list[Finding] = field(default_factory=list)
    _accepted: HiddenFindings = field(default_factory=HiddenFindings)
    _further: list[tuple[Suggestion, str]] = field(default_factory=list)

    def accept(self, models: Sequence[ModelReport]) -> None:
        """Count the suppressed findings of one file, and the file's findings in the baseline."""
        self._accepted.add(models)

    def add(
        self,
        models: Sequence[ModelReport],
        seen: Sequence[Finding],
        conditional: Sequence[Finding],
        *,
        shown: bool,
    ) -> None:
        """Count the findings of one linted file.

        Args:
            models: the reports of the file, one for each target.
            seen: the findings of the file, without duplicates.
            conditional: the findings of the file that depend on unset options, without duplicates.
            shown: true if the report shows the findings in ``conditional``.
        """
        self.forms[models[0].form] += 1
        self.affected += bool(seen)
        self.targets.update(dict.fromkeys(model.target for model in models))
        self._further += further_lines(models)
        self.severities.update(finding.severity for finding in seen)
        self.places += sum(len(finding.sites) for finding in seen)
        self._folded += sum(len(finding.includes) for finding in seen)
        if shown:
            self.conditional += len(conditional)
        else:
            self._hidden += conditional

    @property
    def found(self) -> str:
        """Return the number of findings by severity, in words."""
        return by_severity(self.severities) if self.severities else self._accepted.clean

    @property
    def files(self) -> str:
        """Return, as text, the number of files and the number of files with findings."""
        return files_in_words(self.forms, self.affected)

    def counts(self) -> str:
        """Return the counts in words: ``2 errors at 3 places in 1 of 2 models for TensorRT 10.7``."""
        more = f", {plural(self.conditional, 'conditional finding')}" if self.conditional else ""
        places = f" at {plural(self.places, 'place')}" if self.places else ""
        target = f" for {next(iter(self.targets))}" if len(self.targets) == 1 else ""
        return f"{self.found}{more}{places} in {self.files}{target}"

    @property
    def hidden(self) -> str:
        """Return a line that counts the hidden findings and names the options that show them.

        Return an empty string if no findings are hidden.
        """
        return hidden_line(self._hidden, self._accepted, self._folded)

    def further(self, width: int | None) -> Iterator[str]:
        """Yield lines that suggest the next commands. For several files, yield at most one suggestion.

        Args:
            width: terminal cells of a line; None for unlimited lines.
        """
        for more, line in self._further:
            if more.what == "inputs":
                yield line if width is None or cell_len(line) <= width else clean(more.command)
                return
            if self.forms.total() == 1:
                yield line
