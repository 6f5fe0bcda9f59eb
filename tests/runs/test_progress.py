"""Tests of progress bars: only on a terminal, from the start."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest

from tests.conftest import REPOSITORY
from tests.measurement.test_measuring import NORM
from trtlint.cli import run
from trtlint.runs import progress
from trtlint.runs.progress import Activity, Share, with_progress

pty = pytest.importorskip("pty", reason="no pseudo terminals here")
BAR = "━"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show progress bars without a delay, as for a user."""
    monkeypatch.setattr(progress, "_PATIENCE", 0)
    monkeypatch.setattr(progress, "_INTERVAL", 0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Replace standard error by a pseudo terminal, and yield a list that gets its output."""
    master, slave = pty.openpty()
    pieces: list[bytes] = []

    def drain() -> None:
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:  # the other end is closed
                return
            if not piece:
                return
            pieces.append(piece)

    reader = threading.Thread(target=drain, daemon=True)
    reader.start()
    shown: list[str] = []
    with os.fdopen(slave, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        yield shown
    reader.join(10)
    os.close(master)
    shown.append(b"".join(pieces).decode("utf-8", "replace"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(NORM), "norm.onnx")
    numbers = np.random.default_rng(0).standard_normal((2, 16, 64)).astype(np.float32)
    np.savez("x.npz", x=numbers)
    Path("vit.onnx").write_bytes((REPOSITORY / "examples" / "vit.onnx").read_bytes())
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "label"),
    [
        (("norm.onnx", "--weights", "--no-cache"), "linting norm.onnx"),
        (("fix", "vit.onnx", "--trt", "10.7", "--dry-run"), "fixing vit.onnx"),
        pytest.param(("measure", "norm.onnx", "--no-rehearse"), "measuring ranges", marks=pytest.mark.slow),
        (("convert", "vit.onnx", "--to", "fp16", "--no-measure", "--dry-run"), "reading the model"),
        (("upgrade", "vit.onnx", "--from", "8.6", "--isolated"), "comparing versions for vit.onnx"),
        (("facts", "vit.onnx"), "reading vit.onnx"),
        (("skeleton", "vit.onnx"), "copying vit.onnx"),
    ],
)
def test_a_command_shows_a_bar_on_a_terminal(
    words: tuple[str, ...], label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if words[0] in ("measure", "convert"):
        pytest.importorskip("onnxruntime")
    with terminal(monkeypatch) as shown:
        assert run(words) in (0, 1)
    assert label in shown[0]
    assert BAR in shown[0]
    assert shown[0].rfind("\x1b[2K") > shown[0].rfind(BAR), "the bar is erased at the end"


@pytest.mark.usefixtures("folder")
def test_a_pipe_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    assert run(["norm.onnx", "--weights", "--no-cache"]) == 0
    assert stream.getvalue() == ""


@pytest.mark.parametrize(("name", "value"), [("CI", "true"), ("TERM", "dumb")])
def test_ci_and_a_dumb_terminal_get_no_bar(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    assert list(with_progress(range(3), 3)) == [0, 1, 2]
    assert stream.getvalue() == ""


@pytest.mark.parametrize("both", [False, True], ids=["stderr", "both"])
def test_the_bar_leaves_the_terminal_while_an_item_is_used(
    both: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    error, out = Terminal(), Terminal() if both else io.StringIO()
    monkeypatch.setattr(sys, "stderr", error)
    monkeypatch.setattr(sys, "stdout", out)
    for item in with_progress(range(3), 3, name=str):
        if both:
            text = error.getvalue()
            assert text.rfind("\x1b[2K") > text.rfind(BAR)
        print(item)
    assert out.getvalue() == "0\n1\n2\n"
    assert "linting 2" in error.getvalue()
    assert "/3" in error.getvalue()


def test_a_step_shows_its_share_on_the_bar_of_its_activity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    with Activity("linting"), Activity("inner"):
        share = Share("comparing [m].onnx")
        share(0.5)
        share.close()
    assert "comparing [m].onnx" in stream.getvalue()
    assert "inner" not in stream.getvalue()
    assert Activity.current is None


def test_a_short_activity_shows_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 3600)
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    with Activity("linting") as activity:
        activity.step("one", 0.5)
        activity.advance()
    assert BAR not in stream.getvalue()


class Bar:
    """A bar that records its output."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def add_task(self, label: str, *, total: int | None) -> str:
        """Add a task, and return its id."""
        self.calls.append(("task", label, total))
        return "id"

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **words: self.calls.append((name, *given, *words.values()))


@pytest.fixture
def bar(monkeypatch: pytest.MonkeyPatch) -> Bar:
    """Show this bar on a terminal."""
    made = Bar()
    monkeypatch.setattr(progress, "_progress", lambda *, counted: made.calls.append(counted) or made)
    streams = SimpleNamespace(stderr=Terminal(), stdout=Terminal(), maxsize=sys.maxsize)
    monkeypatch.setattr(progress, "sys", streams)
    return made


def test_the_calls_of_a_bar(bar: Bar) -> None:
    with Activity("all", 2) as activity:
        activity.step("one", 0.5)
        with activity.hidden():
            activity.step("hidden")
        activity.advance()
        activity.step()
    assert bar.calls == [
        True, ("task", "all", 2), ("start",),
        ("update", "id", "one"), ("refresh",),
        ("stop",), ("update", "id", "hidden"), ("start",),
        ("advance", "id"), ("update", "id", "all"), ("refresh",), ("stop",),
    ]  # fmt: skip


@pytest.mark.parametrize("total", [None, 0, 1])
def test_a_single_item_has_a_share(total: int | None, bar: Bar) -> None:
    with Activity("all", total) as activity:
        activity.step("one", 0.0)
        activity.step("two")
        activity.advance()
    assert bar.calls == [
        False, ("task", "all", None), ("start",),
        ("update", "id", "one"), ("update", "id", 1.0, 0.0), ("refresh",),
        ("update", "id", "two"), ("refresh",), ("stop",),
    ]  # fmt: skip


def test_a_bar_is_updated_at_most_each_tenth_of_a_second(bar: Bar, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_INTERVAL", 0.5)
    for times, expected in (([1.0, 1.25, 1.5, 1.75, 2.25], [1, 1, 2, 2, 3]), ([0.0], [1])):
        counts = []
        with Activity("all", 2) as activity:
            bar.calls.clear()
            for now in times:
                monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda now=now: now))
                activity.step("one")
                counts.append(bar.calls.count(("refresh",)))
        assert counts == expected


