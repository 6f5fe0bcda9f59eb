"""Report about an upgrade of Torch-TensorRT: for a terminal, as JSON or as a document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from msgspec.structs import asdict
from rich.text import Text

from trtlint.engine.targets import runs
from trtlint.engine.torchupgrade import CHANGES, CallChange, Change, OperatorChange, TorchUpgrade
from trtlint.files.problem import Problem
from trtlint.knowledge.torchreleases import TorchRelease
from trtlint.report.counts import plural
from trtlint.report.document import Block, Code, Document, DocumentTable, Items, Part, Words
from trtlint.report.escape import clean
from trtlint.report.findinglines import SEVERITY_STYLES
from trtlint.report.json import finding_data
from trtlint.report.layout import hang
from trtlint.report.terminal import ConsoleReport
from trtlint.report.upgradewording import first_to_last

HEADINGS: dict[Change, str] = {
    "falls back": "Newly fall back to PyTorch",
    "converts": "Newly convert",
    "stays in PyTorch": "Stay in PyTorch",
    "unknown": "Support is unknown in the first or the last release",
}
PLACES = 3
"""Largest number of source lines or nodes that are listed for an operator."""
SCHEMA = "trtlint.torch-upgrade/1"
"""Name and version of the format; incompatible changes raise the version."""


class TorchUpgradeReport(ConsoleReport):
    """Text report about the upgrade of each script and exported program.

    Args:
        file: the output.
        quiet: true to write only one line for each file.
    """

    def __init__(self, file: TextIO, *, quiet: bool = False) -> None:
        super().__init__(file)
        self._quiet = quiet
        self._first = True

    def add(self, upgrade: TorchUpgrade) -> None:
        """Add one file to the report."""
        if not self._first and not self._quiet:
            self._print(Text())
        self._first = False
        first, last = upgrade.releases[0], upgrade.releases[-1]
        title = f"{upgrade.path}: Torch-TensorRT {first.line} to {last.line}"
        words = f" (TensorRT {first.tensorrt} to {last.tensorrt}): {summary(upgrade)}"
        self._print(*hang(Text(), Text(clean(title), style="bold") + Text(words), self._width))
        if self._quiet:
            return
        if upgrade.kind == "program":
            self._operators(upgrade)
        else:
            self._calls(upgrade)
        for note in upgrade.notes:
            self._hang(Text("note: ", style="dim"), note)

    def _operators(self, upgrade: TorchUpgrade) -> None:
        for change in CHANGES:
            own = [each for each in upgrade.operators if each.change == change]
            if own:
                self._print(Text(), Text(HEADINGS[change], style="bold underline"))
            for each in own:
                self._hang(Text("  "), operator_words(each, upgrade))
                more = f" and {each.count - PLACES} more" if each.count > PLACES else ""
                self._hang(Text("      at: ", style="dim"), ", ".join(each.places[:PLACES]) + more)

    def _calls(self, upgrade: TorchUpgrade) -> None:
        releases = upgrade.releases
        advised: set[str] = set()
        for change in upgrade.begins(0):
            self._call(change, upgrade, advised)
        for index in range(1, len(releases)):
            new, gone = upgrade.begins(index), upgrade.ends(index)
            if new or gone:
                step = f"{releases[index - 1].line} to {releases[index].line}"
                self._print(Text(), Text(step, style="bold underline"))
            for change in gone:
                finding = change.finding
                self._hang(
                    Text(f"  gone: {finding.rule} ", style="green"),
                    f"{', '.join(change.places)}: {finding.name}",
                )
            for change in new:
                self._call(change, upgrade, advised)

    def _call(self, change: CallChange, upgrade: TorchUpgrade, advised: set[str]) -> None:
        finding = change.finding
        head = Text(f"  {finding.severity}[{finding.rule}]", style=SEVERITY_STYLES[finding.severity])
        self._hang(head + Text(f" in {release_ranges(change.releases, upgrade)}: "), finding.message)
        self._hang(Text("      at: ", style="dim"), ", ".join(change.places))
        for advice in finding.advice:
            if advice not in advised:
                advised.add(advice)
                self._hang(Text("      do: ", style="dim"), advice)


def summary(upgrade: TorchUpgrade) -> str:
    """Return a sentence that counts the changes for one file."""
    if upgrade.kind == "program":
        counts = {change: sum(e.change == change for e in upgrade.operators) for change in CHANGES}
        said = [
            f"{plural(counts['falls back'], 'operator')} newly fall back to PyTorch",
            f"{counts['converts']} newly convert",
            f"{counts['stays in PyTorch']} stay in PyTorch",
        ]
        if counts["unknown"]:
            said.append(f"{counts['unknown']} not known")
        return ", ".join(said)
    last = len(upgrade.releases) - 1
    begin = [each for each in upgrade.calls if last in each.releases and 0 not in each.releases]
    end = [each for each in upgrade.calls if 0 in each.releases and last not in each.releases]
    if not upgrade.calls:
        return "no known change affects the calls"
    return f"{plural(len(begin), 'new finding')}, {len(end)} gone"


def operator_words(change: OperatorChange, upgrade: TorchUpgrade) -> str:
    """Describe how Torch-TensorRT's handling of one operator changes between releases."""
    lowered = f" (as {change.lowered})" if change.lowered != change.op else ""
    op = f"{change.op}{lowered}, {plural(change.count, 'node')}"
    if change.change == "unknown":
        named = {True: "PyTorch", False: "converted"}
        own = {state: [i for i, each in enumerate(change.states) if each is state] for state in named}
        said = (f"{named[state]} in {release_ranges(own[state], upgrade)}" for state in named if own[state])
        return f"{op}: {', '.join(said)}"
    if not change.since:
        return op
    word = "converts" if change.change == "converts" else "falls back"
    between = tuple(_between(change, upgrade.releases))
    unasked = f" at the latest ({', '.join(between)}: not known)" if between else ""
    return f"{op}: {word} from {change.since}{unasked}"


