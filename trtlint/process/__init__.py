"""Work in other processes, with limits of time and memory: a fresh Python, or a forked child."""

from __future__ import annotations

from typing import Literal

Cause = Literal["done", "failed", "crashed", "time", "memory"]
"""How a process ended: by itself, with an exit code, by a signal, or stopped at a limit."""
