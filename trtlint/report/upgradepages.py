"""Report about an upgrade as Markdown and as one HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from trtlint.engine.upgrade import Upgrade, UpgradeFinding, product_name
from trtlint.files.problem import Problem
from trtlint.report.counts import left_out
from trtlint.report.markdown import code
from trtlint.report.markdown import text as plain
from trtlint.report.page.card import clipped
from trtlint.report.page.markup import Markup, tag
from trtlint.report.page.shell import shell
from trtlint.report.page.tables import overview, table
from trtlint.report.upgradedecision import exceptions, rule_rows, sentences
from trtlint.report.upgradematrix import TITLE, matrix, refusing
from trtlint.report.upgradewording import advice_of, safest_line, since
from trtlint.report.wording import fix_command, fixable

_MODELS = 400
"""Largest number of models in a document."""
_FINDINGS = 40
"""Largest number of findings of one model."""


def markdown(upgrades: Sequence[Upgrade], problems: Sequence[Problem] = ()) -> str:
    """Convert upgrade reports to GitHub Markdown: the matrix, then the findings of each model."""
    return "\n".join(_markdown(upgrades, problems)) + "\n"


def html(upgrades: Sequence[Upgrade], problems: Sequence[Problem] = ()) -> str:
    """Convert upgrade reports to one HTML page without external resources."""
    title = _title(upgrades)
    header = [tag("p", "trtlint upgrade", class_="brand"), tag("h1", title)]
    return "\n".join(shell(f"trtlint: {title}", header, _main(upgrades, problems))) + "\n"


def _title(upgrades: Sequence[Upgrade]) -> str:
    if not upgrades:
        return "Upgrade"
    lines = upgrades[0].lines
    return f"{product_name(upgrades[0].product)} {lines[0].line} to {lines[-1].line}"


def _none(upgrades: Sequence[Upgrade]) -> str:
    lines = upgrades[0].lines
    return f"None from {lines[0].line} to {lines[-1].line}."


def _head(upgrade: Upgrade, item: UpgradeFinding) -> str:
    names = [line.line for line in upgrade.lines]
    return f"{item.finding.severity}[{item.finding.rule}] {since(item, names)}: {item.finding.message}"


def _advice(upgrade: Upgrade, item: UpgradeFinding) -> Iterator[str]:
    return advice_of(item, [line.line for line in upgrade.lines])


def _command(upgrade: Upgrade, item: UpgradeFinding) -> Iterator[str]:
    """Yield the ``trtlint fix`` command for a finding, if the command can fix the finding."""
    if fixable(item.finding):
        yield fix_command(item.finding, upgrade.path)


def _todo(upgrade: Upgrade, item: UpgradeFinding) -> list[Markup]:
    advice = [tag("li", clipped(sentence)) for sentence in _advice(upgrade, item)]
    commands = (tag("code", clipped(command)) for command in _command(upgrade, item))
    return advice + [tag("li", "Automatic fix: ", command) for command in commands]


def _markdown(upgrades: Sequence[Upgrade], problems: Iterable[Problem]) -> Iterator[str]:
    yield f"## {plain(_title(upgrades))}"
    for problem in problems:
        yield from ("", f"**error**: {plain(str(problem))}")
    if len(upgrades) > 1:
        yield from _markdown_decision(upgrades)
    if upgrades:
        found = refusing(matrix(upgrades))
        yield from ("", f"### {TITLE}", "")
        if found.rows:
            yield f"| Model | {' | '.join(found.columns)} |"
            yield f"|---|{'--:|' * len(found.columns)}"
        else:
            yield _none(upgrades)
        for name, counts in found.rows[:_MODELS]:
            yield f"| {code(name)} | {' | '.join(str(count or '') for count in counts)} |"
        for line in left_out(len(found.rows), _MODELS, "model"):
            yield from ("", line)
    for upgrade in upgrades[:_MODELS]:
        yield from ("", f"### {code(upgrade.path)}", "", f"Safest version: {safest_line(upgrade)}", "")
        for item in upgrade.findings[:_FINDINGS]:
            yield f"* {plain(_head(upgrade, item))}"
            yield from (f"  * {plain(advice)}" for advice in _advice(upgrade, item))
            yield from (f"  * Automatic fix: {code(command)}" for command in _command(upgrade, item))
        for line in left_out(len(upgrade.findings), _FINDINGS, "finding"):
            yield from ("", line)


def _markdown_decision(upgrades: Sequence[Upgrade]) -> Iterator[str]:
    """Yield the content of :func:`_decision` as Markdown lines."""
    yield ""
    yield from (f"* **{key}**: {plain(sentence)}" for key, sentence in sentences(upgrades))
    yield from ("", "### Rules and models", "")
    yield from ("| Rule | Models | Releases | trtlint fix |", "|---|--:|---|---|")
    for row in rule_rows(upgrades):
        title = plain(f"{row.severity} {row.rule} {row.name}")
        yield f"| {title} | {len(row.models)} | {plain(row.released)} | {'yes' if row.fixes else ''} |"
    if found := list(exceptions(upgrades)):
        yield from ("", "### Exceptions", "")
        yield from (f"* {code(path)}: {plain(rules)}" for path, rules in found)


def _decision(upgrades: Sequence[Upgrade]) -> Iterator[Markup]:
    """Yield the best version, the rules with findings, and the models that need more than ``trtlint fix``."""
    terms = [[tag("dt", key), tag("dd", clipped(sentence))] for key, sentence in sentences(upgrades)]
    yield tag("section", tag("h2", "Decision", id="decision"), tag("dl", terms), aria_labelledby="decision")
    rows = [
        tag(
            "tr",
            tag("td", f"{row.severity} {row.rule} {row.name}"),
            tag("td", len(row.models), class_="figure"),
            tag("td", row.released),
            tag("td", "yes" if row.fixes else ""),
        )
        for row in rule_rows(upgrades)
    ]
    title = "Rules and models"
    grid = table(["Rule", "Models", "Releases", "trtlint fix"], rows, title)
    yield overview(title, "rules", grid)
    if found := [
        tag("li", tag("code", clipped(path, 300)), ": ", rules) for path, rules in exceptions(upgrades)
    ]:
        yield tag("section", tag("h2", "Exceptions", id="exceptions"), tag("ul", found))


def _main(upgrades: Sequence[Upgrade], problems: Iterable[Problem]) -> Iterator[Markup]:
    errors = [tag("li", "error: ", clipped(str(problem))) for problem in problems]
    if errors:
        yield tag("ul", errors, class_="notes")
    if len(upgrades) > 1:
        yield from _decision(upgrades)
    if upgrades:
        found = refusing(matrix(upgrades))
        rows = [
            tag(
                "tr",
                tag("td", tag("code", clipped(name, 300))),
                [tag("td", count or "", class_="figure") for count in counts],
            )
            for name, counts in found.rows[:_MODELS]
        ]
        grid = table(["Model", *found.columns], rows, TITLE) if rows else tag("p", _none(upgrades))
        yield overview(TITLE, "matrix", grid)
        yield from (tag("p", line) for line in left_out(len(found.rows), _MODELS, "model"))
    for upgrade in upgrades[:_MODELS]:
        items = [
            tag(
                "li",
                clipped(_head(upgrade, item)),
                tag("ul", _todo(upgrade, item)),
            )
            for item in upgrade.findings[:_FINDINGS]
        ]
        more = [tag("p", line) for line in left_out(len(upgrade.findings), _FINDINGS, "finding")]
        head = tag("h2", tag("code", clipped(upgrade.path, 300)))
        yield tag(
            "section",
            head,
            tag("p", f"Safest version: {safest_line(upgrade)}"),
            tag("ul", items),
            more,
            class_="upgrade",
        )
