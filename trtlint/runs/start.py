"""What a process that does nothing but lint does first; it imports nothing that takes time."""

from __future__ import annotations

import os
import signal


def _end_with_parent() -> None:
    """End this process when the one that began it has ended, however that was.

    It would else wait for work for ever: it holds both ends of the pipe that work comes through.
    """
    import multiprocessing
    import threading
    from multiprocessing.connection import wait

    parent = multiprocessing.parent_process()
    if parent is None:
        return
    sentinel = parent.sentinel

    def watch() -> None:
        wait([sentinel])
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def begin() -> None:
    """Set up such a process.

    Ctrl-C ends it at once, even while it loads modules: the process that began it says what is to be
    said.  Modules stay until it ends, and models make tens of thousands of objects, so that garbage
    is looked for seldom.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _end_with_parent()
    import gc

    gc.disable()
    import trtlint.runs.worker  # noqa: F401 - what every job needs

    gc.freeze()
    gc.set_threshold(50_000, 10, 10)
    gc.enable()
