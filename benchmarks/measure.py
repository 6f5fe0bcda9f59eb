"""Running commands and saying what they cost."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

PYTHON = [sys.executable]
TRTLINT = [sys.executable, "-m", "trtlint"]


@dataclass(frozen=True, slots=True)
class Cost:
    """What one command costs: the best wall time in seconds, the peak of its memory in MB."""

    seconds: float
    megabytes: float


def cost(command: Sequence[str], runs: int = 5) -> Cost:
    """Run a command a few times; its output is thrown away, findings (exit code 1) are no failure.

    Raises:
        subprocess.CalledProcessError: the command failed.
    """
    best, peak = float("inf"), 0
    for _ in range(runs):
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        best = min(best, time.perf_counter() - start)
        peak = max(peak, usage.ru_maxrss)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1):
            raise subprocess.CalledProcessError(process.returncode, command)
    return Cost(best, peak / 1024)


def report(name: str, value: float, goal: float, unit: str = "") -> bool:
    """Print one measured figure beside its goal; whether it is met."""
    met = value <= goal
    print(f"  {name:<64} {value:>8.2f}{unit}   goal <= {goal:g}{unit}   {'met' if met else 'MISSED'}")
    return met
