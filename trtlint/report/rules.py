"""Output of rules on a terminal: a table of all rules, and the explanation of one rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TextIO

from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from trtlint.engine.rule import Rule
from trtlint.report.escape import clean, clean_block
from trtlint.report.findinglines import SEVERITY_STYLES
from trtlint.report.layout import hang
from trtlint.report.manual import rule_page
from trtlint.report.ruletext import applies, sections, summary
from trtlint.report.terminal import console

_NARROWEST_TABLE = 130
_READABLE = 100
"""Largest line width of running text, in cells."""
_ENDLESS = 10_000
"""Line width without a terminal, in cells."""


def write_table(rules: Iterable[Rule], file: TextIO) -> None:
    """Write a table of rules: id, name, severity, versions, evidence and summary.

    A narrow terminal gets one paragraph for each rule instead of a table row.
    """
    out = console(file, None if file.isatty() else _ENDLESS)
    if out.width < _NARROWEST_TABLE:
        _write_paragraphs(rules, out)
        return
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("id", no_wrap=True, style="bold")
    table.add_column("name", no_wrap=True)
    table.add_column("severity", no_wrap=True)
    table.add_column("applies to", min_width=16)
    table.add_column("evidence", no_wrap=True)
    table.add_column("summary", min_width=20)
    for rule in rules:
        severity = Text(rule.severity, style=SEVERITY_STYLES[rule.severity])
        table.add_row(rule.id, rule.name, severity, applies(rule), _standing(rule), clean(summary(rule)))
    with out.capture() as captured:
        out.print(table)
    for line in captured.get().splitlines():
        print(line.rstrip(), file=file)


def _write_paragraphs(rules: Iterable[Rule], out: Console) -> None:
    for rule in rules:
        style = SEVERITY_STYLES[rule.severity]
        out.print(Text.assemble((f"{rule.severity}[{rule.id}] ", style), (rule.name, "bold")))
        for line in (f"{applies(rule)} ({_standing(rule)})", clean(summary(rule))):
            for part in hang(Text("  "), Text(line), out.width):
                out.print(part, soft_wrap=True)


def _standing(rule: Rule) -> str:
    """Return the evidence level of a rule. Add the status of the rule, unless the status is ``stable``."""
    return rule.evidence if rule.status == "stable" else f"{rule.evidence}, {rule.status}"


def write_rule(rule: Rule, file: TextIO) -> None:
    """Write the summary, affected versions, fix, documentation and examples of a rule, in this order."""
    out = console(file)
    width = min(out.width, _READABLE)
    style = SEVERITY_STYLES[rule.severity]
    out.print(Text.assemble((f"{rule.severity}[{rule.id}] ", style), (rule.name, "bold")), soft_wrap=True)
    if rule.summary:
        _write_text(clean(rule.summary), out, width)
    print(file=file)
    _write_facts(_affected(rule), out)
    first, others, examples = sections(rule)
    for text in (first, others):
        _write_body(text, out, width)
    print(file=file)
    _write_facts(_sources(rule), out)
    _write_body(examples, out, width)


def _affected(rule: Rule) -> Iterator[tuple[str, str]]:
    severities = (rule.severity, *(severity for _, severity in rule.severity_when))
    yield "severity", " or ".join(dict.fromkeys(severities))
    yield "applies to", applies(rule)
    yield "evidence", rule.evidence
    if rule.status != "stable":
        yield "status", rule.status
    if any(advice.fix for advice in rule.advice):
        yield "fix", f"trtlint fix MODEL --select {rule.id}"


def _sources(rule: Rule) -> Iterator[tuple[str, str]]:
    if rule.group:
        yield "group", rule.group
    yield "since", f"trtlint {rule.since}"
    yield "file", clean(str(rule.path))
    if page := rule_page(rule.id):
        yield "docs", page
    for url in rule.references:
        yield "see", clean(url)


def _write_facts(facts: Iterable[tuple[str, str]], out: Console) -> None:
    for key, value in facts:
        out.print(Text.assemble(("   = ", "bold blue"), (f"{key}: ", "bold"), value), soft_wrap=True)


def _write_text(text: str, out: Console, width: int) -> None:
    print(file=out.file)
    if out.file.isatty():
        out.print(Text(text), width=width)
    else:
        print(text, file=out.file)


def _write_body(body: str, out: Console, width: int) -> None:
    """Write Markdown text, formatted if the output is a terminal."""
    if not body:
        return
    print(file=out.file)
    text = clean_block(body)
    if out.file.isatty():
        out.print(Markdown(text), width=width)
    else:
        print(text.strip(), file=out.file)
