"""Tests that child processes do not inherit ignored signals."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY

IGNORING = """
import os, signal, subprocess, sys
from tests.signals import catch_ignored

NAMES = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM")
for name in NAMES:
    signal.signal(getattr(signal, name), signal.SIG_IGN)
catch_ignored()
os.kill(os.getpid(), signal.SIGHUP)
os.kill(os.getpid(), signal.SIGINT)
ask = "import signal as s, sys; print(*(s.getsignal(getattr(s, n)) is s.SIG_IGN for n in sys.argv[1:]))"
print(subprocess.run([sys.executable, "-S", "-c", ask, *NAMES], capture_output=True, text=True).stdout)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_what_is_ignored_here_is_not_ignored_in_children() -> None:
    """The process itself still ignores the signals."""
    done = subprocess.run(
        [sys.executable, "-c", IGNORING],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.split() == ["False"] * 4
