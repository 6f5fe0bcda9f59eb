"""Signals that the test process ignores and its children must not ignore."""

from __future__ import annotations

import signal

_NAMES = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM")


def catch_ignored() -> None:
    """Catch the signals that this process inherited as ignored.

    A shell starts background jobs with SIGINT and SIGQUIT ignored, and ``nohup`` ignores SIGHUP.  Children
    inherit ignored signals, and then do not end when a test sends one.  A caught signal gets its default
    action in an executed program: https://man7.org/linux/man-pages/man7/signal.7.html.  The handler does
    nothing, so this process still ignores the signals.
    """
    for name in _NAMES:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
