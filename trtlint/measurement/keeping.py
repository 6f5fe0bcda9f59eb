"""Search for the nodes to keep in FP32, so that the rest can be narrow.

The search is independent of models.  Its input is units of nodes that stay together, and a function that
tries a set.  It assumes that a set passes if a part of the set passes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

Try = Callable[[frozenset[str]], bool]
"""Checks whether the error is small enough with these nodes in FP32."""

_SHORT = 3
"""Number of units in a range that is tried one by one."""


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
        """True if no run is left."""
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
        """Reserve runs for the steps after the search; a negative number returns them."""
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
    """Remove as many units as possible, by bisection over their cost.

    The search tries to remove a range of neighbours, then its two halves of equal cost.  The more expensive
    half comes first.  This is fast because the units that must stay are few and close together.

    Args:
        units: units in the order of the graph; all of them together pass.
        enough: tries a set.
        budget: the limit of runs.
        costs: cost of keeping each unit; by default the same for all.
        needed: whether it is known that some units must stay.

    Returns:
        The remaining units, in their order.
    """
    weights = [1.0] * len(units) if costs is None else [max(cost, 1e-12) for cost in costs]
    kept = [True] * len(units)

    def drop(begin: int, end: int, *, needed: bool, first: bool = False) -> bool:
        """Remove units of a range.  Return whether the whole range is removed."""
        if begin == end:
            return True
        # Most units close to a needed one are needed too, so a short range is tried one by one.
        together = first or end - begin == 1 or end - begin > _SHORT
        if not needed and together:
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
            # If the halves cannot go together and the first is gone, the second cannot go as a whole.
            rest = drop(*halves[1], needed=gone and (needed or together))
            return gone and rest
        return False

    drop(0, len(units), needed=needed, first=True)
    return [unit for unit, stays in zip(units, kept, strict=True) if stays]


def _middle(weights: Sequence[float], begin: int, end: int) -> int:
    """Return the index that splits a range into two halves of similar cost; neither is empty."""
    half, total = sum(weights[begin:end]) / 2, 0.0
    for index in range(begin, end - 1):
        total += weights[index]
        if total + weights[index + 1] / 2 >= half:
            return index + 1
    return end - 1


def window(units: Sequence[frozenset[str]], enough: Try, budget: Budget) -> tuple[int, int]:
    """Find a short range of units that passes, by bisection of its two ends.

    Args:
        units: units in the order of the graph; all of them together pass.
        enough: tries a set.
        budget: the limit of runs.

    Returns:
        The index of the first unit, and the index after the last.
    """

    def sufficient(begin: int, end: int) -> bool:
        return enough(frozenset().union(*units[begin:end]))

    low, high = 0, len(units)  # units from `low` on pass; from `high` on they do not
    while high - low > 1 and not budget.spent:
        middle = (low + high) // 2
        low, high = (middle, high) if sufficient(middle, len(units)) else (low, middle)
    begin, low, high = low, low, len(units)  # units up to `high` pass; up to `low` they do not
    while high - low > 1 and not budget.spent:
        middle = (low + high) // 2
        low, high = (low, middle) if sufficient(begin, middle) else (middle, high)
    return begin, high
