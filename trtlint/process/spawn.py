"""Run work in a new Python process with limits of time and memory.

Third-party native code that reads untrusted models may crash, hang, or use all memory.  Such code must not
end or block a lint, so it runs in a new Python process. This Python runs in isolated mode, so it imports
nothing from the current folder. The output of the process goes to a file, and each answer is written
immediately, so the output and the answers survive a crash.
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

from msgspec import Struct

from trtlint.files.limits import memory_of, size_of
from trtlint.files.telemetry import SILENT
from trtlint.process import Cause

_CHILD = Path(__file__).with_name("_child.py")
_PACKAGES = Path(__file__).parents[2]
_SHORTEST, _LONGEST = 0.001, 0.02
"""Seconds of the shortest and the longest pause between two checks of the process."""
_LEAST_MEMORY = 4 << 30
_MOST_ANSWERS = 64 << 20
"""Maximum size, in bytes, of all answers that trtlint reads from a process."""


class Limits(Struct, frozen=True):
    """Limits of one process.

    Attributes:
        seconds: wall time.
        memory: bytes of memory, without mapped files.
        processor: seconds of processor time; 0 means ``seconds`` times the number of processors.
    """

    seconds: float = 120.0
    memory: int = 8 << 30
    processor: float = 0.0


class ProcessResult(Struct, frozen=True):
    """The end of a process, and the answers that the process sent.

    Attributes:
        cause: how the process ended.
        code: exit code; None if a signal ended the process.
        signal: name of the signal of a crash, such as ``SIGSEGV``; empty for any other end, even if trtlint
            stopped the process with a signal.
        seconds: wall time.
        peak: peak resident memory in bytes; None if unknown. On Linux, the value includes the memory
            that the parent used when the child started.
        answers: the answers as JSON data, in order; an incomplete answer is left out.
        processor: seconds of processor time; 0 if unknown.
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
        """Describe how the process ended, such as ``crashed (SIGSEGV)``.

        The text continues a sentence that begins with "the process".
        """
        if self.cause == "crashed":
            return f"crashed ({self.signal})"
        if self.cause == "time":
            return f"was stopped after {self.seconds:.1f} s"
        if self.cause == "memory":
            return "was stopped at its memory limit"
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
) -> ProcessResult:
    """Call ``work(request, send)`` of a module in a new process, and wait for its end.

    Args:
        module: full name of the module.
        request: JSON data for the work.  Paths must be absolute, because the process runs in another folder.
        limits: limits of the process.
        log: file for the output of the process; None to discard the output.
        paths: folders that come before the installed packages on the import path.
        environment: environment variables in addition to the variables of this process.
        listen: function that gets each answer when it arrives.
        executable: Python interpreter to run; by default this interpreter.
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
                return _watch(process, limits, answers, listen)
            finally:
                if process.returncode is None:
                    process.kill()
                    process.wait()


def _watch(
    process: subprocess.Popen[bytes], limits: Limits, answers: Path, listen: Callable[[Any], None] | None
) -> ProcessResult:
    """Wait for the end of a process. Kill the process if it exceeds a limit."""
    began = time.monotonic()
    stopped: Literal["time", "memory"] | None = None
    pause, heard, size = _SHORTEST, 0, 0
    while True:
        ended, peak, processor = _poll(process)
        seconds = time.monotonic() - began
        if listen is not None and size != (size := size_of(answers)):
            for answer in (received := _read(answers))[heard:]:
                listen(answer)
            heard = len(received)
        if ended:
            break
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
    crash = name if cause == "crashed" else ""
    return ProcessResult(cause, None if name else code, crash, seconds, peak, _read(answers), processor)


def _poll(process: subprocess.Popen[bytes]) -> tuple[bool, int | None, float]:
    """Return three facts: whether a process ended, its peak memory in bytes, and its processor seconds."""
    if not hasattr(os, "wait4"):
        return process.poll() is not None, None, 0.0
    pid, status, usage = os.wait4(process.pid, os.WNOHANG)
    if pid == 0:
        return False, None, 0.0
    process.returncode = os.waitstatus_to_exitcode(status)
    # https://man7.org/linux/man-pages/man2/getrusage.2.html: kilobytes; macOS counts bytes
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return True, peak, usage.ru_utime + usage.ru_stime


def machine_memory() -> int:
    """Return the memory of this machine in bytes. If it is unknown or below 4 GiB, return 4 GiB."""
    with suppress(AttributeError, OSError, ValueError):
        return max(_LEAST_MEMORY, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return _LEAST_MEMORY


def _signal_name(code: int) -> str:
    """Return the name of the signal that an exit code stands for; empty for an ordinary exit code.

    On Windows, return the code of the exception in hexadecimal.
    """
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
        if not line.endswith(b"\n"):  # the process ended in the middle of this line
            break
        with suppress(ValueError, RecursionError):
            found.append(json.loads(line))
    return tuple(found)
