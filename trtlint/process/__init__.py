"""Run work in other processes with limits of time and memory.

:mod:`.spawn` starts a new Python. :mod:`.fork` forks this process.
"""

from __future__ import annotations

from typing import Literal

Cause = Literal["done", "failed", "crashed", "time", "memory"]
"""How a process ended.

``done`` is a normal end, ``failed`` an end with an error code, and ``crashed`` an end by a signal.  ``time``
and ``memory`` name the limit at which the process was stopped.
"""
