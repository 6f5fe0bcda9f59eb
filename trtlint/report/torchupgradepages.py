"""Report about an upgrade of Torch-TensorRT as a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trtlint.engine.torchupgrade import CHANGES, CallChange, TorchUpgrade
from trtlint.files.problem import Problem
from trtlint.report.document import Block, Code, Document, DocumentTable, Items, Part, Words
from trtlint.report.torchupgrade import HEADINGS, PLACES, operator_words, release_ranges, summary


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