def _between(change: OperatorChange, releases: Sequence[TorchRelease]) -> Iterator[str]:
    """Yield the releases between the last release with the old behaviour and the first with the new one."""
    lines = [release.line for release in releases]
    yield from lines[lines.index(change.until) + 1 : lines.index(change.since)]


def release_ranges(indexes: Sequence[int], upgrade: TorchUpgrade) -> str:
    """Return the releases at ``indexes`` as ranges, such as ``2.10 to 2.12``."""
    names = [release.line for release in upgrade.releases]
    return ", ".join(first_to_last(names[start], names[stop]) for start, stop in runs(indexes))


def page(upgrades: Sequence[TorchUpgrade], problems: Sequence[Problem] = ()) -> Document:
    """Return the document with the upgrade reports."""
    title = "Upgrade of Torch-TensorRT"
    if upgrades:
        releases = upgrades[0].releases
        title = f"Torch-TensorRT {releases[0].line} to {releases[-1].line}"
    parts = [Part("Errors", [Items([str(problem) for problem in problems])])]
    parts += [Part(Code(each.path), list(_blocks(each))) for each in upgrades]
    return Document("upgrade", title, parts)


def _blocks(upgrade: TorchUpgrade) -> Iterator[Block]:
    first, last = upgrade.releases[0], upgrade.releases[-1]
    yield f"TensorRT {first.tensorrt} to {last.tensorrt}: {summary(upgrade)}."
    rows: list[list[Words]] = [
        [HEADINGS[change], operator_words(each, upgrade), Code(", ".join(each.places[:PLACES]))]
        for change in CHANGES
        for each in upgrade.operators
        if each.change == change
    ]
    if rows:
        yield DocumentTable(["Change", "Operator", "Location"], rows)
    if upgrade.calls:
        heads = ["Finding", "Releases", "Message", "Location", "Advice"]
        yield DocumentTable(heads, [_call(change, upgrade) for change in upgrade.calls])
    yield Items(upgrade.notes)


def _call(change: CallChange, upgrade: TorchUpgrade) -> list[str | Code]:
    finding = change.finding
    return [
        f"{finding.severity} {finding.rule}",
        release_ranges(change.releases, upgrade),
        finding.message,
        Code(", ".join(change.places[:PLACES])),
        " ".join(finding.advice),
    ]


def to_json(upgrades: Sequence[TorchUpgrade], problems: Sequence[Problem] = ()) -> dict[str, Any]:
    """Return upgrade reports as JSON data, in the given order."""
    return {
        "schema": SCHEMA,
        "files": [_file(upgrade) for upgrade in upgrades],
        "errors": [asdict(problem) for problem in problems],
    }


def dumps(upgrades: Sequence[TorchUpgrade], problems: Sequence[Problem] = ()) -> str:
    """Return upgrade reports as a JSON document in ASCII."""
    return json.dumps(to_json(upgrades, problems), indent=2)


def _file(upgrade: TorchUpgrade) -> dict[str, Any]:
    return {
        "path": upgrade.path,
        "kind": upgrade.kind,
        "from": upgrade.releases[0].line,
        "to": upgrade.releases[-1].line,
        "releases": [
            {"torch_tensorrt": each.version, "tensorrt": each.tensorrt} for each in upgrade.releases
        ],
        "operator_count": upgrade.operator_count,
        "operators": [_operator(each, upgrade) for each in upgrade.operators],
        "findings": [_finding(each, upgrade) for each in upgrade.calls],
        "notes": list(upgrade.notes),
    }


def _operator(change: OperatorChange, upgrade: TorchUpgrade) -> dict[str, Any]:
    return {
        "operator": change.op,
        "lowered": change.lowered,
        "change": change.change,
        "since": change.since or None,
        "until": change.until or None,
        "in_torch": {
            release.line: state for release, state in zip(upgrade.releases, change.states, strict=True)
        },
        "count": change.count,
        "places": list(change.places),
    }


def _finding(change: CallChange, upgrade: TorchUpgrade) -> dict[str, Any]:
    return {
        "finding": finding_data(change.finding),
        "places": list(change.places),
        "releases": [upgrade.releases[index].line for index in change.releases],
    }
