"""Suppressions: accepted findings with a reason, in the configuration or in the model.

A model stores suppressions in ``metadata_props`` under the key ``trtlint.suppress``, as a JSON list::

    [{"rule": "ACC102", "module": "blocks.*.attn", "reason": "measured: no loss", "expires": "2027-03-31"}]

``rule`` (id, id prefix, name or group) and ``reason`` are required.  ``node`` and ``module`` are globs.  An
entry suppresses a finding at a site if all globs match.  An entry without globs suppresses the findings at
all sites.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from trtlint.engine.finding import SUPPRESS_KEY, Finding, ModelReport, Site, Suppression
from trtlint.files.globs import matches_name, matches_path
from trtlint.policy import schema
from trtlint.policy.selection import RuleName, covers, removed

_LONGEST = 1 << 20
"""Largest number of characters of the metadata value."""
_MOST = 1000
"""Maximum number of suppressions in the metadata of a model."""
_MOST_CHECKED = 1_000_000
"""Limit for the number of suppressions in a model, multiplied by the number of sites of its findings."""
_MOST_COMPARED = 2_000_000_000
"""Limit for the characters in all globs of a model, multiplied by the characters in all its site names."""


class Acceptance(Struct, frozen=True):
    """One suppression in the configuration or in the metadata of a model.

    Attributes:
        rules: selectors. At least one selector must match the rule of a finding.
        node: glob that node paths must match; None for all nodes.
        module: glob that module paths must match; None for all modules. A glob never matches an unknown
            module.
        paths: globs of model files; empty for all files.
        suppression: the reason, the source, and the expiry date.
    """

    rules: tuple[str, ...]
    node: str | None
    module: str | None
    paths: tuple[str, ...]
    suppression: Suppression

    @classmethod
    def of(cls, table: dict[str, Any], kind: Literal["model", "configuration"], where: str) -> Acceptance:
        """Create a suppression from a valid table of the configuration or metadata."""
        return cls(
            rules=texts(table["rule"]),
            node=table.get("node"),
            module=table.get("module"),
            paths=texts(table.get("path", ())),
            suppression=Suppression(kind, where, " ".join(table["reason"].split()), table.get("expires")),
        )

    @property
    def words(self) -> str:
        """Return the suppression in words, such as ``ACC102 at module blocks.* in vit.onnx``."""
        words = [", ".join(self.rules)]
        words += [
            f"at {what} {glob}" for what, glob in (("node", self.node), ("module", self.module)) if glob
        ]
        return " ".join([*words, *([f"in {', '.join(self.paths)}"] if self.paths else [])])

    def expired(self, today: date) -> bool:
        """Return whether the last day of the suppression has passed."""
        expires = self.suppression.expires
        return expires is not None and date.fromisoformat(expires) < today

    def covers_model(self, path: str) -> bool:
        """Return whether the suppression applies to a model.

        Args:
            path: the path of the model, relative to the folder of the configuration.
        """
        return not self.paths or any(matches_path(glob, path) for glob in self.paths)

    def covers_rule(self, rule: RuleName) -> bool:
        """Return whether the suppression applies to a rule."""
        return any(covers(selector, rule) for selector in self.rules)

    def covers_any(self, rules: Iterable[RuleName]) -> bool:
        """Return whether the suppression applies to at least one of several rules."""
        return any(self.covers_rule(rule) for rule in rules)

    def covers_site(self, site: Site) -> bool:
        """Return whether the suppression applies to a site."""
        if self.node is not None and not matches_name(self.node, site.node):
            return False
        return self.module is None or (site.module is not None and matches_name(self.module, site.module))


def texts(value: str | Iterable[str]) -> tuple[str, ...]:
    """Convert one text or a list of texts to a tuple."""
    return (value,) if isinstance(value, str) else tuple(value)


def apply(
    report: ModelReport, entries: Sequence[Acceptance], today: date, known: Iterable[RuleName] = ()
) -> tuple[ModelReport, Counter[Acceptance]]:
    """Apply suppressions: move suppressed findings of a report to its attribute ``suppressed``.

    If several suppressions match a site, the first suppression that has not expired applies.

    Args:
        report: the report.
        entries: the suppressions.
        today: date for the comparison with expiry dates.
        known: all rules, with their groups. A rule that is not in this list has no group.

    Returns:
        The changed report, and the number of sites that each suppression matches. Expired suppressions are
        counted, too.
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
        return report, used
    findings, conditional = remaining(report.findings), remaining(report.conditional)
    changed = replace(
        report,
        findings=findings,
        conditional=conditional,
        suppressed=report.suppressed + tuple(suppressed),
    )
    return changed, used


def _split(
    finding: Finding, entries: Sequence[Acceptance], today: date, used: Counter[Acceptance]
) -> tuple[Finding | None, list[Finding]]:
    """Split the sites of a finding by the suppression that matches each site.

    All suppressions in ``entries`` must match the rule of the finding.

    Returns:
        The first result is a finding with the sites that no valid suppression matches, or None if there are
        no such sites. The second result has one suppressed finding for each suppression that applies.
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
    """Read the suppressions in the metadata of a model.

    If the metadata are invalid, return no suppressions, and a note about the error.
    """
    if not report.suppress:
        return (), None
    try:
        found = tables(report.suppress)
    except ValueError as error:
        return (), f"the metadata {SUPPRESS_KEY} is ignored: {error}"
    return tuple(Acceptance.of(table, "model", report.path) for table in found), None


def comparable(entries: Sequence[Acceptance], reports: Iterable[ModelReport]) -> bool:
    """Return whether the suppressions of a model can be compared with its findings in a short time.

    An untrusted model can have so many findings, and such long names, that a comparison would take too long.
    """
    globs = sum(len(glob) for entry in entries for glob in (entry.node, entry.module) if glob is not None)
    places = [
        len(site.node) + len(site.module or "")
        for report in reports
        for finding in (*report.findings, *report.conditional)
        for site in finding.sites
    ]
    return len(entries) * len(places) <= _MOST_CHECKED and globs * sum(places) <= _MOST_COMPARED


def tables(text: str) -> list[dict[str, Any]]:
    """Parse the suppressions in the metadata of a model to JSON data.

    Raises:
        ValueError: the value of the metadata key is not a list of suppressions.
    """
    if len(text) > _LONGEST:
        raise ValueError(f"the value is longer than {_LONGEST} characters")
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("the value is not JSON") from None
    if not isinstance(loaded, list) or len(loaded) > _MOST:
        raise ValueError(f"the value is not a list of at most {_MOST} entries")
    for number, table in enumerate(loaded):
        try:
            schema.check(table, "suppression")
        except schema.SchemaError as error:
            raise ValueError(f"entry {number}: {error}") from None
        if "path" in table:
            raise ValueError(f"entry {number}: path: an entry in a model's metadata must not have a path")
    return loaded


def notes(
    entries: Iterable[Acceptance],
    used: Counter[Acceptance],
    ran: Iterable[RuleName],
    known: Iterable[RuleName],
    today: date,
) -> list[str]:
    """Return notes about suppressions that have expired or match no finding.

    Args:
        entries: the suppressions that were applied.
        used: number of sites that each suppression matches.
        ran: the rules that ran.  A suppression for a known rule that did not run is not reported as unused.
        known: all rules. A suppression for an unknown rule is reported as unused, except if trtlint once had
            the rule and removed it.
        today: date for the comparison with expiry dates.
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
