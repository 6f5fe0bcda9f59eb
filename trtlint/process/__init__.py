"""Run work in other processes with limits of time and memory.

:mod:`.spawn` starts a new Python. :mod:`.fork` forks this process.
"""

from __future__ import annotations

from typing import Literal

Cause = Literal["done", "failed", "crashed", "time", "memory"]
"""How a process ended: normally, with an error code, by a signal, or stopped at a limit."""