def test_shares_are_shown_at_most_each_tenth_of_a_second(bar: Bar, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_INTERVAL", 0.5)
    share = Share("part")
    share(0.1)
    with Activity("all"):
        for now in (1.0, 1.25, 1.5):
            monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda now=now: now))
            share(now / 2)
        share.close()
    updates = [call[2:] for call in bar.calls[1:] if call[0] == "update"]
    assert updates == [("part",), (1.0, 0.5), ("part",), (1.0, 0.75), ("all",)]


def test_items_are_counted_and_named(bar: Bar, monkeypatch: pytest.MonkeyPatch) -> None:
    streams = SimpleNamespace(stderr=Terminal(), stdout=io.StringIO(), maxsize=sys.maxsize)
    monkeypatch.setattr(progress, "sys", streams)
    names = ("a", "b")
    assert list(with_progress("xyz", 2, "fixing", names.__getitem__)) == ["x", "y", "z"]
    updates = [call[2:] for call in bar.calls[1:] if call[0] in ("update", "advance")]
    assert updates == [("fixing a",), (), ("fixing b",), (), ("fixing",), (), ("fixing",)]
    bar.calls.clear()
    assert list(with_progress("xy", None, "fixing", names.__getitem__)) == ["x", "y"]
    assert [call[2:] for call in bar.calls[1:] if call[0] == "update"] == [("fixing",)] * 3
    assert "advance" not in [call[0] for call in bar.calls[1:]]


@pytest.mark.parametrize(
    ("variable", "value", "shown"),
    [
        ("CI", "", True),
        ("CI", "0", True),
        ("CI", "false", True),
        ("CI", "1", False),
        ("TERM", "xterm", True),
        ("TERM", "dumb", False),
    ],
)
def test_terminals_with_a_bar(
    variable: str, value: str, shown: bool, bar: Bar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with Activity("all"):
        assert bool(bar.calls) is shown


def test_a_worker_has_no_bar(bar: Bar, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multiprocessing.parent_process", object)
    with Activity("all"):
        pass
    assert bar.calls == []


def test_a_bar_that_is_due_while_it_is_hidden_starts_later(bar: Bar, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 3600)
    with Activity("all", 2) as activity:
        with activity.hidden():
            activity._begin()
            assert bar.calls == [True, ("task", "all", 2)]
        assert bar.calls[2:] == [("start",)]
    activity._begin()
    assert bar.calls[2:] == [("start",), ("stop",)]


def test_a_bar_that_is_not_due_yet_stays_hidden(bar: Bar, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 3600)
    with Activity("all", 2) as activity, activity.hidden():
        activity.step("one")
    assert bar.calls == [True, ("task", "all", 2), ("update", "id", "one"), ("stop",)]
