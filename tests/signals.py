"""Signals that the test process ignores and its children must not ignore."""

from __future__ import annotations

import signal

_NAMES = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM")


def catch_ignored() -> None:
    """Catch the signals that this process was started to ignore.

    A shell starts background jobs with SIGINT and SIGQUIT ignored, ``nohup`` its command with SIGHUP.
    Children inherit that, and then do not end where a test expects it.  A caught signal, however, gets its
    default action when a program is executed: https://man7.org/linux/man-pages/man7/signal.7.html.  The
    handler does nothing, so this process keeps ignoring the signals.
    """
    for name in _NAMES:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
