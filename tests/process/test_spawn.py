"""Tests of work in a separate process: its output and every way to end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import trtlint.errors
from trtlint.process import spawn
from trtlint.process.spawn import Limits, ProcessResult, run

HERE = (str(Path(__file__).parent),)
QUICK = Limits(seconds=300, memory=1 << 30)
ON_POSIX = pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")


def test_what_it_says_comes_back_in_order() -> None:
    ended = run("childwork", {"do": "nothing", "text": "ä\udcff"}, QUICK, paths=HERE)
    assert (ended.cause, ended.code, ended.signal) == ("done", 0, "")
    assert ended.answers[1] == {"do": "nothing", "text": "ä\udcff"}


def test_it_works_elsewhere_and_imports_nothing_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("json.py").write_text("raise SystemExit(7)", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    ended = run("childwork", {"do": "nothing"}, QUICK, paths=HERE)
    assert ended.cause == "done"
    assert ended.answers[0]["folder"] != str(tmp_path)
    assert not Path(ended.answers[0]["folder"]).exists()


def test_it_imports_the_package_of_its_parent(tmp_path: Path) -> None:
    """Another trtlint may be installed, such as an older version or another working tree."""
    (tmp_path / "trtlint").mkdir()
    (tmp_path / "trtlint/__init__.py").write_text("raise SystemExit(7)", encoding="utf-8")
    text = "import trtlint.errors\ndef work(request, say): say(trtlint.errors.__file__)\n"
    (tmp_path / "otherwork.py").write_text(text, encoding="utf-8")
    ended = run("otherwork", {}, QUICK, paths=(str(tmp_path),))
    assert ended.answers == (trtlint.errors.__file__,)


@ON_POSIX
def test_a_crash_keeps_what_was_said_and_printed(tmp_path: Path) -> None:
    log = tmp_path / "out.log"
    ended = run("childwork", {"do": "crash"}, QUICK, paths=HERE, log=log)
    assert (ended.cause, ended.code, ended.signal) == ("crashed", None, "SIGSEGV")
    assert ended.words == "crashed (SIGSEGV)"
    assert len(ended.answers) == 1
    assert log.read_text(encoding="utf-8").startswith("working")


def test_it_is_stopped_when_its_time_is_over() -> None:
    ended = run("childwork", {"do": "sleep"}, Limits(seconds=0.5), paths=HERE)
    assert ended.cause == "time"
    assert 0.5 <= ended.seconds < 300
    assert ended.words.startswith("was stopped after ")


@pytest.mark.skipif(sys.platform != "linux", reason="memory is watched through /proc")
def test_it_is_stopped_when_it_takes_too_much_memory() -> None:
    ended = run("childwork", {"do": "eat"}, Limits(seconds=300, memory=200 << 20), paths=HERE)
    assert ended.cause == "memory"
    assert ended.peak is not None
    assert ended.peak > 100 << 20


def test_an_exception_is_a_failure_and_its_text_is_printed(tmp_path: Path) -> None:
    log = tmp_path / "out.log"
    ended = run("childwork", {"do": "raise"}, QUICK, paths=HERE, log=log)
    assert (ended.cause, ended.code) == ("failed", 1)
    assert "RuntimeError: no such thing" in log.read_text(encoding="utf-8")


def test_a_module_that_is_not_there_is_a_failure() -> None:
    assert run("no_such_module", {}, QUICK).cause == "failed"


SMALL_PARENT = """
import sys
from trtlint.process import spawn
from trtlint.process.spawn import Limits, run
print(run("childwork", {"do": "nothing"}, Limits(seconds=300), paths=(sys.argv[1],)).peak)
"""


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="only POSIX tells")
def test_the_peak_of_its_memory_is_known() -> None:
    # Linux counts the memory of the parent when it starts a child, and a process of tests may be large.
    done = subprocess.run([sys.executable, "-c", SMALL_PARENT, *HERE], capture_output=True, check=True)
    assert 4 << 20 < int(done.stdout) < 1 << 30


PARENT = """
import sys
from trtlint.process import spawn
from trtlint.process.spawn import Limits, run
def listen(said):
    print(said["pid"], flush=True)
