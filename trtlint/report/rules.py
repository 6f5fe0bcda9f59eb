"""Rules on a terminal: a table of all rules, and the explanation of one."""

from __future__ import annotations

from collections.abc import Iterable
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
from trtlint.report.ruletext import applies, summary
from trtlint.report.terminal import console

_NARROWEST_TABLE = 130
_READABLE = 100
"""Largest line width of running text, in cells."""
_ENDLESS = 10_000
"""Line width without a terminal, in cells."""


def write_table(rules: Iterable[Rule], file: TextIO) -> None:
    """Write one line for each rule: id, name, severity, versions, evidence and summary.

    A narrow terminal gets one paragraph for each rule.
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
    """Return the evidence of a rule, and its status unless it is stable."""
    return rule.evidence if rule.status == "stable" else f"{rule.evidence}, {rule.status}"


def write_rule(rule: Rule, file: TextIO) -> None:
    """Write the summary of a rule, its documentation, then its versions and references."""
    out = console(file)
    width = min(out.width, _READABLE)
    style = SEVERITY_STYLES[rule.severity]
    out.print(Text.assemble((f"{rule.severity}[{rule.id}] ", style), (rule.name, "bold")), soft_wrap=True)
    out.print()
    if rule.summary:
        if file.isatty():
            out.print(Text(clean(rule.summary)), width=width)
        else:
            print(clean(rule.summary), file=file)
        out.print()
    body = clean_block(rule.body)
    if file.isatty():
        out.print(Markdown(body), width=width)
    else:
        print(body.strip(), file=file)
    out.print()
    facts = [("severity", rule.severity), ("applies to", applies(rule)), ("evidence", rule.evidence)]
    facts += [("status", rule.status)] if rule.status != "stable" else []
    facts += [("group", rule.group)] if rule.group else []
    facts += [("since", f"trtlint {rule.since}"), ("file", clean(str(rule.path)))]
    facts += [("docs", page)] if (page := rule_page(rule.id)) else []
    facts += [("see", clean(url)) for url in rule.references]
    for key, value in facts:
        out.print(Text.assemble(("   = ", "bold blue"), (f"{key}: ", "bold"), value), soft_wrap=True)
