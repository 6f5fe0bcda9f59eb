"""Findings that are accepted with a reason: in the configuration, or in the model itself.

A model carries its own in ``metadata_props`` under the key ``trtlint.suppress``, as a JSON list::

    [{"rule": "ACC102", "module": "blocks.*.attn", "reason": "measured: no loss", "expires": "2027-03-31"}]

``rule`` (id, id prefix, name or group) and ``reason`` must be there; ``node`` and ``module`` are globs.  An
entry covers a site that all its globs cover; one without globs covers every site.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from trtlint.engine.finding import SUPPRESS_KEY, Finding, ModelReport, Site, Suppression
from trtlint.files.globs import matches_name, matches_path
from trtlint.lean import dataclass
from trtlint.policy import schema
from trtlint.policy.selection import RuleName, covers, removed

_LONGEST = 1 << 20
"""Characters of what a model's metadata holds."""
_MOST = 1000
"""Entries in it."""
_MOST_CHECKED = 1_000_000
"""Entries of a model multiplied by the places of its findings."""
_MOST_COMPARED = 2_000_000_000
"""Characters of a model's globs, multiplied by those of the places that they may have to be compared with."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """One suppression as written.

    Attributes:
        rules: selectors, of which one must cover the rule.
        node: glob of node paths, None for all.
        module: glob of module paths, None for all; a site of unknown module is not covered by one.
        paths: globs of model files, none for all.
        suppression: the reason, where it is written, and until when it holds.
    """

    rules: tuple[str, ...]
    node: str | None
    module: str | None
    paths: tuple[str, ...]
    suppression: Suppression

    @classmethod
    def of(cls, table: dict[str, Any], kind: str, where: str) -> Acceptance:
        """An entry from a table that fits the schema."""
        return cls(
            rules=texts(table["rule"]),
            node=table.get("node"),
            module=table.get("module"),
            paths=texts(table.get("path", ())),
            suppression=Suppression(
                "model" if kind == "model" else "configuration",
                where,
                " ".join(table["reason"].split()),
                table.get("expires"),
            ),
        )

    @property
    def words(self) -> str:
        """The entry as a note names it: ``ACC102 at module blocks.* in vit.onnx``."""
        words = [", ".join(self.rules)]
        words += [
            f"at {what} {glob}" for what, glob in (("node", self.node), ("module", self.module)) if glob
        ]
        return " ".join([*words, *([f"in {', '.join(self.paths)}"] if self.paths else [])])

    def expired(self, today: date) -> bool:
        """Whether its last day is past."""
        expires = self.suppression.expires
        return expires is not None and date.fromisoformat(expires) < today

    def covers_model(self, path: str) -> bool:
        """Whether it is about a model, given relative to the configuration's folder."""
        return not self.paths or any(matches_path(glob, path) for glob in self.paths)

    def covers_rule(self, rule: RuleName) -> bool:
        """Whether it is about a rule."""
        return any(covers(selector, rule) for selector in self.rules)

    def covers_any(self, rules: Iterable[RuleName]) -> bool:
        """Whether it is about one of some rules."""
        return any(self.covers_rule(rule) for rule in rules)

    def covers_site(self, site: Site) -> bool:
        """Whether it is about a place."""
        if self.node is not None and not matches_name(self.node, site.node):
            return False
        return self.module is None or (site.module is not None and matches_name(self.module, site.module))


@dataclass(frozen=True, slots=True)
class Applied:
    """A report after suppression.

    Attributes:
        report: the report.
        used: how many sites each entry has suppressed or would have, had it not expired.
    """

    report: ModelReport
    used: Counter[Acceptance]


def texts(value: str | Iterable[str]) -> tuple[str, ...]:
    """One text or several, as several."""
    return (value,) if isinstance(value, str) else tuple(value)


