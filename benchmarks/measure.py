"""Run commands and measure their cost."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

PYTHON = [sys.executable]
TRTLINT = [sys.executable, "-m", "trtlint"]


# An installed package contains bytecode. In a checkout, the first run writes it, unless this is disabled.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of a command: the best wall time in seconds, and the peak memory in MB.

    ``processor`` is the smallest processor time of a run in seconds, user and kernel. The load of the machine
    hardly affects this time.
    """

    seconds: float
    megabytes: float
    processor: float = float("inf")


def cost(command: Sequence[str], runs: int = 5) -> Cost:
    """Return the cost of a command; see :func:`costs`."""
    (found,) = costs([command], runs)
    return found


def costs(
    commands: Sequence[Sequence[str]], runs: int = 5, before: Callable[[], object] | None = None
) -> list[Cost]:
    """Run commands several times, in turn, so that the load of the machine affects all of them.

    The output is discarded. Exit code 1 (findings) is not a failure.

    Args:
        commands: the commands.
        runs: number of runs of each command.
        before: function that is called before each run; its time does not count.

    Raises:
        subprocess.CalledProcessError: a command failed.
    """
    best = [Cost(float("inf"), 0.0)] * len(commands)
    for _ in range(runs):
        for position, command in enumerate(commands):
            if before is not None:
                before()
            once, so_far = _once(command), best[position]
            best[position] = Cost(
                min(once.seconds, so_far.seconds),
                max(once.megabytes, so_far.megabytes),
                min(once.processor, so_far.processor),
            )
    return best


def _once(command: Sequence[str]) -> Cost:
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise subprocess.CalledProcessError(process.returncode, command)
    return Cost(seconds, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime)


def report(name: str, value: float, goal: float, unit: str = "") -> bool:
    """Print a figure and its goal; return whether the goal is met."""
    met = value <= goal
    print(f"  {name:<64} {value:>8.2f}{unit}   goal <= {goal:g}{unit}   {'met' if met else 'MISSED'}")
    return met
