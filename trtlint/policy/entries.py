"""Match the entries of a baseline to the sites of the findings about a model."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from trtlint.engine.finding import Finding, ModelReport, Site, StaleBaselineEntry

_KEYS = ("model", "rule", "fingerprint", "module", "node")


class KnownSite(Struct, frozen=True):
    """An entry of a baseline: one site of one rule in one model."""

    model: str
    rule: str
    fingerprint: str
    node: str
    module: str | None = None

    @property
    def place(self) -> str:
        """Return the module of the site, or the node if the module is unknown."""
        return self.module or self.node

    @property
    def line(self) -> str:
        """Return the entry as one line of JSON."""
        return json.dumps({key: getattr(self, key) for key in _KEYS})


Sites = Mapping[tuple[str, str], Site]
"""Sites by rule and fingerprint, in the order of the findings."""


def sites_of(reports: Iterable[ModelReport], *, conditional: bool) -> Sites:
    """Return the sites of all findings, for all targets, by rule and fingerprint.

    If ``conditional`` is true, include suppressed findings and findings that depend on unset options.
    """

    def findings() -> Iterator[Finding]:
        for report in reports:
            yield from report.findings
            if conditional:
                yield from report.conditional
                yield from report.suppressed

    return {(finding.rule, site.fingerprint): site for finding in findings() for site in finding.sites}


def pair(entries: Sequence[KnownSite], sites: Sites) -> dict[KnownSite, tuple[str, str]]:
    """Match the entries of a baseline to sites. Return the rule and the fingerprint of each entry's site."""
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
        dead_ends: set[str] = set()
        for entry in listed[rule]:
            if (rule, entry.fingerprint) not in owners and entry.place:
                _match_by_place(entry, at[rule], sites, owners, dead_ends)
    same = {entry: (entry.rule, entry.fingerprint) for entry in entries}
    return {entry: key for entry, key in same.items() if key in sites} | {
        entry: key for key, entry in owners.items()
    }


def _match_by_place(
    unmatched: KnownSite,
    at: Mapping[str, Sequence[tuple[str, str]]],
    sites: Sites,
    owners: dict[tuple[str, str], KnownSite],
    dead_ends: set[str],
) -> None:
    """Match an entry by its place (module or node), because no site has the fingerprint of the entry.

    Equal blocks have numbered fingerprints. If a block is added, each block after it gets the next number. So
    the fingerprint of an entry can belong to the neighbouring block.

    All sites at the place may already be matched to other entries. Then one of these entries must move to
    another site at its own place. If that site is matched, too, the entry of that site must also move. A
    breadth-first search finds the shortest chain of moves.

    Args:
        unmatched: the entry.
        at: the sites of the rule, by place.
        sites: all sites.
        owners: the matched entry of each site; this function changes the mapping.
        dead_ends: places from which the search finds no free site; this function adds places.
    """
    wanted_site: dict[str, tuple[str, str]] = {}
    queue, seen = deque([unmatched.place]), {unmatched.place}
    while queue and unmatched.place not in dead_ends:
        place = queue.popleft()
        for site in at.get(place, ()):
            if site not in owners:
                while place != unmatched.place:
                    before = wanted_site[place]
                    owners[site] = owners[before]
                    site, place = before, _place(sites[before])
                owners[site] = unmatched
                return
            other = owners[site].place
            if other not in seen and other not in dead_ends:
                seen.add(other)
                wanted_site[other] = site
                queue.append(other)
    dead_ends |= seen


def _place(site: Site) -> str:
    return site.module or site.node


def relabelled(entry: KnownSite, site: Site | None) -> KnownSite:
    """Return the entry with the current module and node of its site."""
    return entry if site is None else replace(entry, module=site.module, node=site.node)


def gone_entries(
    lost: Sequence[KnownSite], entries: Sequence[KnownSite], sites: Sites
) -> tuple[StaleBaselineEntry, ...]:
    """Describe the entries that match no site.

    Equal blocks have numbered fingerprints. If any of the blocks is fixed, the highest number disappears. So
    the fingerprint does not show which block was fixed. The place of an entry (module or node) shows it:
    the place of the fixed block has no site left.
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
