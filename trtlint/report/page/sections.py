"""Sections of the HTML page: the findings of each file for all targets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from trtlint.engine.finding import CONFIDENCES, SEVERITIES, Finding, ModelReport
from trtlint.engine.targets import MergedFinding, labels, merge, seen_for, span
from trtlint.files.problem import Problem
from trtlint.report.formats import Run
from trtlint.report.locations import relative
from trtlint.report.page.card import CardEntry
from trtlint.report.page.markup import identifier


class Section(Struct, frozen=True):
    """The section of the HTML page about one file.

    Attributes:
        path: the path of the file as the user gave it.
        shown: the path on the page.
        id: id of the HTML element.
        reports: one report for each target.
        entries: the findings of the file, the most severe first.
    """

    path: str
    shown: str
    id: str
    reports: tuple[ModelReport, ...]
    entries: tuple[CardEntry, ...]

    @property
    def target(self) -> str:
        """The targets, as text."""
        return span([report.target for report in self.reports])

    @property
    def counted(self) -> Counter[str]:
        """The number of findings by severity.

        Findings that depend on unset options are counted separately.
        """
        return Counter(entry.severity for entry in self.entries)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return the errors that prevented trtlint from linting the file."""
        return tuple(dict.fromkeys(problem for report in self.reports for problem in report.errors))

    @property
    def gravity(self) -> tuple[int, ...]:
        """Return a sort key: sections with many errors come first, then unreadable files."""
        return (*(-self.counted[severity] for severity in SEVERITIES), -len(self.problems))


def sections(run: Run) -> list[Section]:
    """Return the sections about the files of a run, the file with the most errors first."""
    return sorted(_sections(run), key=lambda section: section.gravity)


def _sections(run: Run) -> Iterator[Section]:
    taken: Counter[str] = Counter()
    groups = groupby(run.report.models, key=lambda report: report.path)
    for number, (path, group) in enumerate(groups, 1):
        reports = tuple(group)
        shown = relative(path, run.style.root)
        names = labels([report.target for report in reports])
        found = [(item, False) for item in merge([report.findings for report in reports])]
        if run.style.show_conditional:
            found += [(item, True) for item in merge([report.conditional for report in reports])]
        found.sort(key=lambda pair: _rank(pair[0].finding, pair[1]))
        entries = []
        for item, conditional in found:
            anchor = identifier(f"{item.finding.rule}-{item.finding.fingerprint[:8]}")
            taken[anchor] += 1
            anchor += f"-{taken[anchor]}" if taken[anchor] > 1 else ""
            entries.append(CardEntry(item.finding, _seen(item, names), anchor, shown, conditional))
        yield Section(path, shown, f"model-{number}", reports, tuple(entries))


def _seen(item: MergedFinding, names: Sequence[str]) -> str:
    return seen_for(item.targets, names) if len(names) > 1 else ""


def _rank(finding: Finding, conditional: bool) -> tuple[bool, int, int, float, str]:
    """Return a sort key: severe findings come first, then confident findings, then slow layers."""
    grave, sure = SEVERITIES.index(finding.severity), CONFIDENCES.index(finding.confidence)
    return conditional, grave, sure, -(finding.ms or 0.0), finding.rule


def ranked(found: Sequence[Section]) -> list[tuple[Section, CardEntry]]:
    """Return the findings of all files with the section of each, the most severe first."""
    pairs = [(section, entry) for section in found for entry in section.entries]
    return sorted(pairs, key=lambda pair: _rank(pair[1].finding, pair[1].conditional))
