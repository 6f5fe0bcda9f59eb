"""Functions that the child processes of these tests import and run."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def work(request: dict[str, Any], say: Callable[[Any], None]) -> None:
    """Report the process and run the request."""
    say({"folder": str(Path.cwd()), "pid": os.getpid()})
    print("working", flush=True)
    what = request["do"]
    if what == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif what == "sleep":
        time.sleep(600)
    elif what == "eat":
        pieces = []
        while True:
            pieces.append(bytearray(b"x") * (8 << 20))
    elif what == "raise":
        raise RuntimeError("no such thing")
    elif what == "environment":
        say({name: os.environ.get(name) for name in request["names"]})
        return
    say(request)
