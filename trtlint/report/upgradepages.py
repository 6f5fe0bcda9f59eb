"""Report about an upgrade as a document: the decision, the matrix, and the findings of each model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trtlint.engine.upgrade import Upgrade, UpgradeFinding, product_name
from trtlint.files.problem import Problem
from trtlint.report.counts import left_out
from trtlint.report.document import Block, Code, Document, DocumentTable, Items, Nested, Part, Words
from trtlint.report.upgradedecision import exceptions, rule_rows, sentences
from trtlint.report.upgradematrix import TITLE, matrix, refusing
from trtlint.report.upgradewording import advice_of, safest_line, since
from trtlint.report.wording import fix_command, fixable

_MODELS = 400
"""Largest number of models in a document."""
_FINDINGS = 40
"""Largest number of findings of one model."""


def page(upgrades: Sequence[Upgrade], problems: Sequence[Problem] = ()) -> Document:
    """Return the document with the upgrade reports."""
    title = "Upgrade"
    parts = [Part("Errors", [Items([str(problem) for problem in problems])])]
    if upgrades:
        lines = upgrades[0].lines
        title = f"{product_name(upgrades[0].product)} {lines[0].line} to {lines[-1].line}"
    if len(upgrades) > 1:
        parts += _decision(upgrades)
    if upgrades:
        parts.append(Part(TITLE, list(_matrix(upgrades))))
    parts += [Part(Code(each.path), list(_findings(each))) for each in upgrades[:_MODELS]]
    return Document("upgrade", title, parts)


def _decision(upgrades: Sequence[Upgrade]) -> Iterator[Part]:
    """Yield the best version, the rules with findings, and the models that need more than ``trtlint fix``."""
    decision = DocumentTable(["Decision", "Result"], list(map(list, sentences(upgrades))))
    yield Part("Decision", [decision])
    rows: list[list[Words]] = [
        [
            f"{row.severity} {row.rule} {row.name}",
            len(row.models),
            row.released,
            "yes" if row.fixes else "",
        ]
        for row in rule_rows(upgrades)
    ]
    yield Part("Rules and models", [DocumentTable(["Rule", "Models", "Releases", "trtlint fix"], rows)])
    left: list[list[Words]] = [[Code(path), rules] for path, rules in exceptions(upgrades)]
    yield Part("Exceptions", [DocumentTable(["Model", "Findings"], left)])


def _matrix(upgrades: Sequence[Upgrade]) -> Iterator[Block]:
    found = refusing(matrix(upgrades))
    rows: list[list[Words]] = [
        [Code(name), *(count or "" for count in counts)] for name, counts in found.rows[:_MODELS]
    ]
    yield DocumentTable(["Model", *found.columns], rows)
    if not rows:
        lines = upgrades[0].lines
        yield f"None from {lines[0].line} to {lines[-1].line}."
    yield from left_out(len(found.rows), _MODELS, "model")


def _findings(upgrade: Upgrade) -> Iterator[Block]:
    yield ["Safest version ", Code(safest_line(upgrade))]
    yield Items([_finding(upgrade, item) for item in upgrade.findings[:_FINDINGS]])
    yield from left_out(len(upgrade.findings), _FINDINGS, "finding")


def _finding(upgrade: Upgrade, item: UpgradeFinding) -> Nested:
    names = [line.line for line in upgrade.lines]
    head = f"{item.finding.severity}[{item.finding.rule}] {since(item, names)}: {item.finding.message}"
    below: list[Words] = [*advice_of(item, names)]
    if fixable(item.finding):
        below.append(["To fix this automatically, run ", Code(fix_command(item.finding, upgrade.path))])
    return Nested(head, below)
