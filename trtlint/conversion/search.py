"""Find a small set of operators to keep in FP32, by simulating the model with different sets.

A product is a matrix product or a convolution. A group is a set of operators that get the same type. A region
is a group of operators between products. The search has three steps:
1. Simulate each product in 16 bits, with all other operators in FP32.
2. Change products to 16 bits. Begin with products that cause little error relative to their FLOPs.
3. Change the regions to 16 bits, one by one.
"""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from math import inf

from msgspec import Struct

from trtlint.measurement.keeping import Budget, least, merged

Paths = frozenset[str]
Measure = Callable[[Paths], "float | None"]
"""Function that returns the error with the given operators in FP32, or None if an output is not finite.

If the error exceeds the limit of the search, the function may return any number above that limit.
"""

_PRODUCTS_SHARE = 0.8
"""Share of the error limit that products may use. The rest is for the operators between the products."""
_MOST_SINGLE = 16
"""If new inputs give too large errors, the search first tries to add a single product or region in FP32.

The search tries at most this number of products and this number of regions.
"""
_SENSITIVITY_TIME = 0.4
"""Simulations of single products may use this share of the time limit."""


class Candidates(Struct, frozen=True):
    """The groups of operators that the search chooses from.

    Attributes:
        fixed: paths of operators that stay in FP32.
        forced: groups of operators with numbers beyond the range.  A group stays in FP32, unless a simulation
            in 16 bits passes.
        products: groups with products, in the order of the graph.
        regions: groups of the remaining operators.
        costs: for the path of each product, its FLOPs.
    """

    fixed: Paths
    forced: Sequence[Paths]
    products: Sequence[Paths]
    regions: Sequence[Paths]
    costs: Mapping[str, int]

    def cost(self, unit: Paths) -> int:
        """Return the FLOPs of the operators in ``unit``. The result is 1 if they have no FLOPs."""
        return max(1, sum(self.costs.get(path, 0) for path in unit))


class Choice(Struct, frozen=True):
    """Result of the search.

    Attributes:
        kept: paths of operators that stay in FP32 in addition to ``Candidates.fixed``, each with the reason.
        enough: true if the error with the ``kept`` operators in FP32 is within the limit.
        order: the groups with products, sorted by their error relative to their FLOPs.
    """

    kept: Mapping[str, str]
    enough: bool
    order: Sequence[Paths] = ()


RANGE = "its values are outside the range of the 16-bit type"
PRODUCT = "in 16 bits, this product makes the error of an output too large"
DIGITS = "in 16 bits, this operator makes the error of an output too large"


