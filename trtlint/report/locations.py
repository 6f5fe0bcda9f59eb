"""Source lines and model files at which formats show findings, and their relative paths.

If the nodes at several sites of a finding were exported from the same line of Python, these sites form one
spot. For example, a code review then has one comment on this line instead of 24 comments for 24 blocks. If a
site has no line of Python in the repository, the finding is shown at the model file.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from trtlint.engine.caveats import Caveat, caveats
from trtlint.engine.finding import SEVERITIES, Finding, ModelReport, Report, Site
from trtlint.engine.targets import merge
from trtlint.files.problem import Problem
from trtlint.model.source import Source
from trtlint.remote.addresses import is_address
from trtlint.report.counts import HiddenFindings, gone_notes


class Place(Struct, frozen=True):
    """A file at which a finding is shown, and a line of the file if it is a text file.

    Attributes:
        path: the path relative to the repository, with ``/``. A path outside the repository stays as the user
            wrote it.
        line: line number from 1; None for a model file.
        function: the Python function; empty if unknown.
    """

    path: str
    line: int | None = None
    function: str = ""


class Spot(Struct, frozen=True):
    """A finding at one source line, or at the model file.

    Attributes:
        place: the file and line at which the finding is shown.
        model: the model file, written like :attr:`Place.path`.
        finding: the finding, with only the sites at ``place``.
        targets: the targets of the finding.
        fingerprint: 16 hex digits for the finding and its sites at ``place``; stable across exports.
        conditional: true if the finding depends on unset options.
    """

    place: Place
    model: str
    finding: Finding
    targets: tuple[str, ...]
    fingerprint: str
    conditional: bool = False


class Overview(Struct, frozen=True):
    """The findings of a run by source line or model file, for machine-readable formats.

    Attributes:
        root: the repository; None if there is none.
        models: the linted files in order, written like :attr:`Place.path`.
        spots: the findings, the most severe first, then by file and line.
        suppressed: the suppressed findings, in the same order.
        problems: files that could not be linted, with paths like :attr:`Place.path`.
        skipped: models that were skipped without an error.
        accepted: one line about hidden findings; empty if there are none.
        clean: the text for a run that has no findings to show.
        notes: pairs of a model path and a note. A note about the whole run has an empty path.
        caveats: pairs of a model path and a caveat.
        forms: the number of files of each kind.
    """

    root: Path | None
    models: tuple[str, ...]
    spots: tuple[Spot, ...]
    suppressed: tuple[Spot, ...]
    problems: tuple[Problem, ...]
    skipped: frozenset[str]
    accepted: str
    clean: str
    notes: tuple[tuple[str, str], ...]
    caveats: tuple[tuple[str, Caveat], ...] = ()
    forms: Counter[str] = field(default_factory=Counter)


def overview(report: Report, root: Path | None, *, show_conditional: bool = False) -> Overview:
    """Group the findings of a report by source line or model file.

    Args:
        report: the report; its sites have source locations.
        root: the repository, for relative paths.
        show_conditional: true to include findings that depend on unset options.
    """
    models: dict[str, str] = {}
    spots: list[Spot] = []
    suppressed: list[Spot] = []
    problems: dict[Problem, None] = {}
    skipped: set[str] = set()
    accepted = HiddenFindings()
    warned: list[tuple[str, Caveat]] = []
    notes = dict.fromkeys(("", note) for note in report.notes)
    for path, group in groupby(report.models, key=lambda model: model.path):
        shown = relative(path, root)
        linted = list(group)
        models[shown] = linted[0].form
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
            # A problem can be about a build file of the model.
            problems.update(
                (replace(problem, path=relative(problem.path, root)), None) for problem in model.errors
            )
            notes.update(((shown, note), None) for note in model.notes)
    return Overview(
        root=root,
        models=tuple(models),
        spots=_sorted(spots),
        suppressed=_sorted(suppressed),
        problems=tuple(problems),
        skipped=frozenset(skipped),
        accepted=accepted.line,
        clean=accepted.clean,
        notes=tuple(notes),
        caveats=tuple(warned),
        forms=Counter(models.values()),
    )


def _accepted(model: ModelReport) -> list[Finding]:
    """Return the suppressed findings that hold for every value of the options that are not given."""
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
    """Return a path relative to the repository, with ``/``.

    A path outside the repository is returned unchanged.
    """
    if is_address(path):
        return path
    given = Path(path)
    if root is None:
        return given.as_posix()
    absolute = Path(os.path.abspath(Path.cwd() / given))  # noqa: PTH100 - links stay as they are named
    return absolute.relative_to(root).as_posix() if absolute.is_relative_to(root) else given.as_posix()


def shown_path(source: Source, root: Path | None) -> str:
    """Return the path of a source file, relative to the current folder.

    If the file was not found, return the path in ``source``.

    Args:
        source: a position: the path of a source file and a line number. If the file is in the repository,
            the path is relative to the repository.
        root: the repository; None if there is none.
    """
    if not source.found or root is None:
        return source.path
    try:
        return Path(os.path.relpath(root / source.path)).as_posix()
    except (OSError, ValueError):  # the current folder was deleted or is on another drive
        return source.path


def shown_source(source: Source, root: Path | None) -> str:
    """Format a source line with a path relative to the current folder: ``../net.py:17 in forward``."""
    return source.at(shown_path(source, root))