def apply(
    report: ModelReport, entries: Sequence[Acceptance], today: date, known: Iterable[RuleName] = ()
) -> Applied:
    """Take what is accepted out of the findings of a report.

    Where several entries cover a site, the first that has not expired counts.

    Args:
        report: the report.
        entries: what is accepted.
        today: the date that expiry is compared with.
        known: all rules; what is not among them belongs to no group.
    """
    rules = {rule.id: rule for rule in known} if entries else {}
    used: Counter[Acceptance] = Counter()
    suppressed: list[Finding] = []

    def remaining(findings: Iterable[Finding]) -> tuple[Finding, ...]:
        left = []
        for finding in findings:
            rule = rules.get(finding.rule) or RuleName(finding.rule, finding.name)
            about = [entry for entry in entries if entry.covers_rule(rule)]
            kept, taken = _split(finding, about, today, used)
            suppressed.extend(taken)
            if kept is not None:
                left.append(kept)
        return tuple(left)

    if not entries:
        return Applied(report, used)
    findings, conditional = remaining(report.findings), remaining(report.conditional)
    changed = replace(
        report,
        findings=findings,
        conditional=conditional,
        suppressed=report.suppressed + tuple(suppressed),
    )
    return Applied(changed, used)


def _split(
    finding: Finding, entries: Sequence[Acceptance], today: date, used: Counter[Acceptance]
) -> tuple[Finding | None, list[Finding]]:
    """What is left of a finding, None for nothing, and a part for each entry that covers sites.

    All entries are about its rule.
    """
    if not entries:
        return finding, []
    left: list[Site] = []
    taken: dict[Acceptance, list[Site]] = {}
    for site in finding.sites:
        covering = [entry for entry in entries if entry.covers_site(site)]
        used.update(covering)
        valid = next((entry for entry in covering if not entry.expired(today)), None)
        (left if valid is None else taken.setdefault(valid, [])).append(site)
    parts = [
        replace(finding, sites=tuple(sites), suppression=entry.suppression) for entry, sites in taken.items()
    ]
    if not parts:
        return finding, []
    return (replace(finding, sites=tuple(left)) if left else None), parts


def written_in(report: ModelReport) -> tuple[tuple[Acceptance, ...], str | None]:
    """The entries that a model carries, and a note where they cannot be read.

    What cannot be read suppresses nothing.
    """
    if not report.suppress:
        return (), None
    try:
        return read(report.suppress, report.path), None
    except ValueError as error:
        return (), f"the metadata {SUPPRESS_KEY} is ignored: {error}"


def comparable(entries: Sequence[Acceptance], reports: Iterable[ModelReport]) -> bool:
    """Whether a model's entries can be compared with its findings in little time.

    A model can have as many findings with as long names as it likes.
    """
    globs = sum(len(glob) for entry in entries for glob in (entry.node, entry.module) if glob is not None)
    places = [
        len(site.node) + len(site.module or "")
        for report in reports
        for finding in (*report.findings, *report.conditional)
        for site in finding.sites
    ]
    return len(entries) * len(places) <= _MOST_CHECKED and globs * sum(places) <= _MOST_COMPARED


def read(text: str, where: str) -> tuple[Acceptance, ...]:
    """The entries in the value of the metadata key.

    Raises:
        ValueError: it is no list of such entries.
    """
    return tuple(Acceptance.of(table, "model", where) for table in tables(text))


def tables(text: str) -> list[dict[str, Any]]:
    """The same as JSON data.

    Raises:
        ValueError: it is no list of such entries.
    """
    if len(text) > _LONGEST:
        raise ValueError(f"it is longer than {_LONGEST} characters")
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    if not isinstance(loaded, list) or len(loaded) > _MOST:
        raise ValueError(f"it is not a list of at most {_MOST} entries")
    for number, table in enumerate(loaded):
        try:
            schema.check(table, "suppression")
        except schema.SchemaError as error:
            raise ValueError(f"entry {number}: {error}") from None
        if "path" in table:
            raise ValueError(f"entry {number}: path: a model's own entries are about that model alone")
    return loaded


def notes(
    entries: Iterable[Acceptance],
    used: Counter[Acceptance],
    ran: Iterable[RuleName],
    known: Iterable[RuleName],
    today: date,
) -> list[str]:
    """What to tell the user of entries that have expired or that nothing needs.

    Args:
        entries: those that were applied.
        used: how many sites each has covered.
        ran: the rules that ran; an entry about others is not unused.
        known: all rules; an entry about none of them is, unless they were removed, which is told apart.
        today: the date that expiry is compared with.
    """
    ran, known = list(ran), list(known)
    found = []
    for entry in dict.fromkeys(entries):
        if used[entry]:
            if entry.expired(today):
                found.append(f"the suppression of {entry.words} expired on {entry.suppression.expires}")
        elif entry.covers_any(ran) or not (entry.covers_any(known) or all(map(removed, entry.rules))):
            found.append(f"the suppression of {entry.words} is unused")
    return found
