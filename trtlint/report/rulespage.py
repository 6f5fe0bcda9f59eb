"""Table of rules, and counts of rules, as a document."""

from __future__ import annotations

from collections.abc import Sequence

from trtlint.engine.rule import Rule
from trtlint.report.counts import plural
from trtlint.report.document import Code, Document, DocumentTable, Part
from trtlint.report.rulestatistics import counts
from trtlint.report.ruletext import applies, summary


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
