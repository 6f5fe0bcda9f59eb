"""What a process that does nothing but lint does first; it imports nothing that takes time."""

from __future__ import annotations

import signal


def begin() -> None:
    """Set up such a process.

    Ctrl-C ends it at once, even while it loads modules: the process that began it says what is to be
    said.  Modules stay until it ends, and models make tens of thousands of objects, so that garbage
    is looked for seldom.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    import gc

    gc.disable()
    import trtlint.runs.worker  # noqa: F401 - what every job needs

    gc.freeze()
    gc.set_threshold(50_000, 10, 10)
    gc.enable()
