"""Entry point of a process that :mod:`trtlint.process.spawn` starts.  The file is run, never imported.

The command is ``python -I _child.py ORDER``.  ORDER is a JSON file with the name of a module and a request.
The module has a function ``work(request, send)``.  Each call ``send(data)`` writes an answer immediately.  So
if the process crashes, the parent still gets the answers that were sent before the crash.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import signal
import sys
from pathlib import Path
from typing import Any

_ROOM = 8 << 30
"""Bytes of address space, in addition to twice the memory limit, for libraries, stacks and mapped files."""
_LARGEST_FILE = 4 << 30
"""Bytes of the largest file that the process may write, such as its log."""
_GRACE = 10
"""Seconds that are added to the default limit of processor time.

The default limit is the limit of wall time, multiplied by the number of processors.
"""

_SET_DEATH_SIGNAL = 1


def main(order_file: str) -> None:
    """Call the function ``work`` of the module that the JSON file ``order_file`` names."""
    order = json.loads(Path(order_file).read_text(encoding="ascii"))
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _end_with(order["parent"])
    _limit(order["memory"], order["seconds"], order["processor"])
    sys.path.insert(0, order["own"])
    importlib.import_module("trtlint")  # the trtlint of the parent, even if another one is installed
    sys.path.pop(0)
    sys.path[:0] = [entry for entry in order["paths"] if entry not in sys.path]
    if order["own"] not in sys.path:
        sys.path.append(order["own"])
    module = importlib.import_module(order["module"])
    answers = os.open(order["answers"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def send(data: Any) -> None:
        os.write(answers, json.dumps(data).encode("ascii") + b"\n")

    module.work(order["request"], send)


def _end_with(parent: int) -> None:
    """Let the system end this process when the parent's thread ends (Linux only).

    ``parent`` is the process id of the parent.  The parent's thread is the thread that started this process.
    A thread of this process that watches the parent is not enough: native code can hold the interpreter
    lock, so the thread might never run.  On systems other than Linux, this process may outlive its parent,
    until it reaches its limit of processor time.
    https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html
    """
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _limit(memory: int, seconds: float, processor: float) -> None:
    """Limit the memory (bytes) and the processor time (seconds) of this process.

    The limits hold even if the parent process dies. Without the module ``resource``, nothing is limited.
    If ``processor`` is 0, the limit of processor time is ``seconds``, multiplied by the number of processors.
    """
    try:
        import resource
    except ImportError:
        return
    bounds = (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, 2 * memory + _ROOM),
        (resource.RLIMIT_FSIZE, _LARGEST_FILE),
        (resource.RLIMIT_CPU, math.ceil(processor) or int(seconds * (os.cpu_count() or 1)) + _GRACE),
    )
    for kind, most in bounds:
        _, hard = resource.getrlimit(kind)
        soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(kind, (soft, hard))
        except (OSError, ValueError):
            continue


if __name__ == "__main__":
    main(sys.argv[1])
