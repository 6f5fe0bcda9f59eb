"""Prepare a worker process.  This module imports no slow modules."""

from __future__ import annotations

import gc
import os
import signal

from trtlint.process.collection import collect_seldom


def _end_with_parent(folder: str) -> None:
    """End this worker process when its parent process has ended, for any reason, and delete ``folder``.

    Without this function, the worker would wait for work forever, because both ends of the pipe are open in
    the worker.
    """
    import multiprocessing
    import shutil
    import threading
    from multiprocessing.connection import wait

    parent = multiprocessing.parent_process()
    if parent is None:
        return
    sentinel = parent.sentinel

    def watch() -> None:
        wait([sentinel])
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def begin(folder: str) -> None:
    """Set up a worker process that creates its temporary files in ``folder``, unless ``folder`` is empty.

    Ctrl-C ends the worker at once, even while it loads modules. Only the parent reports the interruption.
    No garbage is collected while modules load, because modules live until the process ends.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _end_with_parent(folder)
    gc.disable()
    if folder:
        import tempfile

        tempfile.tempdir = folder
    import trtlint.runs.worker  # noqa: F401 - every job needs this module

    collect_seldom()
