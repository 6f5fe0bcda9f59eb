"""Special files for tests of functions that open and replace files."""

from __future__ import annotations

import os
import signal
import socket
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SPECIAL = ("pipe", "device", "socket", "directory", "link to a device")
needs_posix = pytest.mark.skipif(os.name == "nt", reason="such files are POSIX's")


def make(kind: str, path: Path) -> Path:
    """Put a special file of one of the kinds at a path; return the path that a test may try to replace.

    A test must not offer a device of the system to root: where the code under test is broken, the device
    is gone afterwards.
    """
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        # The name of a socket is at most a hundred bytes long.
        with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX) as bound:
            bound.bind(f"{short}/s")
            Path(short, "s").rename(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "device" and os.geteuid() == 0:
        try:
            os.mknod(path, stat.S_IFCHR | 0o666, Path("/dev/zero").stat().st_rdev)
        except PermissionError:  # root of a container without CAP_MKNOD
            pytest.skip("this user can replace devices of the system, and make none")
    elif kind == "device":
        return Path("/dev/zero")
    else:
        path.symlink_to("/dev/zero")
    return path


@contextmanager
def at_most(seconds: int = 120) -> Iterator[None]:
    """Fail a block that waits, such as for the writer of a pipe, instead of waiting with it.

    What waits, waits for ever: a short limit only fails on a busy machine.
    """

    def expired(*_: object) -> None:
        raise AssertionError(f"still waiting after {seconds} s")

    before = signal.signal(signal.SIGALRM, expired)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
