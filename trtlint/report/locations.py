"""Where a finding is shown: one spot for each line of code, shared by all formats for machines.

The sites of a finding that come from one line of Python are one spot, so that a review shows one
remark on the line and not one for each of 24 blocks.  Sites whose line is not in the repository are
shown at the model file.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from trtlint.engine.caveats import Caveat, caveats
from trtlint.engine.finding import SEVERITIES, Finding, ModelReport, Report, Site
from trtlint.engine.targets import merge
from trtlint.files.problem import Problem
from trtlint.lean import dataclass
from trtlint.remote.addresses import is_address
from trtlint.report.accepted import Accepted, gone_notes


@dataclass(frozen=True, slots=True)
class Place:
    """A file, and a line of it where there are lines.

    Attributes:
        path: relative to the repository with ``/`` where the file is in it, else as it was given.
        line: from 1; None for a model file.
        function: of the Python code, empty if unknown.
    """

    path: str
    line: int | None = None
    function: str = ""


@dataclass(frozen=True, slots=True)
class Spot:
    """A finding at one place.

    Attributes:
        place: where to show it.
        model: the model file, as ``Place.path``.
        finding: with the sites of this place only.
        targets: in words, the targets it holds for.
        fingerprint: 16 hex digits, of the finding and these sites; survives a re-export.
        conditional: whether it depends on something not known about the target.
    """

    place: Place
    model: str
    finding: Finding
    targets: tuple[str, ...]
    fingerprint: str
    conditional: bool = False


@dataclass(frozen=True, slots=True)
class Overview:
    """A report as the formats for machines want it.

    Attributes:
        root: the repository; None if there is none.
        models: every linted file once, in the order linted, as ``Place.path``.
        spots: the gravest first, then by place.
        suppressed: the same of findings that are accepted.
        problems: files that could not be linted, each problem once; ``path`` as ``Place.path``.
        skipped: those of the models that were not linted, although that is no error.
        accepted: in one line, how much was found and is not shown; empty for nothing.
        notes: what limited the lint: the model's path, empty for the whole run, and the sentence.
        caveats: by the model's path, what every format shows of it.
    """

    root: Path | None
    models: tuple[str, ...]
    spots: tuple[Spot, ...]
    suppressed: tuple[Spot, ...]
    problems: tuple[Problem, ...]
    skipped: frozenset[str]
    accepted: str
    notes: tuple[tuple[str, str], ...]
    caveats: tuple[tuple[str, Caveat], ...] = ()


def overview(report: Report, root: Path | None, *, show_conditional: bool = False) -> Overview:
    """What to show of a report.

    Args:
        report: with sources located.
        root: the repository that paths are relative to.
        show_conditional: also the findings that depend on something not known about the target.
    """
    models: dict[str, None] = {}
    spots: list[Spot] = []
    suppressed: list[Spot] = []
    problems: dict[Problem, None] = {}
    skipped: set[str] = set()
    accepted = Accepted()
    warned: list[tuple[str, Caveat]] = []
    notes = dict.fromkeys(("", note) for note in report.notes)
    for path, group in groupby(report.models, key=lambda model: model.path):
        shown = relative(path, root)
        models[shown] = None
        linted = list(group)
        spots += _spots(shown, linted, [model.findings for model in linted])
        if show_conditional:
            conditional = _spots(shown, linted, [model.conditional for model in linted])
            spots += (replace(spot, conditional=True) for spot in conditional)
        suppressed += _spots(shown, linted, [_accepted(model) for model in linted])
        accepted.add(linted)
        warned += [(shown, caveat) for caveat in caveats(linted)]
        notes.update(((shown, note), None) for note in gone_notes(linted))
        if all(model.skipped for model in linted):
            skipped.add(shown)
        for model in linted:
            problems.update((replace(problem, path=shown), None) for problem in model.errors)
            notes.update(((shown, note), None) for note in model.notes)
    return Overview(
        root=root,
        models=tuple(models),
        spots=_sorted(spots),
        suppressed=_sorted(suppressed),
        problems=tuple(problems),
        skipped=frozenset(skipped),
        accepted=accepted.line,
        notes=tuple(notes),
        caveats=tuple(warned),
    )


def _accepted(model: ModelReport) -> list[Finding]:
    """The suppressed findings; conditional ones would not have been shown anyway."""
    return [finding for finding in model.suppressed if not finding.depends]


def _sorted(spots: Iterable[Spot]) -> tuple[Spot, ...]:
    def key(spot: Spot) -> tuple[int, str, int, str, str, str]:
        grave = SEVERITIES.index(spot.finding.severity)
        line = spot.place.line or 0
        return grave, spot.place.path, line, spot.finding.rule, spot.model, spot.fingerprint

    return tuple(sorted(spots, key=key))


def _spots(
    path: str, models: list[ModelReport], found: list[tuple[Finding, ...]] | list[list[Finding]]
) -> Iterator[Spot]:
    for item in merge(found):
        targets = tuple(dict.fromkeys(models[index].target for index in item.targets))
        places: dict[Place, list[Site]] = {}
        for site in item.finding.sites:
            places.setdefault(_place(path, models[0].path, site), []).append(site)
        for place, sites in (places or {Place(path): []}).items():
            finding = replace(item.finding, sites=tuple(sites))
            yield Spot(place, path, finding, targets, _fingerprint(item.finding, sites))


def _place(model: str, given: str, site: Site) -> Place:
    source = site.source
    if source is not None and source.path == given:
        return Place(model, source.line)  # a line of the linted script itself
    return Place(source.path, source.line, source.function) if source and source.found else Place(model)


def _fingerprint(finding: Finding, sites: Iterable[Site]) -> str:
    parts = [finding.rule, finding.fingerprint, *sorted(site.fingerprint for site in sites)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def relative(path: str, root: Path | None) -> str:
    """A path relative to the repository, with ``/``; as it is where it lies elsewhere."""
    if is_address(path):
        return path
    given = Path(path)
    if root is None:
        return given.as_posix()
    absolute = Path(os.path.abspath(Path.cwd() / given))  # noqa: PTH100 - links stay as they are named
    return absolute.relative_to(root).as_posix() if absolute.is_relative_to(root) else given.as_posix()
