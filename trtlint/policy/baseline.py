"""Baselines: the findings that a team has and knows, so that only new ones count.

An entry is one site of one rule in one model, named by its fingerprint, which survives a re-export.
Module path and node are there for who reads the file, and to recognise a block that was rewritten or
whose surroundings were: a site without an entry is taken for the one of an entry without a site that
has the same rule and module, or the same node where no module is known.

The file is JSON with one entry a line, sorted, so that a change of a model reads as the lines that
came and went.  Paths of models are relative to the file's folder.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from trtlint.engine.finding import Finding, Gone, ModelReport, Site, Suppression
from trtlint.errors import FileError
from trtlint.files.limits import LimitError, limit_work
from trtlint.files.regular import open_regular, read_text
from trtlint.files.replace import replace_text
from trtlint.knowledge.redirects import current
from trtlint.lean import dataclass
from trtlint.policy.config import relative, shown

SCHEMA = "trtlint.baseline/1"
_MOST_BYTES = 64 << 20
"""Bytes of a baseline, about 400,000 places.

JSON that is no baseline can take 25 times its size in memory, one of a kind takes four times.
"""
_HEAD = 512
_KEYS = ("model", "rule", "fingerprint", "module", "node")


class BaselineError(FileError, ValueError):
    """A baseline that cannot be used; the text begins with the file."""


@dataclass(frozen=True, slots=True)
class KnownSite:
    """One known site."""

    model: str
    rule: str
    fingerprint: str
    module: str | None = None
    node: str = ""

    @property
    def place(self) -> str:
        """Where it was, for the reader."""
        return self.module or self.node

    @property
    def line(self) -> str:
        """The entry as a line of the file."""
        return json.dumps({key: getattr(self, key) for key in _KEYS})


class Baseline:
    """The entries of one baseline file, and what a run finds of them.

    Args:
        file: the file; paths of models are relative to its folder.
        entries: what it holds.
    """

    def __init__(self, file: Path, entries: Iterable[KnownSite] = ()) -> None:
        self.file = file
        self._entries: dict[str, list[KnownSite]] = defaultdict(list)
        self._written: set[str] = set()
        for entry in entries:
            self._written.add(entry.rule)
            self._entries[entry.model].append(replace(entry, rule=current(entry.rule)))
        self._known = Suppression("baseline", shown(file))
        self._kept: dict[str, list[KnownSite]] = {}

    @classmethod
    def read(cls, file: Path) -> Baseline:
        """Read a baseline file.

        Raises:
            BaselineError: it is not there, or is none.
        """
        try:
            with limit_work(file):
                return cls._parsed(file)
        except LimitError as error:
            raise BaselineError(f"{shown(file)}: not a baseline: {error.message}") from None

    @classmethod
    def _parsed(cls, file: Path) -> Baseline:
        try:
            document = json.loads(read_text(file, _MOST_BYTES))
        except FileNotFoundError:
            raise BaselineError(
                f"{shown(file)}: no such baseline; write it with --write-baseline {shown(file)}"
            ) from None
        except OSError as error:
            raise BaselineError(f"{shown(file)}: {error.strerror or error}") from None
        except (ValueError, RecursionError) as error:
            raise BaselineError(f"{shown(file)}: not a baseline: {error}") from None
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise BaselineError(f"{shown(file)}: not a baseline: its schema is not {SCHEMA!r}")
        tables = document.get("entries")
        if not isinstance(tables, list):
            raise BaselineError(f"{shown(file)}: not a baseline: it has no list of entries")
        return cls(file, [_entry(file, number, table) for number, table in enumerate(tables)])

    @property
    def rules(self) -> list[str]:
        """The ids that its entries had when it was read."""
        return sorted(self._written)

    @property
    def models(self) -> list[str]:
        """The models that it has entries for, relative to its folder."""
        return sorted(self._entries)

    def __len__(self) -> int:
        return sum(map(len, self._entries.values()))

    def key(self, model: Path) -> str:
        """How a model is called in the file."""
        return relative(model, self.file.parent)

    def apply(
        self, model: Path, reports: Sequence[ModelReport], ran: frozenset[str], known: frozenset[str]
    ) -> tuple[ModelReport, ...]:
        """Take what is known out of the findings of a model, and say what is gone.

        Args:
            model: the model's file.
            reports: its reports, one for each target; an entry counts for all of them.
            ran: ids of the rules that ran.
            known: ids of all rules; the entry of a rule that did not run is not gone, that of one
                that no longer exists is.
        """
        if any(report.errors or report.skipped for report in reports):
            return tuple(reports)
        entries = self._entries.get(self.key(model), [])
        sites = _sites(reports, conditional=True)
        found = _pair(entries, sites)
        named = {pair: entry for entry, pair in found.items()}
        lost = [
            entry
            for entry in entries
            if entry not in found and (entry.rule in ran or entry.rule not in known)
        ]
        dropped = set(lost)
        self._kept[self.key(model)] = [
            _relabelled(entry, sites.get(found[entry])) if entry in found else entry
            for entry in entries
            if entry not in dropped
        ]
        gone = _gone(lost, entries, sites)
        return tuple(replace(self._split(report, frozenset(named)), gone=gone) for report in reports)

    def record(self, model: Path, reports: Sequence[ModelReport]) -> tuple[ModelReport, ...]:
        """Take all findings of a model as known; none of those that are suppressed otherwise."""
        key = self.key(model)
        sites = _sites(reports, conditional=False)
        self._entries[key] = [
            KnownSite(key, rule, fingerprint, site.module, site.node)
            for (rule, fingerprint), site in sites.items()
        ]
        return tuple(self._split(report, frozenset(sites)) for report in reports)

    def write(self, protected: Iterable[Path] = ()) -> None:
        """Write the file.

        Args:
            protected: files that must not be replaced.

        Raises:
            OSError: it cannot be written.
            BaselineError: it would be too long to be read again.
        """
        entries = sorted(
            (entry for entries in self._entries.values() for entry in entries),
            key=lambda entry: (entry.model, entry.rule, entry.fingerprint),
        )
        lines = ",\n".join(f"    {entry.line}" for entry in entries)
        body = f"[\n{lines}\n  ]" if lines else "[]"
        text = f'{{\n  "schema": {json.dumps(SCHEMA)},\n  "entries": {body}\n}}\n'
        if len(text) > _MOST_BYTES:  # all of it is ASCII
            raise BaselineError(
                f"{shown(self.file)}: {len(entries):,} places take more than {_MOST_BYTES >> 20} MiB, "
                "the most that a baseline holds: write one for each folder of models"
            )
        replace_text(self.file, text, protected)

    def shrink(self, protected: Iterable[Path] = ()) -> int:
        """Drop what is gone, models that no longer exist included, and write the file if that changes it.

        No entry is added and no fingerprint changed; the places of the others are brought up to date.

        Args:
            protected: files that must not be replaced.

        Returns:
            How many entries were dropped.

        Raises:
            OSError: the file cannot be written.
        """
        before = dict(self._entries)
        size = len(self)
        missing = set(self.missing())
        for model in before:
            if model in missing:
                del self._entries[model]
            else:
                self._entries[model] = self._kept.get(model, before[model])
        if self._entries != before:
            self.write(protected)
        return size - len(self)

    def missing(self) -> list[str]:
        """The models that it has entries for and that no longer exist."""
        return [model for model in self.models if not os.path.exists(self.file.parent / model)]  # noqa: PTH110

    def _split(self, report: ModelReport, known: frozenset[tuple[str, str]]) -> ModelReport:
        new: list[Finding] = []
        old: list[Finding] = []
        for finding in report.findings:
            parts: tuple[list[Site], list[Site]] = [], []
            for site in finding.sites:
                parts[(finding.rule, site.fingerprint) in known].append(site)
            if parts[0]:
                new.append(finding if not parts[1] else replace(finding, sites=tuple(parts[0])))
            if parts[1]:
                old.append(replace(finding, sites=tuple(parts[1]), suppression=self._known))
        return replace(report, findings=tuple(new), suppressed=report.suppressed + tuple(old))


def require_like_baseline(file: Path) -> None:
    """Refuse a file that is there and does not begin as a baseline does: an option forgot its value.

    One that has been damaged or merged by halves may be written anew.

    Raises:
        BaselineError: the file is something else.
        OSError: it cannot be read.
    """
    try:
        with open_regular(file) as there:
            head = there.read(_HEAD).strip()
    except FileNotFoundError:
        return
    if head and not head.startswith((b"{", b"<<<<<<<")):
        raise BaselineError("this is no baseline")


_Sites = Mapping[tuple[str, str], Site]
"""Sites by rule and fingerprint, in the order found."""


def _entry(file: Path, number: int, table: Any) -> KnownSite:
    if not isinstance(table, dict) or not all(
        isinstance(table.get(key), str) for key in ("model", "rule", "fingerprint", "node")
    ):
        raise BaselineError(f"{shown(file)}: not a baseline: entry {number} lacks text for one of its keys")
    module = table.get("module")
    if module is not None and not isinstance(module, str):
        raise BaselineError(f"{shown(file)}: not a baseline: the module of entry {number} is not text")
    return KnownSite(table["model"], table["rule"], table["fingerprint"], module, table["node"])


def _sites(reports: Iterable[ModelReport], *, conditional: bool) -> _Sites:
    """The sites of all targets; with ``conditional``, also those that may be there or are suppressed."""

    def findings() -> Iterator[Finding]:
        for report in reports:
            yield from report.findings
            if conditional:
                yield from report.conditional
                yield from report.suppressed

    return {(finding.rule, site.fingerprint): site for finding in findings() for site in finding.sites}


def _pair(entries: Sequence[KnownSite], sites: _Sites) -> dict[KnownSite, tuple[str, str]]:
    """For each entry that is still there, rule and fingerprint of its site."""
    owners = {
        (entry.rule, entry.fingerprint): entry
        for entry in entries
        if (entry.rule, entry.fingerprint) in sites
    }
    listed = _by_rule(entries)
    free = {rule for rule, _ in sites.keys() - owners.keys()} & listed.keys()
    at: dict[str, dict[str, list[tuple[str, str]]]] = {rule: defaultdict(list) for rule in free}
    for key, site in sites.items():
        if key[0] in free:
            at[key[0]][_place(site)].append(key)
    for rule in free:
        barren: set[str] = set()
        for entry in listed[rule]:
            if (rule, entry.fingerprint) not in owners and entry.place:
                _seat(entry, at[rule], sites, owners, barren)
    same = {entry: (entry.rule, entry.fingerprint) for entry in entries}
    return {entry: key for entry, key in same.items() if key in sites} | {
        entry: key for key, entry in owners.items()
    }


def _seat(
    lost: KnownSite,
    at: Mapping[str, Sequence[tuple[str, str]]],
    sites: _Sites,
    owners: dict[tuple[str, str], KnownSite],
    barren: set[str],
) -> None:
    """Give an entry whose fingerprint is gone the site at its place.

    Where one more of several equal blocks is added, the numbers of the others move on, and the
    fingerprint of one is then what that of its neighbour was.  So a site that has an owner is given up
    by it if that finds one at its own place, and so on until a site is free.

    Args:
        lost: the entry.
        at: by place, the sites of its rule.
        sites: the sites.
        owners: by site, its entry; changed.
        barren: places from which no free site is reached; more are added.
    """
    given_up: dict[str, tuple[str, str]] = {}
    queue, seen = deque([lost.place]), {lost.place}
    while queue and lost.place not in barren:
        place = queue.popleft()
        for site in at.get(place, ()):
            if site not in owners:
                while place != lost.place:
                    before = given_up[place]
                    owners[site] = owners[before]
                    site, place = before, _place(sites[before])
                owners[site] = lost
                return
            other = owners[site].place
            if other not in seen and other not in barren:
                seen.add(other)
                given_up[other] = site
                queue.append(other)
    barren |= seen


def _place(site: Site) -> str:
    return site.module or site.node


def _relabelled(entry: KnownSite, site: Site | None) -> KnownSite:
    return entry if site is None else replace(entry, module=site.module, node=site.node)


def _gone(lost: Sequence[KnownSite], entries: Sequence[KnownSite], sites: _Sites) -> tuple[Gone, ...]:
    """What to say of entries that are gone.

    Of equal blocks the fingerprints are numbered, so the entry without a site is the last one's
    whichever block was mended; the places that no site has any more tell which.
    """
    still = {(rule, _place(site)) for (rule, _), site in sites.items()}
    listed = _by_rule(entries)
    gone = []
    for rule, those in _by_rule(lost).items():
        left = [entry.place for entry in listed[rule] if (rule, entry.place) not in still]
        places = left if len(left) == len(those) else [entry.place for entry in those]
        gone += [Gone(rule, entry.fingerprint, place) for entry, place in zip(those, places, strict=True)]
    return tuple(sorted(gone, key=lambda g: (g.rule, g.place, g.fingerprint)))


def _by_rule(entries: Iterable[KnownSite]) -> dict[str, list[KnownSite]]:
    found: dict[str, list[KnownSite]] = defaultdict(list)
    for entry in entries:
        found[entry.rule].append(entry)
    return found
