"""End the process cleanly at SIGTERM: delete temporary files first."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _StoppedError(BaseException):
    """Error: the process received SIGTERM."""


@contextmanager
def tidying_up() -> Iterator[None]:
    """Return a context manager that closes the resources of its block at SIGTERM, before the process ends.

    If the program already has a handler for SIGTERM, this handler stays in use.
    """
    mine = threading.current_thread() is threading.main_thread()
    if not mine or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def stop(*_: object) -> None:
        raise _StoppedError

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except _StoppedError:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)
        # SIGTERM does not end the first process (PID 1) of a container.
        raise SystemExit(128 + signal.SIGTERM) from None
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
