"""Search for the nodes to keep in FP32, so that the rest can be narrow.

The search knows no models: it gets units of nodes that stay or go together, and a function that tries a set.
It assumes that a set is good enough where a part of it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

Try = Callable[[frozenset[str]], bool]
"""Whether the error is small enough with these nodes in FP32."""


class Budget:
    """A limit of runs and of time.

    Args:
        runs: most runs.
        seconds: most seconds from now on.
    """

    def __init__(self, runs: int, seconds: float) -> None:
        self.runs = 0
        self._most = runs
        self._until = time.monotonic() + seconds

    @property
    def spent(self) -> bool:
        """Whether no run is left."""
        return self.left <= 0

    @property
    def left(self) -> int:
        """The number of runs that are left."""
        return 0 if time.monotonic() >= self._until else self._most - self.runs

    @property
    def seconds(self) -> float:
        """The seconds that are left."""
        return max(0.0, self._until - time.monotonic())

    def reserve(self, runs: int) -> None:
        """Hold back runs for what comes after the search; negative gives them back."""
        self._most -= runs

    def charge(self) -> None:
        """Count a run."""
        self.runs += 1


def least(
    units: Sequence[frozenset[str]],
    enough: Try,
    budget: Budget,
    costs: Sequence[float] | None = None,
    *,
    needed: bool = False,
) -> list[frozenset[str]]:
    """Leave out of some units as many as possible, by bisection over their cost.

    A range of neighbours is left out together first, then its halves of equal cost, the dearer one first:
    units that matter are few and lie together.

    Args:
        units: in the order of the graph; all of them together are known to be enough.
        enough: tries a set.
        budget: the limit of runs.
        costs: what it costs to keep each unit; the same for all if left out.
        needed: whether it is known that not all of them can go.

    Returns:
        The units that are left, in their order.
    """
    weights = [1.0] * len(units) if costs is None else [max(cost, 1e-12) for cost in costs]
    kept = [True] * len(units)

    def drop(begin: int, end: int, *, needed: bool) -> bool:
        """Leave out what can go of a range; whether all of it can."""
        if begin == end:
            return True
        if not needed:
            if budget.spent:
                return False
            kept[begin:end] = [False] * (end - begin)
            if enough(frozenset().union(*(unit for unit, stays in zip(units, kept, strict=True) if stays))):
                return True
            kept[begin:end] = [True] * (end - begin)
        if end - begin > 1:
            middle = _middle(weights, begin, end)
            halves = [(begin, middle), (middle, end)]
            if sum(weights[begin:middle]) < sum(weights[middle:end]):
                halves.reverse()
            gone = drop(*halves[0], needed=False)
            # Both halves together could not go: where the first went, the second cannot go as a whole.
            drop(*halves[1], needed=gone)
        return False

    drop(0, len(units), needed=needed)
    return [unit for unit, stays in zip(units, kept, strict=True) if stays]


def _middle(weights: Sequence[float], begin: int, end: int) -> int:
    """Where a range splits into two halves of about the same cost, neither of them empty."""
    half, total = sum(weights[begin:end]) / 2, 0.0
    for index in range(begin, end - 1):
        total += weights[index]
        if total + weights[index + 1] / 2 >= half:
            return index + 1
    return end - 1


def window(units: Sequence[frozenset[str]], enough: Try, budget: Budget) -> tuple[int, int]:
    """Find a short range of units that is enough, by bisection of its two ends.

    Args:
        units: in the order of the graph; all of them together are known to be enough.
        enough: tries a set.
        budget: the limit of runs.

    Returns:
        The first unit of the range, and the unit behind its last.
    """

    def sufficient(begin: int, end: int) -> bool:
        return enough(frozenset().union(*units[begin:end]))

    low, high = 0, len(units)  # units from `low` on are enough; from `high` on they are not
    while high - low > 1 and not budget.spent:
        middle = (low + high) // 2
        low, high = (middle, high) if sufficient(middle, len(units)) else (low, middle)
    begin, low, high = low, low, len(units)  # units up to `high` are enough; up to `low` they are not
    while high - low > 1 and not budget.spent:
        middle = (low + high) // 2
        low, high = (low, middle) if sufficient(begin, middle) else (middle, high)
    return begin, high
