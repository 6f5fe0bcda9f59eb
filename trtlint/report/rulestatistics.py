"""Counts of rules by property, and rules as JSON or as a document."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TextIO, get_args

from trtlint.engine.finding import SEVERITIES
from trtlint.engine.rule import EVIDENCE, GROUPS, Rule, Status
from trtlint.facts.kinds import ground_of
from trtlint.report.counts import plural
from trtlint.report.document import Code, Document, DocumentTable, Part
from trtlint.report.ruletext import applies, summary

_OTHER = "other"
"""Group of the rules whose folder is not a group."""


_LOG = frozenset({"build", "log_message"})
"""Kinds of build facts that come from the log. The remaining kinds come from the engine layers."""

_GROUNDS = ("model", "command", "log", "layers", "trial", "torch")


def ground(rule: Rule) -> str:
    """Return the kind of data that a rule is about, such as ``model``, ``log`` or ``layers``."""
    found = ground_of(rule.find)
    if found != "build":
        return found
    return "log" if rule.find in _LOG else "layers"


_SORTS: Mapping[str, tuple[Callable[[Rule], str], tuple[str, ...]]] = {
    "group": (lambda rule: rule.group or _OTHER, (*GROUPS, _OTHER)),
    "ground": (ground, _GROUNDS),
    "evidence": (lambda rule: rule.evidence, tuple(EVIDENCE)),
    "status": (lambda rule: rule.status, get_args(Status)),
    "severity": (lambda rule: rule.severity, SEVERITIES),
}
"""The properties by which rules are counted.

Each property has a function that returns the value for a rule, and a list of all possible values.
"""


def counts(rules: Iterable[Rule]) -> dict[str, dict[str, int]]:
    """Count the rules by each property, such as severity, and by each value of the property.

    Values that no rule has are counted as 0.
    """
    every = list(rules)
    found: dict[str, dict[str, int]] = {}
    for by, (sort, order) in _SORTS.items():
        counted = Counter(map(sort, every))
        found[by] = {word: counted[word] for word in order if counted[word] or word != _OTHER}
    return found


def write_statistics(rules: Sequence[Rule], file: TextIO) -> None:
    """Write the total number of rules, then their counts by each property."""
    print(plural(len(rules), "rule"), file=file)
    for by, counted in counts(rules).items():
        width = max(map(len, counted))
        print(f"\nby {by}", file=file)
        for word, count in counted.items():
            print(f"  {word:{width}}  {count:4d}", file=file)


def write_json(rules: Sequence[Rule], file: TextIO, *, statistics: bool) -> None:
    """Write JSON: the counts if ``statistics`` is true, or else the data of each rule.

    The data is the front matter of the rule file, without conditions.
    """
    content: object
    if statistics:
        content = {"rules": len(rules), **{f"by_{by}": counted for by, counted in counts(rules).items()}}
    else:
        content = [_as_data(rule) for rule in rules]
    print(json.dumps(content, indent=2), file=file)


def _as_data(rule: Rule) -> dict[str, object]:
    return {
        "id": rule.id,
        "name": rule.name,
        "summary": rule.summary,
        "group": rule.group,
        "ground": ground(rule),
        "severity": rule.severity,
        "status": rule.status,
        "evidence": rule.evidence,
        "since": rule.since,
        "applies": dict(rule.applies),
        "references": list(rule.references),
    }


def page(rules: Sequence[Rule], *, statistics: bool = False) -> Document:
    """Return a document about rules.

    Args:
        rules: the rules.
        statistics: true to count the rules instead of listing them.
    """
    title = plural(len(rules), "rule")
    if statistics:
        parts = [
            Part(
                f"By {by}",
                [DocumentTable([by.capitalize(), "Rules"], [[word, n] for word, n in counted.items()])],
            )
            for by, counted in counts(rules).items()
        ]
        return Document("rules", title, parts)
    listed = [
        [Code(rule.id), rule.name, rule.severity, applies(rule), rule.evidence, summary(rule)]
        for rule in rules
    ]
    heads = ["Rule", "Name", "Severity", "Versions", "Evidence", "Summary"]
    return Document("rules", title, [Part("Rules", [DocumentTable(heads, listed)])])