run("childwork", {"do": "sleep"}, Limits(), paths=(sys.argv[1],), listen=listen)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux ends children with their parent")
def test_it_ends_with_its_parent() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, *HERE], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    until = time.monotonic() + 60
    while is_running(child):
        assert time.monotonic() < until
        time.sleep(0.01)


def is_running(process: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        state = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in ("Z", "X")


@ON_POSIX
@pytest.mark.parametrize(("platform", "peak"), [("linux", 7 << 10), ("darwin", 7)])
def test_the_peak_of_a_process_is_in_bytes(platform: str, peak: int, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = SimpleNamespace(ru_maxrss=7, ru_utime=1.0, ru_stime=0.5)
    answers = iter([(0, 0, usage), (5, 256, usage)])
    monkeypatch.setattr(os, "wait4", lambda pid, flags: next(answers))
    monkeypatch.setattr(sys, "platform", platform)
    process: Any = SimpleNamespace(pid=5, returncode=None)
    assert spawn._poll(process) == (False, None, 0.0)
    assert spawn._poll(process) == (True, peak, 1.5)
    assert process.returncode == 1


def test_processes_without_wait4(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "wait4", raising=False)
    codes = iter([None, 0])
    process: Any = SimpleNamespace(poll=lambda: next(codes))
    assert [spawn._poll(process), spawn._poll(process)] == [(False, None, 0.0), (True, None, 0.0)]


@pytest.mark.parametrize(
    ("code", "name"),
    [(0, ""), (1, ""), (-11, "SIGSEGV"), (-9, "SIGKILL"), (-99, "signal 99"), (0xC0000005, "0xC0000005")],
)
def test_names_of_signals(code: int, name: str) -> None:
    assert spawn._signal_name(code) == name


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        (ProcessResult("crashed", None, "SIGBUS", 1.0, None, ()), "crashed (SIGBUS)"),
        (ProcessResult("time", None, "SIGKILL", 1.26, None, ()), "was stopped after 1.3 s"),
        (ProcessResult("memory", None, "SIGKILL", 1.0, None, ()), "was stopped at its memory limit"),
        (ProcessResult("done", 0, "", 1.0, None, ()), "ended"),
        (ProcessResult("failed", 3, "", 1.0, None, ()), "ended with code 3"),
    ],
)
def test_the_end_of_a_process_in_words(ended: ProcessResult, words: str) -> None:
    assert ended.words == words


class Watched:
    """A fake process whose checks return these results."""

    def __init__(self, code: int, checks: int = 0) -> None:
        self.pid, self.returncode, self.left, self.killed = 7, code, checks, 0

    def kill(self) -> None:
        """Count the signals."""
        self.killed += 1


def watch(
    process: Watched, limits: Limits, monkeypatch: pytest.MonkeyPatch, times: list[float], memory: list[int]
) -> ProcessResult:
    """Watch a process with these times and memory sizes."""

    def poll(watched: Watched) -> tuple[bool, int | None, float]:
        watched.left -= 1
        return watched.left < 0, 9, 0.5

    clock, used = iter([10.0, *times]), iter(memory)
    stand_in = SimpleNamespace(monotonic=lambda: next(clock), sleep=pauses.append)
    pauses.clear()
    monkeypatch.setattr(spawn, "_poll", poll)
    monkeypatch.setattr(spawn, "time", stand_in)
    monkeypatch.setattr(spawn, "memory_of", lambda pid: next(used))
    return spawn._watch(cast("Any", process), limits, Path("no such file"), None)


pauses: list[float] = []
LIMITS = Limits(seconds=5.0, memory=100)


