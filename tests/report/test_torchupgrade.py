"""Tests of the terminal report on a Torch-TensorRT upgrade, line by line."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tests.report import handmade
from tests.report.screen import stream
from trtlint.engine.torchupgrade import CallChange, Change, OperatorChange, TorchUpgrade
from trtlint.files.problem import Problem
from trtlint.knowledge.torchreleases import TorchRelease
from trtlint.report.torchupgrade import TorchUpgradeReport, operator_words, release_ranges, summary


def release(line: str) -> TorchRelease:
    """Return a release."""
    return TorchRelease(f"{line}.0", f"10.{line[2:]}.0", tagged=True)


RELEASES = tuple(map(release, ("2.7", "2.8", "2.9", "2.10", "2.11")))


def operator(op: str, change: Change, *states: bool | None, **more: Any) -> OperatorChange:
    """Return the change of an operator."""
    given: dict[str, Any] = {"lowered": op, "since": "", "until": "", "count": 1, "places": ("a.py:1",)}
    return OperatorChange(op=op, change=change, states=states, **{**given, **more})


def program(*operators: OperatorChange, notes: Sequence[str] = ()) -> TorchUpgrade:
    """Return the upgrade of a program."""
    return TorchUpgrade("net.pt2", "program", RELEASES, (), operators, 9, tuple(notes))


def call(
    rule: str, *releases: int, advice: Sequence[str] = (), places: Sequence[str] = ("b.py:3",)
) -> CallChange:
    """Return the change of a call."""
    finding = replace(
        handmade.CLIP, rule=rule, name=f"name-{rule}", message=f"{rule} is new", advice=tuple(advice)
    )
    return CallChange(finding, tuple(places), releases)


def script(*calls: CallChange) -> TorchUpgrade:
    """Return the upgrade of a script."""
    return TorchUpgrade("b.py", "script", RELEASES, calls)


def shown(*upgrades: TorchUpgrade, quiet: bool = False, width: int | None = None) -> list[str]:
    """Return the lines of a report."""
    with stream(width) as file:
        report = TorchUpgradeReport(file, quiet=quiet)
        for upgrade in upgrades:
            report.add(upgrade)
    return file.getvalue().splitlines()


TITLE = "Torch-TensorRT 2.7 to 2.11 (TensorRT 10.7.0 to 10.11.0)"
GLU = operator("glu", "converts", True, True, None, False, False, since="2.10", until="2.8", count=4)
ROUND = operator("round", "falls back", False, True, True, True, True, since="2.8", until="2.7")
SORT = operator("sort", "stays in PyTorch", True, True, True, True, True, lowered="topk", count=2)
FFT = operator("fft", "unknown", None, True, True, False, None)


def test_a_program() -> None:
    places = ("a.py:1", "a.py:2", "a.py:3", "a.py:4")
    found = program(replace(GLU, places=places), ROUND, replace(SORT, count=3, places=places), FFT)
    assert shown(replace(found, notes=("the tables", "no run"))) == [
        f"net.pt2: {TITLE}: 1 operator newly fall back to PyTorch, 1 newly convert, 1 stay in PyTorch, "
        "1 not known",
        "",
        "Newly fall back to PyTorch",
        "  round, 1 node: falls back from 2.8",
        "      at: a.py:1",
        "",
        "Newly convert",
        "  glu, 4 nodes: converts from 2.10 at the latest (2.9: not known)",
        "      at: a.py:1, a.py:2, a.py:3 and 1 more",
        "",
        "Stay in PyTorch",
        "  sort (as topk), 3 nodes",
        "      at: a.py:1, a.py:2, a.py:3",
        "",
        "Support is unknown in the first or the last release",
        "  fft, 1 node: PyTorch in 2.8 to 2.9, converted in 2.10",
        "      at: a.py:1",
        "note: the tables",
        "note: no run",
    ]


def test_a_script() -> None:
    found = script(
        call("TTR1", 0, 1, 4, advice=("Drop it.", "Or pin it."), places=("b.py:3", "b.py:9")),
        call("TTR2", 1, 2, advice=("Drop it.", "Or move it.")),
        call("TTR3", 4),
    )
    assert shown(replace(found, notes=("one file was skipped",))) == [
        f"b.py: {TITLE}: 1 new finding, 0 gone",
        "  note[TTR1] in 2.7 to 2.8, 2.11: TTR1 is new",
        "      at: b.py:3, b.py:9",
        "      do: Drop it.",
        "      do: Or pin it.",
        "",
        "2.7 to 2.8",
        "  note[TTR2] in 2.8 to 2.9: TTR2 is new",
        "      at: b.py:3",
        "      do: Or move it.",
        "",
        "2.8 to 2.9",
        "  gone: TTR1 b.py:3, b.py:9: name-TTR1",
        "",
        "2.9 to 2.10",
        "  gone: TTR2 b.py:3: name-TTR2",
        "",
        "2.10 to 2.11",
        "  note[TTR1] in 2.7 to 2.8, 2.11: TTR1 is new",
        "      at: b.py:3, b.py:9",
        "  note[TTR3] in 2.11: TTR3 is new",
        "      at: b.py:3",
        "note: one file was skipped",
    ]


def test_files_are_apart_and_quiet_files_are_not() -> None:
    empty = f"b.py: {TITLE}: no known change affects the calls"
    assert shown(script(), script(), script()) == [empty, "", empty, "", empty]
    one = f"b.py: {TITLE}: 1 new finding, 0 gone"
    assert shown(script(call("TTR1", 3, 4)), script(), quiet=True) == [one, empty]
    assert shown() == []


def test_lines_are_wrapped_at_the_width() -> None:
    assert shown(program(ROUND), width=40) == [
        "net.pt2: Torch-TensorRT 2.7 to 2.11",
        "(TensorRT 10.7.0 to 10.11.0): 1 operator",
        "newly fall back to PyTorch, 0 newly",
        "convert, 0 stay in PyTorch",
        "",
        "Newly fall back to PyTorch",
        "  round, 1 node: falls back from 2.8",
        "      at: a.py:1",
    ]


def test_a_problem() -> None:
    file = io.StringIO()
    TorchUpgradeReport(file).problem(Problem("net.pt2", "the file is empty"))
    assert file.getvalue() == "error: net.pt2: the file is empty\n"


@pytest.mark.parametrize(
    ("upgrade", "words"),
    [
        (program(), "0 operators newly fall back to PyTorch, 0 newly convert, 0 stay in PyTorch"),
        (
            program(ROUND, ROUND, GLU, GLU, GLU, SORT),
            "2 operators newly fall back to PyTorch, 3 newly convert, 1 stay in PyTorch",
        ),
        (
            program(FFT, FFT),
            "0 operators newly fall back to PyTorch, 0 newly convert, 0 stay in PyTorch, 2 not known",
        ),
        (script(), "no known change affects the calls"),
        (script(call("A", 0, 1, 2, 3, 4)), "0 new findings, 0 gone"),
        (script(call("A", 1, 2)), "0 new findings, 0 gone"),
        (script(call("A", 4), call("B", 1, 4), call("C", 0, 4)), "2 new findings, 0 gone"),
        (script(call("A", 0), call("B", 0, 3), call("C", 1, 4)), "1 new finding, 2 gone"),
    ],
)
def test_summary(upgrade: TorchUpgrade, words: str) -> None:
    assert summary(upgrade) == words


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            replace(GLU, states=(True, True, False, False, False), since="2.9"),
            "glu, 4 nodes: converts from 2.9",
        ),
        (
            replace(GLU, states=(True, None, None, None, False), since="2.11", until="2.7"),
            "glu, 4 nodes: converts from 2.11 at the latest (2.8, 2.9, 2.10: not known)",
        ),
        (SORT, "sort (as topk), 2 nodes"),
        (operator("fft", "unknown", None, True, None, None, None), "fft, 1 node: PyTorch in 2.8"),
        (operator("fft", "unknown", False, False, None, None, None), "fft, 1 node: converted in 2.7 to 2.8"),
    ],
)
def test_words_about_an_operator(change: OperatorChange, words: str) -> None:
    assert operator_words(change, program()) == words


@pytest.mark.parametrize(
    ("indexes", "words"),
    [
        ((), ""),
        ((0,), "2.7"),
        ((0, 1), "2.7 to 2.8"),
        ((0, 2, 3, 4), "2.7, 2.9 to 2.11"),
        ((0, 1, 3), "2.7 to 2.8, 2.10"),
    ],
)
def test_ranges_of_releases(indexes: Sequence[int], words: str) -> None:
    assert release_ranges(indexes, program()) == words
