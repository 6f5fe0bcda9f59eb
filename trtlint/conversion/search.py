"""Find a cheap set of operators to keep in FP32, by simulations.

First, each product is simulated in 16 bits with all other operators in FP32.  Products that add little error
for their cost become 16-bit first.  The operators between products follow, region by region.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from trtlint.measurement.keeping import Budget, least

Paths = frozenset[str]
Measure = Callable[[Paths], "float | None"]
"""Returns the error with some operators in FP32; None if an output is not finite."""

_PRODUCTS_SHARE = 0.8
"""Share of the error limit that products may use; the rest is for the operators between them."""
_SENSITIVITY_TIME = 0.4
"""Share of the time for simulations of single products."""


class Candidates(Struct, frozen=True):
    """The operators to choose from.

    Attributes:
        fixed: paths of operators that stay in FP32.
        forced: groups of operators that leave the range; each stays in FP32 unless a simulation shows no
            harm.
        products: groups with products, in the order of the graph.
        regions: groups of the other operators.
        costs: the FLOPs of each product by path.
    """

    fixed: Paths
    forced: Sequence[Paths]
    products: Sequence[Paths]
    regions: Sequence[Paths]
    costs: Mapping[str, int]

    def cost(self, unit: Paths) -> int:
        """Return the FLOPs of a group, at least 1."""
        return max(1, sum(self.costs.get(path, 0) for path in unit))


class Choice(Struct, frozen=True):
    """Result of the search.

    Attributes:
        kept: the reason by path, for operators that stay in FP32 in addition to the fixed ones.
        enough: whether the error is within the limit with these operators in FP32.
    """

    kept: Mapping[str, str]
    enough: bool


RANGE = "the numbers leave the range"
PRODUCT = "the outputs need more digits of this product"
DIGITS = "the outputs need more digits here"


def search(found: Candidates, measure: Measure, bound: float, budget: Budget) -> Choice:
    """Return the operators to keep.

    Args:
        found: the operators to choose from.
        measure: returns the error with some operators in FP32.
        bound: the largest allowed error.
        budget: the limit of time and attempts.
    """

    def enough(paths: Paths) -> bool:
        error = measure(paths)
        return error is not None and error <= bound

    forced = _union(found.forced)
    if enough(found.fixed):
        return Choice({}, enough=True)
    if found.forced and enough(found.fixed | forced):
        inside = least(found.forced, lambda paths: enough(found.fixed | paths), budget)
        return Choice(dict.fromkeys(_union(inside), RANGE), enough=True)
    others = _union(found.regions)
    everything = found.fixed | forced | others | _union(found.products)
    began = time.monotonic()
    if not enough(everything):
        return Choice(_reasons(forced, found, everything), enough=False)
    each = time.monotonic() - began
    products: list[Paths] = []
    if not enough(found.fixed | forced | others):
        free = [unit for unit in found.products if not unit <= forced]
        limit = bound * _PRODUCTS_SHARE
        products = _chosen(free, found, everything, measure, limit, budget, each)
    base = found.fixed | _union(products)
    regions = least(found.regions, lambda paths: enough(base | forced | paths), budget)
    rest = found.fixed | forced | _union(regions)
    # What the operators between them leave of the bound is for products, the dearest first.
    left = measure(rest | _union(products))
    if products and left is not None and left <= bound * _PRODUCTS_SHARE:
        costs = list(map(found.cost, products))
        products = least(products, lambda paths: enough(rest | paths), budget, costs)
    rest = found.fixed | _union(products) | _union(regions)
    ranges = least(found.forced, lambda paths: enough(rest | paths), budget)
    kept = _union(products) | _union(regions) | _union(ranges)
    return Choice(_reasons(_union(ranges), found, kept), enough=True)


def _chosen(
    units: Sequence[Paths],
    found: Candidates,
    everything: Paths,
    measure: Measure,
    limit: float,
    budget: Budget,
    seconds: float,
) -> list[Paths]:
    """Return the products to keep in FP32: the products that add most error for their cost.

    Args:
        units: the products to choose from.
        found: all operators.
        everything: the operators that may stay in FP32.
        measure: returns the error with some operators in FP32.
        limit: the largest allowed error.
        budget: the limit of time and attempts.
        seconds: the time of one simulation.
    """
    runs = min(budget.left // 2, int(budget.seconds * _SENSITIVITY_TIME / max(seconds, 1e-3)))
    parts = _parts(units, max(1, runs))
    errors = [measure(everything - _union(part)) for part in parts]
    squares = [None if error is None else error * error for error in errors]
    ranked = sorted(
        (square / sum(map(found.cost, part)), index)
        for index, (part, square) in enumerate(zip(parts, squares, strict=True))
        if square is not None and square <= limit * limit
    )
    order = [unit for _, index in ranked for unit in parts[index]]
    rest = [unit for part in parts for unit in part if unit not in set(order)]

    def fails(count: int) -> bool:
        if budget.spent:
            return True
        error = measure(everything - _union(order[:count]))
        return error is None or error > limit

    fitting = bisect_right(range(1, len(order) + 1), False, key=fails)
    return [*order[fitting:], *rest]


def _parts(units: Sequence[Paths], most: int) -> list[list[Paths]]:
    """Divide units into at most ``most`` groups of neighbours."""
    count = min(most, len(units))
    bounds = [len(units) * index // count for index in range(count + 1)] if count else [0]
    return [list(units[begin:end]) for begin, end in pairwise(bounds)]


def _reasons(forced: Paths, found: Candidates, kept: Paths) -> dict[str, str]:
    products = _union(found.products)
    return {
        path: RANGE if path in forced else PRODUCT if path in products else DIGITS
        for path in sorted(kept - found.fixed)
    }


def _union(groups: Iterable[Paths]) -> Paths:
    return frozenset().union(*groups)


def grouped(paths: Iterable[str], groups: Iterable[Paths]) -> list[Paths]:
    """Return the groups of operators that stay together, in the order of the operators."""
    leader = {path: group for group in groups for path in group}
    return list(dict.fromkeys(leader.get(path, frozenset({path})) for path in paths))


def connected(units: Sequence[Paths], edges: Iterable[tuple[str, str]]) -> list[Paths]:
    """Merge units that are connected by values.

    Args:
        units: the groups; no operator is in two groups.
        edges: pairs of operators, the second of which reads what the first computes.
    """
    import networkx as nx

    place = {path: index for index, unit in enumerate(units) for path in unit}
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(units)))
    for first, second in edges:
        if first in place and second in place:
            graph.add_edge(place[first], place[second])
    parts = (sorted(part) for part in nx.connected_components(graph))
    return [frozenset().union(*(units[index] for index in part)) for part in sorted(parts)]
