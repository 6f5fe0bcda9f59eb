"""Tests of memory and time limits and their messages."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import threading
import time
from importlib import import_module
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from trtlint.files import limits, regular, temporary
from trtlint.files.limits import Allowance, LimitError, amount, current, limit_work, scale_allowance
from trtlint.files.problem import first_few, shorten


@pytest.mark.parametrize(
    ("memory", "words"),
    [
        (2 << 30, "2 GB"),
        (2600 << 20, "2.5 GB"),
        (800 << 20, "800 MB"),
        (1 << 30, "1 GB"),
        ((1 << 30) - 1, "1023 MB"),
    ],
)
def test_memory_in_words(memory: int, words: str) -> None:
    assert amount(memory) == words


@pytest.mark.parametrize(
    ("count", "words"),
    [(4 << 20, "4 MiB"), (1 << 20, "1 MiB"), ((1 << 20) - 1, "1023 KiB"), (1 << 10, "1 KiB")],
)
def test_sizes_of_files_in_words(count: int, words: str) -> None:
    assert regular._size(count) == words


def test_limits_grow_beyond_an_ordinary_file() -> None:
    ordinary = scale_allowance(10.0, 100, limits.ORDINARY)
    assert (ordinary.seconds, ordinary.memory) == (10.0, 100)
    assert scale_allowance(10.0, 100, 0).seconds == 10.0
    more = scale_allowance(10.0, 100, limits.ORDINARY + (8 << 20))
    assert more.seconds == pytest.approx(10.0 + 8 * limits._SECONDS_PER_MEBIBYTE)
    assert more.memory == 100 + limits._MEMORY_PER_BYTE * (8 << 20)


def test_what_is_left_of_an_allowance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.thread_time", lambda: 100.0)
    allowance = Allowance(10.0, 1)
    allowance.charge(2.0)
    monkeypatch.setattr("time.thread_time", lambda: 103.0)
    assert allowance.left == pytest.approx(5.0)
    assert allowance.left_but(0.25) == pytest.approx(2.5)
    allowance.charge(6.0)
    assert allowance.left == pytest.approx(-1.0)
    assert allowance.words == "the limit of 10 s of processor time"


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="the system knows no such flags")
def test_old_folders_are_opened_without_following_and_without_waiting() -> None:
    assert temporary._OLD & os.O_NOFOLLOW
    assert temporary._OLD & os.O_NONBLOCK


needs_timer = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no such timer")
AMPLE = (1000.0, 1 << 40)


def spin(seconds: float) -> bool:
    """Use CPU time."""
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
    return True


@needs_timer
def test_work_ends_at_a_limit_of_time() -> None:
    with (
        pytest.raises(
            LimitError,
            match=r"^reading and checking this file exceeded the limit of 0\.1 s of processor time, ",
        ),
        limit_work(allowance=Allowance(0.1, 1 << 40)),
    ):
        spin(5)
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
    assert current() is None


@needs_timer
def test_other_threads_use_no_time_of_the_limit() -> None:
    ended = threading.Event()

    def burn() -> None:
        while not ended.is_set():
            hashlib.sha256(bytes(1 << 22)).digest()  # runs while other threads run

    burning = threading.Thread(target=burn)
    burning.start()
    try:
        with limit_work(allowance=Allowance(0.3, 1 << 40)):
            until = time.process_time() + 1
            while time.process_time() < until:
                time.sleep(0.01)
    finally:
        ended.set()
        burning.join()


@needs_timer
@pytest.mark.skipif(limits.memory_of() == 0, reason="the system does not say how much memory a process has")
def test_work_ends_at_a_limit_of_memory() -> None:
    held = []  # Blocks beyond 32 MiB are always new memory: malloc keeps smaller ones that were freed.
    with (
        pytest.raises(LimitError, match="the limit of 2 MiB of memory, "),
        limit_work(allowance=Allowance(9, 2 << 20)),
    ):
        held.append(b"x" * (64 << 20))
        spin(5)
    with limit_work(allowance=Allowance(9, 1 << 40)):
        held.append(b"x" * (64 << 20))
        assert spin(0.1)


@needs_timer
def test_an_outer_limit_ends_inner_work() -> None:
    inner = ""
    with pytest.raises(LimitError, match=r"limit of 0\.1 s"), limit_work(allowance=Allowance(0.1, 1 << 40)):
        try:
            with limit_work(allowance=Allowance(*AMPLE)):
                spin(5)
        except LimitError as error:
            inner = str(error)
    assert inner == ""
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


@needs_timer
def test_an_inner_limit_leaves_the_outer_one() -> None:
    outer = Allowance(*AMPLE)
    with limit_work(allowance=outer):
        with (
            pytest.raises(LimitError, match=r"limit of 0\.1 s"),
            limit_work(allowance=Allowance(0.1, 1 << 40)),
        ):
            spin(5)
        assert current() is outer
        assert signal.getitimer(signal.ITIMER_PROF)[1] > 0


@needs_timer
def test_a_block_in_a_block_has_its_limits() -> None:
    with limit_work():
        with limit_work(allowance=Allowance(0.0, 0)):
            assert spin(0.1)
        assert signal.getitimer(signal.ITIMER_PROF)[1] > 0


@needs_timer
def test_other_threads_and_programs_with_a_timer_have_no_limits() -> None:
    timers = []

    def work() -> None:
        with limit_work(allowance=Allowance(0.0, 0)):
            timers.append(signal.getitimer(signal.ITIMER_PROF))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    before = signal.signal(signal.SIGPROF, lambda *_: None)
    try:
        work()
        assert signal.getsignal(signal.SIGPROF) not in (signal.SIG_DFL, signal.SIG_IGN)
    finally:
        signal.signal(signal.SIGPROF, before)
    assert timers == [(0.0, 0.0)] * 2


def test_long_texts_and_lists_are_cut() -> None:
    assert shorten("n" * 1000) == "n" * 1000
    assert shorten("n" * 1001) == "n" * 1000 + "…"
    assert [first_few(["a", "b", "c"], most) for most in (1, 2, 3)] == [
        "a and 2 more",
        "a, b and 1 more",
        "a, b, c",
    ]


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        ("may take 4.5 s of CPU time", "files.limits.SECONDS", 4.5),
        ("and 800 MiB of memory", "files.limits.MEMORY", 800 << 20),
        ("larger than 10 MiB, the limits grow", "files.limits.ORDINARY", 10 << 20),
        ("grow by 0.5 s", "files.limits._SECONDS_PER_MEBIBYTE", 0.5),
        ("grow by 0.5 s and 32 MiB", "files.limits._MEMORY_PER_BYTE", 32),
        (
            "With `--weights`, the time limit grows by 0.01 s",
            "files.limits._SECONDS_PER_WEIGHT_MEBIBYTE",
            0.01,
        ),
        ("4,000,000 protobuf fields", "model.reader._MOST_FIELDS", 4_000_000),
        ("96 nested messages", "model.reader._DEEPEST", 96),
        ("1 GiB without its tensors", "model.reader._MOST_BYTES", 1 << 30),
        ("64 dimensions of a tensor", "model.protos.MOST_DIMENSIONS", 64),
        ("expand to 500,000 nodes", "model.inline._MOST_NODES", 500_000),
        ("500,000 nodes or 96 MiB", "model.inline._MOST_BYTES", 96 << 20),
        ("64 nested calls", "model.inline._DEEPEST", 64),
        ("30 nested subgraphs", "model.inline._DEEPEST_BODY", 30),
        ("shape inference of a model | 20 s", "model.infer.SECONDS", 20.0),
        ("20 s, 3 s of processor time", "model.infer._PROCESSOR", 3),
        ("640 MiB of memory plus", "model.infer._MEMORY", 640 << 20),
        ("plus 16 bytes for each byte", "model.infer._MEMORY_PER_BYTE", 16),
        ("at most 4 GiB", "model.infer._MOST_MEMORY", 4 << 30),
        ("a result of 64 MiB", "model.infer._MOST_ANSWER", 64 << 20),
        ("plus 4 bytes for each byte", "model.infer._ANSWER_PER_BYTE", 4),
        ("4,096 elements of a computed constant", "model.folding.MAX_ELEMENTS", 4096),
        ("256 MiB of a tensor", "model.streaming._LARGEST_WHOLE", 256 << 20),
        ("log of a build | 8 GiB", "buildfiles.scan.MOST", 8 << 30),
        ("4 MiB a line", "buildfiles.scan.LONGEST", 4 << 20),
        ("200,000 warnings and errors", "buildfiles.log._MOST_LOUD", 200_000),
        ("4,000 characters a message", "buildfiles.records.MESSAGE", 4000),
        ("8,000,000 characters of messages", "buildfiles.records._ROOM", 8_000_000),
        ("a `.gz` log: 64 MiB", "buildfiles.stream._MOST_UNZIPPED", 64 << 20),
        ("plus 100 times the size", "buildfiles.stream._MOST_RATIO", 100),
        ("log of ONNX Runtime | 256 MiB", "buildfiles.ortlog._MOST_BYTES", 256 << 20),
        ("100,000 nodes", "buildfiles.ortlog._MOST_NODES", 100_000),
        ("4,000 bytes a line", "buildfiles.ortlog._LONGEST", 4000),
        ("JSON of a build | 256 MiB", "buildfiles.layers.LARGEST_JSON", 256 << 20),
        ("200,000 layers", "buildfiles.layers._MOST_LAYERS", 200_000),
        ("a script of 4 MiB", "buildcommand.scan._MAX_BYTES", 4 << 20),
        ("400 lines of one command", "buildcommand.scan._MAX_JOINED", 400),
        ("`config.pbtxt` of 1 MiB", "buildcommand.triton._MOST_BYTES", 1 << 20),
        ("50 nested messages", "buildcommand.triton._DEEPEST", 50),
        ("10,000 inputs and outputs", "buildcommand.triton._MOST_TENSORS", 10_000),
        ("2 MiB a file", "model.sources._LARGEST", 2 << 20),
        ("64 MiB in a run", "model.sources._MOST_READ", 64 << 20),
        ("20,000 file lookups", "model.sources._MOST_LOOKS", 20_000),
        ("baseline, ranges file | 64 MiB", "policy.baseline._MOST_BYTES", 64 << 20),
        ("baseline, ranges file | 64 MiB", "measurement.measurement._MOST_BYTES", 64 << 20),
        ("300 code blocks", "examples.blocks._MOST_BLOCKS", 300),
        ("30 s of processor time, 60 s", "runs.examples.SECONDS", 30),
        ("60 s for one example", "runs.examples.WALL", 60.0),
        ("1 GiB of memory, 64 MiB for tensors", "runs.examples.MEMORY", 1 << 30),
        ("5 broken rule files", "runs.examples.MOST_BROKEN", 5),
        ("1,000,000 rows", "report.trend.MOST_ROWS", 1_000_000),
        ("512 MiB of JSON Lines", "report.trend.MOST_BYTES", 512 << 20),
        ("1 MiB a row", "report.trend.LONGEST_LINE", 1 << 20),
        ("256 MiB of different texts", "report.trend._MOST_TEXT", 256 << 20),
        ("1,000 entries", "policy.suppression._MOST", 1000),
        ("1,048,576 characters", "policy.suppression._LONGEST", 1_048_576),
        ("1,000,000 for the product", "policy.suppression._MOST_CHECKED", 1_000_000),
        ("2,000,000,000 for the product", "policy.suppression._MOST_COMPARED", 2_000_000_000),
    ],
)
def test_documented_limits(words: str, name: str, value: float) -> None:
    assert words in re.sub(r"\s+", " ", (REPOSITORY / "SECURITY.md").read_text("utf-8"))
    module, _, constant = name.rpartition(".")
    assert getattr(import_module(f"trtlint.{module}"), constant) == value


def test_looks_end_the_work_at_once_and_again_a_while_later(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("time.thread_time", lambda: clock[0])
    watch = limits._Watch(Allowance(0.25, 1 << 40), widens=True)
    watch._highest = 1 << 60
    stops: list[float] = []
    for now in (0.0, 0.25, 0.5, 0.5 + limits._AGAIN / 2, 0.5 + limits._AGAIN, 0.75 + limits._AGAIN):
        clock[0] = now
        try:
            watch.look()
        except limits._StopError as stop:
            assert stop.reason.startswith(f"{limits._EXCEEDED} 0.2 s of processor time, ")
            stops.append(now)
    assert stops == [0.5, 0.5 + limits._AGAIN]


def test_files_and_processes_that_do_not_exist_have_no_size(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(5))
    files: list[str | Path] = [
        tmp_path / "a",
        str(tmp_path / "a"),
        tmp_path / "missing",
        tmp_path / "no\0name",
    ]
    assert [limits.size_of(file) for file in files] == [5, 5, 0, 0]
    assert limits.memory_of("nothing") == 0


@needs_timer
def test_external_weights_extend_all_limits(tmp_path: Path) -> None:
    with (tmp_path / "w.data").open("wb") as file:
        file.truncate(100 << 20)
    outer, inner = Allowance(2.0, 1 << 40), Allowance(1.0, 1 << 40)
    limits.extend_for_weights(tmp_path / "w.data")
    with limit_work(allowance=outer), limit_work(allowance=inner):
        limits.extend_for_weights(tmp_path / "w.data")
    assert (outer.seconds, inner.seconds) == (3.0, 2.0)
