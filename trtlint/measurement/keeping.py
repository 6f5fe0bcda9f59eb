"""Search for a small set of nodes to keep in FP32, so that the rest can use FP16, BF16 or TF32.

The search does not read the model. The search gets two arguments:
- a list of units: a unit is a group of nodes that must be kept together
- a function that tests a set of units: the set passes if the errors are small enough with the set in FP32

The search assumes that a set still passes if units are added to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

_T = TypeVar("_T")
Try = Callable[[frozenset[str]], bool]
"""Function that returns whether the error is small enough with the given nodes in FP32."""

_SHORT = 3
"""In a range of at most this number of units, the search tries the units one by one."""


class Budget:
    """A limit for the number of runs of a model and for their time.

    Args:
        runs: largest number of runs.
        seconds: largest number of seconds from now.
    """

    def __init__(self, runs: int, seconds: float) -> None:
        self.runs = 0
        self._most = runs
        self._until = time.monotonic() + seconds

    @property
    def spent(self) -> bool:
        """Return whether no run or no time is left."""
        return self.left <= 0

    @property
    def left(self) -> int:
        """Return the number of runs that are left; 0 if no time is left."""
        return 0 if time.monotonic() >= self._until else self._most - self.runs

    @property
    def seconds(self) -> float:
        """Return the seconds that are left."""
        return max(0.0, self._until - time.monotonic())

    def reserve(self, runs: int) -> None:
        """Reserve runs for the steps after the search.  A negative number cancels a reservation."""
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
    """Find a small set of units that passes, by bisection.

    The search tries to remove a range of consecutive units. If the remaining units do not pass, the search
    splits the range into two halves of about equal cost. The search tries the more expensive half first.
    The search is fast if the units that must stay are few and close together.

    Args:
        units: units in graph order. The set of all units passes.
        enough: function that tests whether a set passes.
        budget: the limit of runs.
        costs: cost of keeping each unit; by default equal costs.
        needed: true if at least one unit is known to be necessary.

    Returns:
        The remaining units, in graph order.
    """
    weights = [1.0] * len(units) if costs is None else [max(cost, 1e-12) for cost in costs]
    kept = [True] * len(units)

    def drop(begin: int, end: int, *, needed: bool, first: bool = False) -> bool:
        """Remove as many units as possible from a range. Return whether the range became empty."""
        if begin == end:
            return True
        # Most units next to a needed unit are needed, too, so try the units of a short range one by one.
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
            # The whole range cannot be removed. So if one half was removed, part of the other half stays.
            rest = drop(*halves[1], needed=gone and (needed or together))
            return gone and rest
        return False

    drop(0, len(units), needed=needed, first=True)
    return [unit for unit, stays in zip(units, kept, strict=True) if stays]


def _middle(weights: Sequence[float], begin: int, end: int) -> int:
    """Return the index that splits a range of weights into two nonempty halves with similar sums."""
    half, total = sum(weights[begin:end]) / 2, 0.0
    for index in range(begin, end - 1):
        total += weights[index]
        if total + weights[index + 1] / 2 >= half:
            return index + 1
    return end - 1


def window(units: Sequence[frozenset[str]], enough: Try, budget: Budget) -> tuple[int, int]:
    """Find a short range of consecutive units that passes.

    The first and the last unit of the range are found by bisection.

    Args:
        units: units in graph order. The set of all units passes.
        enough: function that tests whether a set passes.
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


def merged(groups: Iterable[Iterable[_T]]) -> list[frozenset[_T]]:
    """Merge groups that have an element in common.  The order of the groups stays the same."""
    import networkx as nx

    graph: nx.Graph[_T] = nx.Graph()
    for group in groups:
        nx.add_path(graph, group)
    return list(map(frozenset, nx.connected_components(graph)))
