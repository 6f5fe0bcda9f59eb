"""Work in a process of its own, with a limit of time and of memory.

What is run here is other people's native code on strangers' models: it crashes on some, never ends on
others, and takes what memory there is.  None of that may end or stop a lint.  The process is a fresh
Python in isolated mode, so that nothing of the current folder is imported; what it prints goes to a
file as it comes, and each answer is written at once, so that a crash loses neither.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from trtlint.files.limits import memory_of
from trtlint.files.telemetry import SILENT
from trtlint.lean import dataclass
from trtlint.process import Cause

_CHILD = Path(__file__).with_name("_child.py")
_PACKAGES = Path(__file__).parents[2]
_SHORTEST, _LONGEST = 0.001, 0.02
"""Seconds between two looks at the process."""
_LEAST_MEMORY = 4 << 30
_MOST_ANSWERS = 64 << 20
"""Bytes of answers that are read."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a process may take.

    Attributes:
        seconds: wall time.
        memory: bytes of memory of its own, files that it maps apart.
        processor: processor time; 0 for what its wall time allows on all processors.
    """

    seconds: float = 120.0
    memory: int = 8 << 30
    processor: float = 0.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended, and what it had said.

    Attributes:
        cause: how it ended.
        code: its exit code, None where a signal ended it.
        signal: the signal that ended it, such as ``SIGSEGV``; empty for none.
        seconds: how long it ran.
        peak: bytes of its largest resident set, None where the system does not tell.
        answers: what it said, JSON data in their order; all but the last where it was ended meanwhile.
        processor: seconds of processor time that it took, 0 where the system does not tell.
    """

    cause: Cause
    code: int | None
    signal: str
    seconds: float
    peak: int | None
    answers: tuple[Any, ...]
    processor: float = 0.0

    @property
    def words(self) -> str:
        """How it ended, after "the process": ``crashed (SIGSEGV)``."""
        if self.cause == "crashed":
            return f"crashed ({self.signal})"
        if self.cause == "time":
            return f"was stopped after {self.seconds:.1f} s"
        if self.cause == "memory":
            return "was stopped at its limit of memory"
        return "ended" if self.cause == "done" else f"ended with code {self.code}"


def run(
    module: str,
    request: Any,
    limits: Limits,
    *,
    log: Path | None = None,
    paths: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
    listen: Callable[[Any], None] | None = None,
    executable: str | None = None,
) -> Ended:
    """Call ``work(request, say)`` of a module in a process of its own, and wait for its end.

    Args:
        module: the module's full name.
        request: JSON data for it.  Its current folder is another one: paths must be absolute.
        limits: what the process may take.
        log: the file that gets what it prints, None for nowhere.
        paths: folders that it imports from before those that are installed.
        environment: variables that it gets besides those of this process.
        listen: is told each answer as it comes.
        executable: the Python to run; this one if left out.
    """
    with tempfile.TemporaryDirectory(prefix="trtlint-", ignore_cleanup_errors=True) as folder:
        order, answers = Path(folder, "order.json"), Path(folder, "answers.jsonl")
        document = {
            "module": module,
            "request": request,
            "paths": paths,
            "own": str(_PACKAGES),
            "answers": str(answers),
            "parent": os.getpid(),
            "memory": limits.memory,
            "seconds": limits.seconds,
            "processor": limits.processor,
        }
        order.write_text(json.dumps(document), encoding="ascii")
        command = [executable or sys.executable, "-I", str(_CHILD), str(order)]
        with (Path(os.devnull) if log is None else log).open("w+b") as output:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, **(environment or {}), **SILENT},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            try:
                return _watched(process, limits, answers, listen)
            finally:
                if process.returncode is None:
                    process.kill()
                    process.wait()


def _watched(
    process: subprocess.Popen[bytes], limits: Limits, answers: Path, listen: Callable[[Any], None] | None
) -> Ended:
    """Wait for the end of a process, or end it at a limit."""
    began = time.monotonic()
    stopped: Literal["time", "memory"] | None = None
    pause, heard, size = _SHORTEST, 0, 0
    while True:
        ended, peak, processor = _poll(process)
        seconds = time.monotonic() - began
        if ended:
            break
        if listen is not None and size != (size := _size(answers)):
            for answer in (told := _read(answers))[heard:]:
                listen(answer)
            heard = len(told)
        if stopped is None and seconds > limits.seconds:
            stopped = "time"
        elif stopped is None and memory_of(process.pid) > limits.memory:
            stopped = "memory"
        if stopped is not None:
            process.kill()
        time.sleep(pause)
        pause = min(_LONGEST, pause * 1.5)
    code = process.returncode
    name = _signal_name(code)
    if name == "SIGXCPU":
        stopped = stopped or "time"
    cause: Cause = stopped or ("done" if code == 0 else "crashed" if name else "failed")
    return Ended(cause, None if name else code, name, seconds, peak, _read(answers), processor)


def _poll(process: subprocess.Popen[bytes]) -> tuple[bool, int | None, float]:
    """Whether a process has ended, the bytes of its largest resident set, its seconds of processor time."""
    if not hasattr(os, "wait4"):
        return process.poll() is not None, None, 0.0
    pid, status, usage = os.wait4(process.pid, os.WNOHANG)
    if pid == 0:
        return False, None, 0.0
    process.returncode = os.waitstatus_to_exitcode(status)
    # https://man7.org/linux/man-pages/man2/getrusage.2.html: kilobytes; macOS counts bytes
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return True, peak, usage.ru_utime + usage.ru_stime


def _size(file: Path) -> int:
    with suppress(OSError):
        return file.stat().st_size
    return 0


def machine_memory() -> int:
    """Bytes of memory of this machine; no less than what a small one has, where the system does not tell."""
    with suppress(AttributeError, OSError, ValueError):
        return max(_LEAST_MEMORY, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return _LEAST_MEMORY


def _signal_name(code: int) -> str:
    """The signal of a negative exit code; of Windows' codes of exceptions, the code itself."""
    if code < 0:
        with suppress(ValueError):
            return signal.Signals(-code).name
        return f"signal {-code}"
    return f"0x{code:08X}" if code >= 0x80000000 else ""


def _read(answers: Path) -> tuple[Any, ...]:
    try:
        with answers.open("rb") as file:
            lines = file.read(_MOST_ANSWERS).splitlines(keepends=True)
    except OSError:
        return ()
    found = []
    for line in lines:
        if not line.endswith(b"\n"):  # it was ended while it wrote
            break
        with suppress(ValueError, RecursionError):
            found.append(json.loads(line))
    return tuple(found)
