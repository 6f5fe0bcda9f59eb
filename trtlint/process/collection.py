"""Collect garbage seldom while trtlint works on models."""

from __future__ import annotations

import gc

_THRESHOLD = 50_000
"""Number of new objects that starts a collection.  Python's default is below 10,000.

A model has tens of thousands of objects, so the default would start many collections for each model.
"""


def collect_seldom() -> None:
    """Enable the garbage collector with a high threshold, if it is disabled.

    The command line disables the collector while modules load.  A command that works on several models must
    enable it before the first model.  Otherwise, the memory of a run grows with each model, because the nodes
    and the values of a graph refer to each other.

    Objects that exist at this call are never collected.
    """
    if not gc.isenabled():
        gc.freeze()
        gc.set_threshold(_THRESHOLD, 10, 10)
        gc.enable()
