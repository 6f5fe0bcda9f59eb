"""Running commands and saying what they cost."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

PYTHON = [sys.executable]
TRTLINT = [sys.executable, "-m", "trtlint"]


# An installed package has its bytecode; a checkout gets it with the first run, unless told not to.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True, slots=True)
class Cost:
    """What one command costs: the best wall time in seconds, the peak of its memory in MB.

    ``processor`` is the least time of the processor that a run took, its own and the kernel's for it, in
    seconds: what else the machine does hardly shows in it.
    """

    seconds: float
    megabytes: float
    processor: float = float("inf")


def cost(command: Sequence[str], runs: int = 5) -> Cost:
    """What a command costs; see :func:`costs`."""
    (found,) = costs([command], runs)
    return found


def costs(
    commands: Sequence[Sequence[str]], runs: int = 5, before: Callable[[], object] | None = None
) -> list[Cost]:
    """Run commands a few times, in turn, so that what else the machine does strikes all alike.

    Their output is thrown away; findings (exit code 1) are no failure.

    Args:
        commands: what to run.
        runs: how often.
        before: is called before every run, and not counted.

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
    """Print one measured figure beside its goal; whether it is met."""
    met = value <= goal
    print(f"  {name:<64} {value:>8.2f}{unit}   goal <= {goal:g}{unit}   {'met' if met else 'MISSED'}")
    return met