@ON_POSIX
@pytest.mark.parametrize(
    ("code", "times", "memory", "cause", "killed"),
    [
        (0, [11.0], [], "done", 0),
        (2, [11.0], [], "failed", 0),
        (-signal.SIGSEGV, [11.0], [], "crashed", 0),
        (-signal.SIGXCPU, [11.0], [], "time", 0),
        (0, [15.0, 15.0], [100], "done", 0),
        (-signal.SIGKILL, [15.5, 16.0], [], "time", 1),
        (-signal.SIGKILL, [15.0, 16.0], [101], "memory", 1),
        # The first limit that is exceeded is the cause.
        (-signal.SIGKILL, [15.0, 16.0, 17.0], [101], "memory", 2),
        (-signal.SIGXCPU, [15.0, 16.0], [101], "memory", 1),
        (0, [16.0, 17.0], [], "time", 1),
    ],
)
def test_the_cause_of_the_end(
    code: int, times: list[float], memory: list[int], cause: str, killed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = Watched(code, len(times) - 1)
    name = {-11: "SIGSEGV", -9: "SIGKILL"}.get(code, "SIGXCPU" if code < 0 else "")
    ended = watch(process, LIMITS, monkeypatch, times, memory)
    seconds = times[-1] - 10
    crash = name if cause == "crashed" else ""
    assert ended == ProcessResult(cast("Any", cause), None if name else code, crash, seconds, 9, (), 0.5)
    assert process.killed == killed


def test_pauses_between_checks_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    watch(Watched(0, 12), LIMITS, monkeypatch, [10.0] * 13, [0] * 12)
    assert pauses == pytest.approx([*(0.001 * 1.5**step for step in range(8)), *[0.02] * 4])


def test_each_answer_is_heard_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "answers"
    heard: list[Any] = []
    texts = iter([None, b'1\n{"a"', b'1\n{"a"', b'1\n{"a": 2}\n3\n', b'1\n{"a": 2}\n3\n4\n'])

    def poll(_: object) -> tuple[bool, None, float]:
        text = next(texts)
        if text is not None:
            file.write_bytes(text)
        return text is not None and text.endswith(b"4\n"), None, 0.0

    monkeypatch.setattr(spawn, "_poll", poll)
    monkeypatch.setattr(spawn, "_SHORTEST", 0.0)
    ended = spawn._watch(cast("Any", Watched(0)), Limits(), file, heard.append)
    assert heard == [1, {"a": 2}, 3, 4]
    assert ended.answers == (1, {"a": 2}, 3, 4)


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        (b"", ()),
        (b'1\n"a"\n', (1, "a")),
        (b"1\n2", (1,)),
        (b"1\nnot json\n2\n", (1, 2)),
        (b"1\n" + b"[" * 200_000 + b"\n2\n", (1, 2)),
        (None, ()),
    ],
)
def test_answers_are_read_up_to_a_line_that_was_cut(
    text: bytes | None, answers: tuple[Any, ...], tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / "answers").write_bytes(text)
    assert spawn._read(tmp_path / "answers") == answers


def test_answers_are_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(spawn, "_MOST_ANSWERS", 4)
    for text, answers in ((b"1\n2\n", (1, 2)), (b"1\n23\n", (1,))):
        (tmp_path / "answers").write_bytes(text)
        assert spawn._read(tmp_path / "answers") == answers


@ON_POSIX
@pytest.mark.parametrize(
    ("pages", "memory"), [(1 << 20, 4 << 30), ((1 << 20) + 1, (4 << 30) + 4096), (9, 4 << 30)]
)
def test_memory_of_the_machine(pages: int, memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": pages}
    monkeypatch.setattr(os, "sysconf", known.__getitem__)
    assert spawn.machine_memory() == memory


def test_memory_of_a_machine_that_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: str) -> int:
        raise ValueError

    monkeypatch.setattr(os, "sysconf", unknown, raising=False)
    assert spawn.machine_memory() == 4 << 30
