"""Report about an upgrade of TensorRT, for a terminal: best version, changes by release, and advice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TextIO

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from trtlint.engine.finding import Severity
from trtlint.engine.rule import Concern
from trtlint.engine.upgrade import CONCERNS, Upgrade, UpgradeFinding, UpgradeStep, product_name
from trtlint.report.counts import hidden, plural
from trtlint.report.escape import clean
from trtlint.report.findinglines import SEVERITY_STYLES
from trtlint.report.layout import hang
from trtlint.report.terminal import ConsoleReport, console
from trtlint.report.upgradedecision import (
    conditional_rows,
    exceptions,
    joined_matrix,
    joined_rows,
    rows,
    rule_rows,
    sentences,
    shared,
)
from trtlint.report.upgradematrix import TITLE, matrix, text_lines
from trtlint.report.upgradewording import advice_of, asks, places, reasons, risks, since, some, still, why
from trtlint.report.wording import fix_command, fixable

_HEADINGS: dict[Concern, str] = {
    "graph": "In the graph",
    "command": "In the build command",
    "code": "In the code that builds and runs the engine",
}
_COLUMNS: dict[Concern, str] = {"graph": "Graph", "command": "Build command", "code": "Code"}
_NARROW = 100
"""Smallest line width, in cells, at which the changes by release are a table instead of a list."""
_FEW = 2
"""Largest number of models that the row of a rule names."""
_UNBOUNDED = 120
"""Width of a table without a terminal, in cells."""

_Entries = Mapping[Concern, Sequence[Sequence[tuple[Text, str]]]]
"""The changes by kind and by step, each with the rule and the name."""


class UpgradeReport(ConsoleReport):
    """Text report about the upgrade of TensorRT, for all models.

    Args:
        file: the output stream.
        show_conditional: true to show findings that depend on unset options.
        several: true if there are several models. Findings about the build command and about code are then
            written once, at the end.
        quiet: true to write only the parts about all models.
    """

    def __init__(
        self,
        file: TextIO,
        *,
        show_conditional: bool = False,
        several: bool = False,
        quiet: bool = False,
    ) -> None:
        super().__init__(file)
        self._wide = console(file, _UNBOUNDED) if self._width is None else self._console
        self._show_conditional = show_conditional
        self._first = True
        self._several = several
        self._quiet = quiet
        self._upgrades: list[Upgrade] = []

    def add(self, upgrade: Upgrade) -> None:
        """Write the report of one model."""
        self._upgrades.append(upgrade)
        if self._quiet or self._several:
            return
        if not self._first:
            self._print(Text())
        self._first = False
        self._head(upgrade)
        self._safest(upgrade)
        self._steps(upgrade)
        for concern in CONCERNS:
            self._section(upgrade, concern)
        if self._show_conditional:
            self._conditional(upgrade)
        elif line := hidden(upgrade.conditional):
            self._hang(Text(), line, "dim")

    def close(self) -> None:
        """Write the parts about all models: the matrix of rejected nodes, and a line for each model."""
        if not self._upgrades:
            return
        if self._several and len(self._upgrades) > 1:
            self._decision()
        elif self._several and not self._quiet:
            self._several = False
            self.add(self._upgrades.pop())
        self._matrix()
        if not (self._several or self._quiet):
            return
        unset = list(conditional_rows(self._upgrades))
        if unset and self._show_conditional and self._several:
            self._heading("Depends on unset options")
            for row in unset:
                self._hang(Text("  "), row)
        for concern in CONCERNS:
            if concern != "graph":
                self._common(concern)
        self._heading("In short")
        listed = joined_rows(list(rows(self._upgrades)))
        widest = [max(cell_len(clean(row[column])) for row in listed) for column in (0, 1)]
        last = self._upgrades[0].lines[-1].line
        for path, safest, left in listed:
            name, version = clean(path).ljust(widest[0]), safest.ljust(widest[1])
            first = Text.assemble(f"  {name}  safest ", (version, "bold green"), f"  at {last}: ")
            self._hang(first, left)
        found = [finding for upgrade in self._upgrades for finding in upgrade.conditional]
        if self._several and not (self._quiet or self._show_conditional) and (line := hidden(found)):
            self._print(Text())
            self._hang(Text(), line, "dim")
        for upgrade in self._upgrades:
            for caveat in upgrade.caveats:
                self._hang(Text("  "), f"{caveat.severity}: {upgrade.path}: {caveat.message}")

    def _decision(self) -> None:
        """Write which version is best for all models, the rules with findings, and the open problems."""
        for key, sentence in sentences(self._upgrades):
            self._field(key, sentence, "bold green" if key == "version" else "")
        listed = rule_rows(self._upgrades)
        if listed:
            self._heading("Rules and models")
            titles = [f"{row.severity}[{row.rule}]" for row in listed]
            wide, names = max(map(len, titles)), max(len(row.name) for row in listed)
            for title, row in zip(titles, listed, strict=True):
                first = Text.assemble(
                    (f"  {title:{wide}}", SEVERITY_STYLES[row.severity]),
                    f"  {row.name:{names}}  {len(row.models):>4}  ",
                )
                words = f"{row.released}{'; trtlint fix' if row.fixes else ''}"
                models = f": {', '.join(row.models)}" if len(row.models) <= _FEW else ""
                self._hang(first, words + models)
        if found := list(exceptions(self._upgrades)):
            self._heading("Exceptions")
            for path, rules in found:
                self._hang(Text(f"  {clean(path)}: "), rules)

    def _matrix(self) -> None:
        """Write, for each model and each release, the number of the model's nodes that the release rejects.

        If all releases accept all models, write one line instead of the matrix.
        """
        lines = self._upgrades[0].lines
        refused = any(line.refused for upgrade in self._upgrades for line in upgrade.lines)
        if not refused and not (self._several or self._quiet):
            return
        if not self._quiet or self._several:
            self._print(Text())
        if not refused:
            self._print(Text(f"{TITLE}: none from {lines[0].line} to {lines[-1].line}", style="bold"))
            return
        self._print(Text(TITLE, style="bold underline"))
        for line in text_lines(joined_matrix(matrix(self._upgrades)), self._width or _UNBOUNDED):
            self._print(Text(line))

    def _common(self, concern: Concern) -> None:
        found = shared(self._upgrades, concern)
        if not found:
            return
        self._heading(_HEADINGS[concern])
        said: set[tuple[str, str]] = set()
        for each in found:
            self._finding(each.upgrade, each.item, said, placed=len(each.models) == 1)
            if len(each.models) < len(self._upgrades):
                self._hang(Text("      models: ", style="dim"), some(each.models))

    def _heading(self, title: str) -> None:
        self._print(Text(), Text(title, style="bold underline"))

    def _field(self, key: str, value: str, style: str = "") -> None:
        self._hang(Text(f"  {key}: ", style="bold"), value, style)

    def _head(self, upgrade: Upgrade) -> None:
        lines, model = upgrade.lines, upgrade.model
        way = f"{product_name(upgrade.product)} {lines[0].line} to {lines[-1].line}"
        title = Text.assemble((clean(upgrade.path), "bold"), ": ", (way, "bold"))
        self._print(*hang(Text(), title, self._width))
        opset = f"opset {model.opset}" if model.opset is not None else "no opset"
        types = model.float_type or "no floats"
        quantized = ", quantized" if model.quantized else ""
        self._field("model", f"{opset}, {model.exporter}, {types}{quantized}, {plural(model.nodes, 'node')}")
        self._field("inputs", some(upgrade.inputs))
        self._field("outputs", some(upgrade.outputs))
        if upgrade.setting:
            self._field("build", upgrade.setting)
        if upgrade.command:
            self._field("command", upgrade.command)
        for caveat in upgrade.caveats:
            self._field(caveat.severity, caveat.message, SEVERITY_STYLES[caveat.severity])
        for note in upgrade.notes:
            self._field("note", note)

    def _safest(self, upgrade: Upgrade) -> None:
        safest = upgrade.safest
        if safest is None:
            self._field("safest version", "none: no version in the range supports this GPU", "bold red")
            return
        best = upgrade.lines[safest.line]
        self._field("safest version", f"{best.line}, {why(upgrade)}", "bold green")
        for reason in (risks(upgrade), *reasons(upgrade), *asks(upgrade)):
            self._hang(Text("    "), reason)

    def _steps(self, upgrade: Upgrade) -> None:
        steps = [step for step in upgrade.steps if step.fixed or step.new]
        if not steps:
            self._print(Text("\nNo known changes between these versions.", style="bold"))
            return
        self._print(Text())
        listed = {concern: [_entries(upgrade, step, concern) for step in steps] for concern in CONCERNS}
        shown = {concern: entries for concern, entries in listed.items() if any(entries)}
        if self._wide.width < max(_NARROW, _table_width(steps, shown)):
            self._list(steps, shown)
        else:
            self._print_table(_table(steps, shown))
        if quiet := still(upgrade, steps):
            self._hang(Text(), f"no change within {', '.join(quiet)}", "dim")

    def _print_table(self, table: Table) -> None:
        if self._wide is self._console:
            self._console.print(table)
            return
        with self._wide.capture() as captured:  # to strip trailing blanks
            self._wide.print(table)
        self._print(*(Text(line.rstrip()) for line in captured.get().splitlines()))

    def _list(self, steps: Sequence[UpgradeStep], shown: _Entries) -> None:
        for number, step in enumerate(steps):
            self._print(Text(f"{step.before} to {step.after}", style="bold"))
            for concern, entries in shown.items():
                if entries[number]:
                    self._print(Text(f"  {_COLUMNS[concern]}", style="dim"))
                for head, name in entries[number]:
                    self._print(*hang(Text("    "), head + Text(f" {name}"), self._width))

    def _section(self, upgrade: Upgrade, concern: Concern) -> None:
        listed = [item for item in upgrade.findings if item.concern == concern]
        if concern != "graph":  # tasks, in the order of versions
            listed.sort(key=lambda item: item.lines[0])
        if not listed:
            return
        self._heading(_HEADINGS[concern])
        said: set[tuple[str, str]] = set()
        for item in listed:
            self._finding(upgrade, item, said)

    def _finding(
        self, upgrade: Upgrade, item: UpgradeFinding, said: set[tuple[str, str]], *, placed: bool = True
    ) -> None:
        finding = item.finding
        style = SEVERITY_STYLES[finding.severity]
        names = [line.line for line in upgrade.lines]
        title = Text.assemble((f"{finding.severity}[{finding.rule}]", style), f" {since(item, names)}: ")
        self._print(*hang(Text("  "), title + Text(clean(finding.message), style="bold"), self._width))
        where = places(item) if placed else ""
        if where and where not in finding.message:
            self._hang(Text("      at: ", style="dim"), where)
        for sentence in advice_of(item, names):
            if (finding.rule, sentence) in said:
                continue
            said.add((finding.rule, sentence))
            self._hang(Text("      do: ", style="dim"), sentence)
        command = fix_command(finding, upgrade.path) if fixable(finding) else ""
        if command and (finding.rule, command) not in said:
            said.add((finding.rule, command))
            self._hang(Text("      fix: ", style="dim"), command)
        if finding.references and (finding.rule, "") not in said:
            said.add((finding.rule, ""))
            self._hang(Text("      see: ", style="dim"), finding.references[0])

    def _conditional(self, upgrade: Upgrade) -> None:
        if not upgrade.conditional:
            return
        self._heading("Depends on unset options")
        for finding in upgrade.conditional:
            head = Text(f"  {finding.severity}[{finding.rule}] ({', '.join(finding.depends)}): ", style="dim")
            self._print(*hang(Text(), head + Text(clean(finding.message)), self._width))


def _entries(upgrade: Upgrade, step: UpgradeStep, concern: Concern) -> list[tuple[Text, str]]:
    """Return the rule and the name of each finding that a release line adds (``+``) or removes (``-``).

    Args:
        upgrade: the upgrade of the model.
        step: the step to the release line.
        concern: the kind of findings: about the graph, the build command or code.
    """
    counts: Counter[tuple[str, Severity, str, str]] = Counter()
    for sign, numbers in (("-", step.fixed), ("+", step.new)):
        for number in numbers:
            listed = upgrade.findings[number]
            if listed.concern == concern:
                finding = listed.finding
                counts[sign, finding.severity, finding.rule, finding.name] += 1
    entries = []
    for (sign, severity, rule, name), number in counts.items():
        style = SEVERITY_STYLES[severity] if sign == "+" else "green"
        word = severity if sign == "+" else "gone:"
        several = f" (x{number})" if number > 1 else ""
        entries.append((Text.assemble((f"{sign} {word} {rule}", style), several), name))
    return entries


def _table(steps: Sequence[UpgradeStep], shown: _Entries) -> Table:
    """Return the table of changes. In a cell, the name of each rule has its own line."""
    table = Table(box=box.SIMPLE_HEAD, expand=True, padding=(0, 1), show_edge=False)
    table.add_column("Step", no_wrap=True, style="bold")
    for concern in shown:
        table.add_column(_COLUMNS[concern], overflow="fold", ratio=1)
    for number, step in enumerate(steps):
        cells = [
            Text("\n").join(head + Text(f"\n  {name}") for head, name in entries[number])
            for entries in shown.values()
        ]
        table.add_row(f"{step.before} to {step.after}", *cells, end_section=number < len(steps) - 1)
    return table


def _table_width(steps: Sequence[UpgradeStep], shown: _Entries) -> int:
    """Return the table width at which no name is broken into lines.

    All columns have the same width, so the widest entry decides the width.
    """
    first = max(len(f" {step.before} to {step.after} ") for step in steps)
    entries = [entry for listed in shown.values() for step in listed for entry in step]
    widest = max(cell_len(text) for head, name in entries for text in (head.plain, f"  {name}"))
    return first + len(shown) * (widest + 3)
