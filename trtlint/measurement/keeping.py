"""Which nodes to keep in FP32, so that the rest can be narrow.

The search knows no models: it is given units of nodes that stay or go together, and a way to try a set.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

Try = Callable[[frozenset[str]], bool]
"""Whether the error is small enough with these nodes in FP32."""


class Budget:
    """How much may be tried.

    Args:
        runs: how many sets may be tried.
        seconds: how long it may take.
    """

    def __init__(self, runs: int, seconds: float) -> None:
        self.runs = 0
        self._most = runs
        self._until = time.monotonic() + seconds

    @property
    def spent(self) -> bool:
        """Whether nothing more may be tried."""
        return self.runs >= self._most or time.monotonic() >= self._until

    def charge(self) -> None:
        """Count a set that is tried."""
        self.runs += 1


def least(units: Sequence[frozenset[str]], enough: Try, budget: Budget) -> list[frozenset[str]]:
    """Leave out of some units as many as can be left out, in few tries.

    Neighbours are left out together first, then in halves: units that matter are few and lie together.

    Args:
        units: in the order of the graph; all of them together are known to be enough.
        enough: tries a set.
        budget: what may be tried.

    Returns:
        The units that are left, in their order.
    """
    kept = [True] * len(units)
    waiting = [(0, len(units))]
    while waiting and not budget.spent:
        begin, end = waiting.pop()
        if begin == end:
            continue
        for index in range(begin, end):
            kept[index] = False
        if enough(frozenset().union(*(unit for unit, stays in zip(units, kept, strict=True) if stays))):
            continue
        for index in range(begin, end):
            kept[index] = True
        if end - begin > 1:
            middle = (begin + end) // 2
            waiting += [(begin, middle), (middle, end)]
    return [unit for unit, stays in zip(units, kept, strict=True) if stays]
