"""Run work in other processes with limits of time and memory.

Two ways: a fresh Python (:mod:`.spawn`) and a forked child (:mod:`.fork`).
"""

from __future__ import annotations

from typing import Literal

Cause = Literal["done", "failed", "crashed", "time", "memory"]
"""How a process ended: normally, with an error code, by a signal, or stopped at a limit."""
