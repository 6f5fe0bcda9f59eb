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
    """Create a special file and return the path that a test can try to replace.

    A test that runs as root must not use a system device: faulty code under test would delete it.
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
    """Fail if the block waits longer than this, such as for the writer of a pipe.

    A faulty block waits forever, so a short limit would only cause failures on busy machines.
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
