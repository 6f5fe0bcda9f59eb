"""A process that is told to end, and first removes what it has begun to write."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _StoppedError(BaseException):
    """The process was told to end."""


@contextmanager
def tidying_up() -> Iterator[None]:
    """Let SIGTERM end the process as ever, but only when all that the block has opened is closed.

    A handler that is there already stays.
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
        # The first process of a container does not end by it.
        raise SystemExit(128 + signal.SIGTERM) from None
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
