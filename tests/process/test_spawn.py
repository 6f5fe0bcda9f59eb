"""Work in a process of its own: what it says, and every way in which it can end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trtlint.process import spawn
from trtlint.process.spawn import Limits, run

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
    """Whether a process is there, and no zombie that nobody has asked after."""
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