class Search(Struct, frozen=True):
    """A search for operators to keep in FP32.

    Attributes:
        found: the operators to choose from.
        measure: function that gets the paths of the operators in FP32, and returns the error.
        budget: the limit of time and number of measurements.
        sample: like ``measure``, but with fewer inputs, to compare products; None to use all inputs.
    """

    found: Candidates
    measure: Measure
    budget: Budget
    sample: Measure | None = None

    def chosen(self, bound: float) -> Choice:
        """Return a small set of operators to keep in FP32, so that the error is within a limit."""
        found, budget = self.found, self.budget

        def enough(paths: Paths) -> bool:
            return self._is_within(bound, paths)

        forced = _union(found.forced)
        if enough(found.fixed):
            return Choice({}, enough=True)
        if found.forced and enough(found.fixed | forced):
            inside = least(found.forced, lambda paths: enough(found.fixed | paths), budget)
            return Choice(dict.fromkeys(_union(inside), RANGE), enough=True)
        others = _union(found.regions)
        everything = found.fixed | forced | others | _union(found.products)
        if not enough(everything):
            return Choice(self._reasons(everything, forced), enough=False)
        products: list[Paths] = []
        order = [unit for unit in found.products if not unit <= forced]
        if not enough(found.fixed | forced | others):
            order = self._by_error(order, everything)
            products = order[self._count_in_16_bits(order, everything, bound * _PRODUCTS_SHARE) :]
        base = found.fixed | _union(products)
        regions = least(found.regions, lambda paths: enough(base | forced | paths), budget)
        rest = found.fixed | forced | _union(regions)
        # Products may use the rest of the limit, which the operators between products do not need.
        products = _fewer_groups(products, lambda paths: enough(rest | paths), budget)
        rest = found.fixed | _union(products) | _union(regions)
        ranges = least(found.forced, lambda paths: enough(rest | paths), budget)
        kept = _union(products) | _union(regions) | _union(ranges)
        return Choice(self._reasons(kept, _union(ranges)), enough=True, order=order)

    def resumed(self, kept: Mapping[str, str], bound: float) -> Choice:
        """Continue an earlier search with more inputs, and return the operators to keep in FP32.

        Args:
            kept: the operators that the earlier search keeps in FP32.
            bound: the largest allowed error.
        """
        found = self.found
        before = found.fixed.union(kept)
        free = [unit for unit in found.products if not unit <= before]
        everything = _union([*found.forced, *found.regions, *found.products]) | before
        order = self._by_error(free, everything)
        return self.extended(Choice(kept, enough=True, order=order), bound)

    def extended(self, choice: Choice, bound: float) -> Choice:
        """Add operators in FP32 to a result whose error is too large on new inputs.

        If there is no time left, ``choice`` is returned unchanged. The check of the written file may then
        fail.

        Args:
            choice: the result of the search with fewer inputs.
            bound: the largest allowed error.
        """
        found, budget = self.found, self.budget
        kept = found.fixed.union(choice.kept)
        free = [unit for unit in reversed(choice.order) if not unit <= kept]
        units = [unit for unit in (*found.forced, *found.regions) if not unit <= kept]
        others = _union(units)

        def enough(paths: Paths) -> bool:
            return self._is_within(bound, kept | paths)

        def fits(count: int) -> bool:
            return budget.spent or enough(others | _union(free[:count]))

        def with_more(wider: Paths) -> Choice:
            return Choice({**self._reasons(wider), **choice.kept}, enough=True, order=choice.order)

        for unit in (*free[:_MOST_SINGLE], *units[::-1][:_MOST_SINGLE]):
            if not budget.spent and enough(unit):
                return with_more(kept | unit)
        count = bisect_left(range(len(free)), True, key=fits)
        if not enough(others | _union(free[:count])):
            if budget.spent:
                return choice
            wider = kept | others | _union(found.products)
            return Choice(self._reasons(wider), self._is_within(bound, wider), choice.order)
        products = _union(_fewer_groups(free[:count][::-1], lambda paths: enough(others | paths), budget))
        regions = least(units, lambda paths: enough(products | paths), budget)
        return with_more(kept | products | _union(regions))

    def _is_within(self, bound: float, paths: Paths) -> bool:
        """Return whether the error with the operators ``paths`` in FP32 is within a limit."""
        error = self.measure(paths)
        return error is not None and error <= bound

    def _by_error(self, units: Sequence[Paths], everything: Paths) -> list[Paths]:
        """Sort groups with products by their squared error in 16 bits, divided by their FLOPs.

        Args:
            units: the groups with products.
            everything: the operators that may stay in FP32.
        """
        sample, budget = self.sample or self.measure, self.budget
        began = time.monotonic()
        sample(everything - _union(units[:1]))
        seconds = time.monotonic() - began
        runs = min(budget.left // 2, int(budget.seconds * _SENSITIVITY_TIME / max(seconds, 1e-3)))
        parts = _parts(units, max(1, runs))
        errors = [sample(everything - _union(part)) for part in parts]
        ranked = sorted(
            (inf if error is None else error * error / sum(map(self.found.cost, part)), index)
            for index, (part, error) in enumerate(zip(parts, errors, strict=True))
        )
        return [unit for _, index in ranked for unit in parts[index]]

    def _count_in_16_bits(self, order: Sequence[Paths], everything: Paths, limit: float) -> int:
        """Return how many groups from the start of ``order`` can be in 16 bits.

        The remaining groups are in FP32.

        Args:
            order: the groups with products.
            everything: the operators that the search may keep in FP32.
            limit: the largest allowed error.
        """

        def fails(count: int) -> bool:
            return self.budget.spent or not self._is_within(limit, everything - _union(order[:count]))

        return bisect_right(range(1, len(order) + 1), False, key=fails)

    def _reasons(self, kept: Paths, forced: Paths | None = None) -> dict[str, str]:
        """Return the operators in ``kept`` but not in ``Candidates.fixed``, each with the reason.

        ``forced`` contains the operators with numbers beyond the range; by default, all operators of
        ``Candidates.forced``.
        """
        ranges = _union(self.found.forced) if forced is None else forced
        products = _union(self.found.products)
        return {
            path: RANGE if path in ranges else PRODUCT if path in products else DIGITS
            for path in sorted(kept - self.found.fixed)
        }


def _fewer_groups(units: Sequence[Paths], enough: Callable[[Paths], bool], budget: Budget) -> list[Paths]:
    """Remove groups from a set, beginning with the first, while the error stays within the limit.

    After each success, the next attempt removes twice as many groups at once.

    Args:
        units: groups of operators. If all groups are in FP32, the error is within the limit.
        enough: function that gets the paths of operators in FP32, and returns whether the error is within the
            limit.
        budget: the limit of time and number of measurements.

    Returns:
        The remaining groups.
    """
    kept = list(units)
    index, length = 0, 1
    while index < len(kept) and not budget.spent:
        less = [*kept[:index], *kept[index + length :]]
        if enough(_union(less)):
            kept = less
            length *= 2
        elif length > 1:
            length = 1
        else:
            index += 1
    return kept


def _parts(units: Sequence[Paths], most: int) -> list[list[Paths]]:
    """Divide units into at most ``most`` groups of consecutive units."""
    count = min(most, len(units))
    bounds = [len(units) * index // count for index in range(count + 1)] if count else [0]
    return [list(units[begin:end]) for begin, end in pairwise(bounds)]


def _union(groups: Iterable[Paths]) -> Paths:
    return frozenset().union(*groups)


def grouped(paths: Iterable[str], groups: Iterable[Paths]) -> list[Paths]:
    """Return the groups that contain the operators ``paths``.

    An operator without a group gets a group of its own.
    """
    leader = {path: group for group in groups for path in group}
    return list(dict.fromkeys(leader.get(path, frozenset({path})) for path in paths))


def connected(units: Sequence[Paths], edges: Iterable[tuple[str, str]]) -> list[Paths]:
    """Merge groups of operators if a value connects them.

    Args:
        units: the groups.  No operator is in two groups.
        edges: pairs of operators.  The second operator reads an output of the first operator.
    """
    known = _union(units)
    return merged([*units, *(edge for edge in edges if known.issuperset(edge))])
