"""Find a cheap set of operators to keep in FP32, by rehearsals.

Products come first, in the order of their cost: all else stays in FP32 while it is found which products
fit in 16 bits.  Then the operators between them follow, region by region.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from trtlint.lean import dataclass
from trtlint.measurement.keeping import Budget, least

Paths = frozenset[str]
Try = Callable[[Paths], bool]


@dataclass(frozen=True, slots=True)
class Candidates:
    """The operators to choose from.

    Attributes:
        fixed: paths of operators that stay in FP32.
        forced: groups of operators that leave the range, each to stay in FP32 unless that proves harmless.
        products: groups with products, the dearest last.
        regions: groups of the other operators.
    """

    fixed: Paths
    forced: Sequence[Paths]
    products: Sequence[Paths]
    regions: Sequence[Paths]


@dataclass(frozen=True, slots=True)
class Choice:
    """What was found.

    Attributes:
        kept: by path of an operator that stays in FP32 beside the fixed ones, the reason.
        enough: whether the error is small enough with them.
    """

    kept: Mapping[str, str]
    enough: bool


RANGE = "its numbers leave the range"
PRODUCT = "the outputs need more digits of this product"
DIGITS = "the outputs need more digits here"


def search(found: Candidates, enough: Try, budget: Budget) -> Choice:
    """Return the operators to keep.

    Args:
        found: the operators to choose from.
        enough: tries a set of operators in FP32.
        budget: what may be tried.
    """
    forced = _union(found.forced)
    if enough(found.fixed):
        return Choice({}, enough=True)
    if found.forced and enough(found.fixed | forced):
        left = least(found.forced, lambda paths: enough(found.fixed | paths), budget)
        return Choice(dict.fromkeys(_union(left), RANGE), enough=True)
    others = _union(found.regions)
    everything = found.fixed | forced | others | _union(found.products)
    products: list[Paths] = []
    if not enough(found.fixed | forced | others):
        if not enough(everything):
            return Choice(_reasons(forced, found, everything), enough=False)
        free = [each for each in found.products if not each <= forced]
        products = least(free, lambda paths: enough(found.fixed | forced | others | paths), budget)
    base = found.fixed | _union(products)
    regions = least(found.regions, lambda paths: enough(base | forced | paths), budget)
    rest = base | _union(regions)
    ranges = least(found.forced, lambda paths: enough(rest | paths), budget)
    kept = _union(products) | _union(regions) | _union(ranges)
    return Choice(_reasons(_union(ranges), found, kept), enough=True)


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
    """Join units that hand values to each other.

    Args:
        units: the groups, each with other operators.
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


def runs_of(units: Sequence[Paths], most: int) -> list[Paths]:
    """Join neighbours so that there are no more than so many units."""
    if len(units) <= most:
        return list(units)
    bounds = [len(units) * index // most for index in range(most + 1)]
    return [frozenset().union(*units[begin:end]) for begin, end in pairwise(bounds)]
