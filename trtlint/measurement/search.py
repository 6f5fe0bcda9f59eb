"""Search for the least set of nodes to keep in FP32, and verify it against the worst of the band.

The search tries sets in one way of computing that is at least as bad as each way that applies.  A set that it
finds is then verified in each of these ways.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from trtlint.measurement.analysis import Findings, regions
from trtlint.measurement.band import worst
from trtlint.measurement.keeping import Budget, least, window
from trtlint.measurement.kept import Kept
from trtlint.measurement.narrowing import Narrowing
from trtlint.measurement.ports import CARRYING
from trtlint.measurement.rehearsing import Rehearsal, within
from trtlint.measurement.trial import Trial
from trtlint.model.graph import Node
from trtlint.model.operators import PRODUCTS

MOST_RUNS = 20
MOST_SECONDS = 30.0
"""Most rehearsals and seconds of a search, its verification among them."""
THOROUGH_RUNS = 2_000
THOROUGH_SECONDS = 3_600.0
"""The same with ``--thorough``."""
_MARGIN = 0.5
"""The search aims at this share of the bound: kernels compute in another order, which doubles an error."""
_PRODUCT_COST = 64.0
"""Cost of keeping a product in FP32 over that of another operator on as many elements."""
_UNKNOWN = 1.0
_SHAPES = frozenset({"Shape", "Size"})
"""Operators that read no numbers of their input."""


class KeepSearch:
    """The search for the nodes to keep in FP32.

    Args:
        trial: the model with its inputs.
        nodes: the nodes of the main graph, in its order.
        found: what leaves the range.
        rehearsal: the model rehearsed in each way.
        bound: the error that is still good.
        thorough: whether to search on until the set cannot be smaller.
        progress: receives the number of finished runs and of all runs.
    """

    def __init__(
        self,
        trial: Trial,
        nodes: Sequence[Node],
        found: Findings,
        rehearsal: Rehearsal,
        bound: float,
        *,
        thorough: bool = False,
        progress: Callable[[int, int], None] = lambda _, __: None,
    ) -> None:
        self.trial = trial
        self.nodes = nodes
        self.ranges = found
        self.bound = bound
        self.ways = [narrowing for narrowing, _ in rehearsal.applying()]
        self.runs = THOROUGH_RUNS if thorough else MOST_RUNS
        self.budget = Budget(self.runs, THOROUGH_SECONDS if thorough else MOST_SECONDS)
        self.progress = progress
        self.drivers = self._drivers(rehearsal)
        self.cut = False
        self.target = bound * _MARGIN
        self.errors: dict[tuple[Narrowing, frozenset[str]], float | None] = {}
        self.costs = {node.path: self._cost(node) for node in nodes}
        narrow = trial.skeleton.narrow
        self.carrying = [
            node
            for node in nodes
            if not node.domain and node.op in CARRYING and node.outputs and node.output.dtype in narrow
        ]
        self.carriers = frozenset(node.path for node in self.carrying)

    def _drivers(self, rehearsal: Rehearsal) -> list[Narrowing]:
        """The ways that sets are tried in, one for each way of converting constants beyond the range.

        Each has all that makes a way that applies worse than the bound.
        """
        bad = [way for way, each in rehearsal.applying() if not within(each, self.bound)]
        accumulate = any(way.accumulate for way in bad)
        fused = all(way.fused for way in bad)
        stored = next((way.stored for way in bad if way.fused), None)
        drivers = []
        for clamped in dict.fromkeys(way.clamped for way in bad):
            driver = replace(bad[0], accumulate=accumulate, clamped=clamped, fused=fused, stored=stored)
            if accumulate and not self.trial.accumulates(driver):
                driver = replace(driver, accumulate=False)
            drivers.append(driver)
        return drivers

    def found(self) -> Kept:
        """Return the set, verified."""
        folding = self.trial.skeleton.folding
        after = sum(way not in self.drivers for way in self.ways)
        self.budget.reserve(after)
        unclamped = any(driver.clamped != self.ranges.constants for driver in self.drivers)
        region = regions(self.nodes, self.ranges, constants=unclamped, folding=folding)
        fixed: frozenset[str] = frozenset().union(*region)
        counted = [node for node in self.nodes if self._counts(node)]
        units = dict.fromkeys(folding.together(node.path) for node in counted)
        singles = [unit for unit in units if not unit <= self.carriers]
        inside = [unit for unit in singles if unit <= fixed]
        outside = [unit for unit in singles if not unit <= fixed]
        chosen = fixed
        if region and self._enough(fixed):
            chosen = self._least(inside, fixed - self.carriers.union(*inside))
        elif self._can_do(fixed.union(*outside)):
            begin, end = window(outside, lambda paths: self._enough(paths | fixed), self.budget)
            # The search for the window has shown that its ends are needed.
            ends = outside[begin].union(outside[end - 1])
            chosen = self._least(outside[begin + 1 : end - 1], fixed | ends)
            if inside:
                chosen = self._least(inside, chosen - self.carriers.union(*inside))
        complete = not self.cut and not self.budget.spent
        self.budget.reserve(-after)
        chosen = self._closed(chosen)
        last = [self._error(chosen, way) for way in self.ways]
        margin = self._margin(chosen, singles)
        return Kept(
            nodes=tuple(node.path for node in self.nodes if node.path in chosen),
            error=worst(last),
            runs=self.budget.runs,
            verified=all(error is not None and error <= self.bound for error in last),
            computing=len(counted),
            products=sum(node.op in PRODUCTS for node in counted),
            kept_products=sum(node.op in PRODUCTS for node in self.nodes if node.path in chosen),
            margin=tuple(node.path for node in self.nodes if node.path in margin),
            complete=complete,
        )

    def _least(self, units: Sequence[frozenset[str]], fixed: frozenset[str]) -> frozenset[str]:
        """The least part of some units that is enough together with others, and these."""
        costs = [sum(self.costs[path] for path in unit if path in self.costs) for unit in units]

        def enough(paths: frozenset[str]) -> bool:
            return self._enough(paths | fixed)

        return fixed.union(*least(units, enough, self.budget, costs, needed=not fixed))

    def _margin(self, chosen: frozenset[str], singles: Sequence[frozenset[str]]) -> frozenset[str]:
        """The nodes without any one of which the error stays under the bound."""
        found: set[str] = set()
        for unit in singles:
            if unit <= chosen and chosen - unit - self.carriers:
                rest = self._closed(chosen - unit)
                if self._is_spare(rest):
                    found |= unit
        for node in self.carrying:
            maker = node.inputs[0].producer if node.inputs and node.inputs[0] is not None else None
            if node.path not in chosen:
                continue
            if maker is not None and maker.path in found:  # without its maker, what it carries is rounded
                found.add(node.path)
                continue
            if self._is_spare(chosen - {node.path}):
                found.add(node.path)
        for node in self.nodes:
            if node.path in chosen and node.outputs and node.output.name in self.ranges.constants:
                readers = {reader.path for reader, _ in node.output.uses} & chosen
                if readers <= found:
                    found.add(node.path)
        return frozenset(found)

    def _is_spare(self, rest: frozenset[str]) -> bool:
        """Whether a set is under the bound; false where no run is left to tell."""
        for driver in self.drivers:
            if (driver, rest) not in self.errors and self.budget.spent:
                return False
            error = self._error(rest, driver)
            if error is None or error > self.bound:
                return False
        return True

    def _closed(self, chosen: frozenset[str]) -> frozenset[str]:
        """A set with the constants beyond the range that it reads, and the carriers between its nodes.

        An operator that only moves numbers rounds nothing where what it reads is rounded, or where what
        reads it rounds.  So it belongs to a set where both its ends do, and else it does not.
        """
        chosen -= self.carriers
        exact: set[str] = set()
        for node in self.carrying:
            value = node.input(0)
            maker = None if value is None else value.producer
            if maker is None or maker.path in chosen or maker.path in exact or not self._rounds(maker):
                exact.add(node.path)
        used: set[str] = set()
        for node in reversed(self.carrying):
            if node.path in exact and any(
                reader.scope or reader.path in chosen or reader.path in used
                for value in node.outputs
                for reader, _ in value.uses
            ):
                used.add(node.path)
        chosen |= used
        values = (
            value for node in self.nodes if node.path in chosen for value in node.inputs if value is not None
        )
        read = (value.producer for value in values if value.name in self.ranges.constants)
        return chosen | {node.path for node in read if node is not None}

    def _rounds(self, node: Node) -> bool:
        """Whether the results of a node are rounded: those of stored tensors are not before they are read."""
        stored = node.op == "Constant" and not node.domain
        return not stored and node.path not in self.trial.skeleton.folding.constants

    def _counts(self, node: Node) -> bool:
        narrow = self.trial.skeleton.narrow
        values = (value for value in (*node.inputs, *node.outputs) if value is not None)
        if not node.domain and node.op in _SHAPES:
            return False
        return self._rounds(node) and any(value.dtype in narrow for value in values)

    def _cost(self, node: Node) -> float:
        """A measure of the time that a node takes: its elements, and more for a product."""
        sizes = [_size(value.shape) for value in node.outputs]
        return max(sizes, default=_UNKNOWN) * (_PRODUCT_COST if node.op in PRODUCTS else 1.0)

    def _can_do(self, everything: frozenset[str]) -> bool:
        """Whether all nodes are enough; where they are without a margin only, the search goes without it."""
        if self._enough(everything):
            return True
        if self._is_spare(self._closed(everything)):
            self.target = self.bound
            return True
        return False

    def _enough(self, paths: frozenset[str]) -> bool:
        closed = self._closed(paths)
        if self.budget.left < sum((driver, closed) not in self.errors for driver in self.drivers):
            self.cut = True
            return False
        errors = (self._error(closed, driver) for driver in self.drivers)
        return all(error is not None and error <= self.target for error in errors)

    def _error(self, paths: frozenset[str], way: Narrowing) -> float | None:
        """The error with some nodes in FP32, in one way."""
        key = way, paths
        if key not in self.errors:
            self.budget.charge()
            self.progress(self.budget.runs, self.runs)
            self.errors[key] = self.trial.rehearse(replace(way, keep=paths)).worst
        return self.errors[key]


def _size(shape: Sequence[int | str | None] | None) -> float:
    size = _UNKNOWN
    for dim in shape or ():
        size *= dim if isinstance(dim, int) and dim > 0 else 1
    return size
