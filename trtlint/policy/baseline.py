"""Baselines: known findings of a team, so that only new ones count.

An entry is one site of one rule in one model. Its fingerprint survives a re-export. The module path and the
node help readers. They also identify a block after a rewrite. Then a fingerprint matches no entry, so trtlint
compares the rule and the module. If the module is unknown, it compares the node.

The file is JSON with one sorted entry per line, so that diffs show the added and removed sites.  Model
paths are relative to the file's folder.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from trtlint.engine.finding import Finding, ModelReport, Site, StaleBaselineEntry, Suppression
from trtlint.errors import FileError
from trtlint.files.limits import LimitError, limit_work
from trtlint.files.regular import read_text
from trtlint.files.replace import replace_text
from trtlint.knowledge.redirects import current
from trtlint.policy.config import relative, shown
from trtlint.policy.renames import Renames

SCHEMA = "trtlint.baseline/1"
_MOST_BYTES = 64 << 20
"""Largest baseline in bytes, about 400,000 sites.

A real baseline takes four times its size in memory, but other JSON can take 25 times.
"""
_KEYS = ("model", "rule", "fingerprint", "module", "node")


class BaselineError(FileError, ValueError):
    """An unusable baseline; the text begins with the file."""


class KnownSite(Struct, frozen=True):
    """One known site."""

    model: str
    rule: str
    fingerprint: str
    module: str | None = None
    node: str = ""

    @property
    def place(self) -> str:
        """Module or node of the site, for readers."""
        return self.module or self.node

    @property
    def line(self) -> str:
        """The entry as a line of the file."""
        return json.dumps({key: getattr(self, key) for key in _KEYS})


class Baseline:
    """The entries of one baseline file, and their matches in a run.

    Args:
        file: the file; model paths are relative to its folder.
        entries: its entries.
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
        self._renames: Renames[KnownSite] | None = None
        self._moved = False

    @classmethod
    def read(cls, file: Path) -> Baseline:
        """Read a baseline file.

        Raises:
            BaselineError: the file is missing or not a baseline.
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
                f"{shown(file)}: no such baseline; create it with --write-baseline {shown(file)}"
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
        """Rule ids of the entries, as written in the file."""
        return sorted(self._written)

    @property
    def models(self) -> list[str]:
        """Models with entries, relative to the file's folder."""
        return sorted(self._entries)

    def __len__(self) -> int:
        return sum(map(len, self._entries.values()))

    def key(self, model: Path) -> str:
        """Name of a model in the file."""
        return relative(model, self.file.parent)

    def apply(
        self, model: Path, reports: Sequence[ModelReport], ran: frozenset[str], known: frozenset[str]
    ) -> tuple[ModelReport, ...]:
        """Remove known findings from the reports of a model, and add the stale entries to the reports.

        Args:
            model: the model's file.
            reports: its reports, one for each target; an entry applies to all of them.
            ran: ids of the rules that ran. Only entries of these rules or of removed rules can be stale.
            known: ids of all rules.
        """
        if any(report.errors or report.skipped for report in reports):
            return tuple(reports)
        sites = _sites(reports, conditional=True)
        former = self._former(self.key(model), reports, sites, ran)
        if former is not None:
            note = f"renamed from {former} since the baseline; --update-baseline records the new path"
            reports = [replace(report, notes=(*report.notes, note)) for report in reports]
        entries = self._entries.get(self.key(model), [])
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

    def _former(
        self, key: str, reports: Sequence[ModelReport], sites: _Sites, ran: frozenset[str]
    ) -> str | None:
        """Move entries from the former path of a model without entries; return that path, or None."""
        if self._entries.get(key) or not sites:
            return None
        if self._renames is None:
            self._renames = Renames(self._entries, self._exists)
        former = self._renames.take(_sites(reports, conditional=False).keys(), sites.keys(), ran)
        if former is not None:
            self._entries[key] = [replace(entry, model=key) for entry in self._entries.pop(former)]
            self._moved = True
        return former

    def record(self, model: Path, reports: Sequence[ModelReport]) -> tuple[ModelReport, ...]:
        """Add all findings of a model to the baseline, except findings that a suppression covers."""
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
            OSError: the file cannot be written.
            BaselineError: the baseline exceeds the size limit.
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
                f"{shown(self.file)}: {len(entries):,} sites exceed the limit of {_MOST_BYTES >> 20} MiB; "
                "write one baseline for each folder of models"
            )
        replace_text(self.file, text, protected)

    def shrink(self, protected: Iterable[Path] = ()) -> int:
        """Remove stale entries, including those of deleted models; write the file if it changed.

        This adds no entry and changes no fingerprint, but it updates modules and nodes.

        Args:
            protected: files that must not be replaced.

        Returns:
            Number of removed entries.

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
        if self._entries != before or self._moved:
            self.write(protected)
        return size - len(self)

    def missing(self) -> list[str]:
        """Models with entries whose files no longer exist."""
        return [model for model in self.models if not self._exists(model)]

    def _exists(self, model: str) -> bool:
        return os.path.exists(self.file.parent / model)  # noqa: PTH110

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
    """Return the sites of all targets; with ``conditional``, also conditional and suppressed sites."""

    def findings() -> Iterator[Finding]:
        for report in reports:
            yield from report.findings
            if conditional:
                yield from report.conditional
                yield from report.suppressed

    return {(finding.rule, site.fingerprint): site for finding in findings() for site in finding.sites}


def _pair(entries: Sequence[KnownSite], sites: _Sites) -> dict[KnownSite, tuple[str, str]]:
    """Match entries to the rules and fingerprints of sites."""
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
    """Match an entry without a fingerprint match to a site at its place.

    Fingerprints number equal blocks. If a block is added, later blocks get the next number, and each
    fingerprint moves to the neighbouring block. So an entry that owns a site hands it over if another site at
    its own place is free. The search ends at a free site.

    Args:
        lost: the entry.
        at: sites of its rule by place.
        sites: all sites.
        owners: the entry of each site. The function changes this mapping.
        barren: places from which no free site is reachable. The function adds to this set.
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


def _gone(
    lost: Sequence[KnownSite], entries: Sequence[KnownSite], sites: _Sites
) -> tuple[StaleBaselineEntry, ...]:
    """Describe stale entries.

    Fingerprints number equal blocks. If any of these blocks is fixed, the fingerprint with the last number
    disappears. The place that has no site any more identifies the fixed block.
    """
    still = {(rule, _place(site)) for (rule, _), site in sites.items()}
    listed = _by_rule(entries)
    gone = []
    for rule, those in _by_rule(lost).items():
        left = [entry.place for entry in listed[rule] if (rule, entry.place) not in still]
        places = left if len(left) == len(those) else [entry.place for entry in those]
        gone += [
            StaleBaselineEntry(rule, entry.fingerprint, place)
            for entry, place in zip(those, places, strict=True)
        ]
    return tuple(sorted(gone, key=lambda g: (g.rule, g.place, g.fingerprint)))


def _by_rule(entries: Iterable[KnownSite]) -> dict[str, list[KnownSite]]:
    found: dict[str, list[KnownSite]] = defaultdict(list)
    for entry in entries:
        found[entry.rule].append(entry)
    return found
