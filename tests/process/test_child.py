"""Tests of forked children: none survives, and none runs the parent's code."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from trtlint.process.fork import Child, compute_all

ROOM = 1 << 30

pytestmark = [
    pytest.mark.isolated,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork"),
]


class _LateError(BaseException):
    """Raised by a signal handler."""


@contextmanager
def handled() -> Iterator[None]:
    """Install a SIGUSR1 handler that raises."""

    def handler(*_: object) -> None:
        raise _LateError

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


def ended(pid: int) -> bool:
    """Return whether a process was waited for."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def fork_then_signal(monkeypatch: pytest.MonkeyPatch, pids: list[int]) -> None:
    """Send a signal right after each fork, in the parent and in the child."""
    real = os.fork

    def fork() -> int:
        pid = real()
        pids.append(pid)
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)  # the tests may have other threads
        return pid

    monkeypatch.setattr(os, "fork", fork)


def test_an_exception_right_behind_the_fork_leaves_no_child(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pids: list[int] = []
    fork_then_signal(monkeypatch, pids)
    mark = tmp_path / "parent"
    with handled(), pytest.raises(_LateError):
        list(compute_all([lambda: b"1"]))
    mark.write_text(f"{mark.read_text() if mark.exists() else ''}{os.getpid()} ")
    assert mark.read_text() == f"{os.getpid()} "  # the child did not come here
    assert len(pids) == 1
    assert ended(pids[0])
    assert signal.SIGUSR1 not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_child_ends_whatever_its_work_raises() -> None:
    def deep() -> None:
        deep()

    for work, code in ((deep, 1), (lambda: None, 0), (lambda: sys.exit(0), 1)):
        with Child(lambda _, work=work: work(), ROOM) as one:  # type: ignore[misc]
            one.wait()
        assert one.code == code


def test_a_child_ends_with_the_block() -> None:
    with pytest.raises(ValueError, match="now"), Child(lambda _: signal.pause(), ROOM) as one:
        raise ValueError("now")
    assert one.signal == "SIGKILL"
    assert ended(one.pid)


def test_the_child_has_the_signals_of_its_parent() -> None:
    def work(_: int) -> None:
        os._exit(len(signal.pthread_sigmask(signal.SIG_BLOCK, ())))

    before = len(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
    with Child(work, ROOM) as one:
        one.wait()
    assert one.code == before
