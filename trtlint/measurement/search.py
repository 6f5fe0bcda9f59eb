"""Search for a small set of nodes to keep in FP32.

A set passes if the errors of all outputs are small enough with the set in FP32. A rounding scheme is one way
to simulate the rounding of a low-precision type. First, the search tests each rounding scheme without any
node in FP32. To save runs, it combines the rounding schemes whose errors are too large, and tests each set
only with this combination. The error of the combination is at least as large as the error of each of its
rounding schemes. At the end, the search tests its final set with all rounding schemes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from trtlint.measurement.analysis import Findings, regions
from trtlint.measurement.band import within, worst
from trtlint.measurement.keeping import Budget, least, window
from trtlint.measurement.kept import KeptNodes
from trtlint.measurement.narrowing import Narrowing
from trtlint.measurement.ports import CARRYING
from trtlint.measurement.rehearsing import Rehearsal
from trtlint.measurement.trial import Trial
from trtlint.model.graph import Node
from trtlint.model.operators import PRODUCTS, SHAPE_READERS

MOST_RUNS = 20
MOST_SECONDS = 30.0
"""Default limit of a search and its verification, in seconds. ``MOST_RUNS`` limits the number of runs."""
THOROUGH_RUNS = 2_000
THOROUGH_SECONDS = 3_600.0
"""The limits with ``--thorough``."""
_MARGIN = 0.5
"""The search aims at this share of the allowed error. The margin is needed, because another order of
operations can double an error.
"""
_PRODUCT_COST = 64.0
"""Keeping a product in FP32 costs this many times as much as keeping another operator of the same size."""
_FEW = 3
"""Largest number of units that the last step tests in one run.

The last step finds the units that are kept only as a safety margin.
"""
_MOST_UNITS = 8
"""The last step starts only if there are at most this many units for each remaining run."""


class KeepSearch:
    """The search for the nodes to keep in FP32.

    Args:
        trial: the model and its inputs.
        nodes: the nodes of the main graph, in graph order.
        found: the tensors and nodes that exceed the range of the low-precision type.
        rehearsal: the results of simulating the model with each rounding scheme.
        bound: largest allowed error of an output.
        thorough: true to search with the larger limits of ``--thorough``.
        progress: function that receives the number of the current run and the largest number of runs.
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
        self.ways = [way for way, _ in rehearsal.runs]
        self.runs = THOROUGH_RUNS if thorough else MOST_RUNS
        self.budget = Budget(self.runs, THOROUGH_SECONDS if thorough else MOST_SECONDS)
        self.progress = progress
        self.drivers = self._drivers(rehearsal)
        self.cut = False
        self.target = bound * _MARGIN
        self.errors: dict[tuple[Narrowing, frozenset[str]], float | None] = {}
        values = trial.model.graph.values
        self.constant_readers = frozenset(
            reader.path for name in found.constants for value in values[name] for reader, _ in value.uses
        )
        self.costs = {node.path: self._cost(node) for node in nodes}
        narrow = trial.model.narrow
        self.carrying = [
            node
            for node in nodes
            if not node.domain and node.op in CARRYING and node.outputs and node.output.dtype in narrow
        ]
        self.carriers = frozenset(node.path for node in self.carrying)

    def _drivers(self, rehearsal: Rehearsal) -> list[Narrowing]:
        """Return the one or two rounding schemes with which the search tests each set.

        Only the rounding schemes whose errors are too large are combined. A rounding scheme either clamps
        constants beyond the range or makes them infinite. These two kinds are not combined with each other,
        so the result can have one rounding scheme of each kind.
        """
        bad = [way for way, each in rehearsal.runs if not within(each.worst, self.bound)]
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

    def found(self) -> KeptNodes:
        """Search for the set, test it with all rounding schemes, and return it."""
        folding = self.trial.model.folding
        counted = [node for node in self.nodes if self._counts(node)]
        units = dict.fromkeys(folding.together(node.path) for node in counted)
        singles = [unit for unit in units if not unit <= self.carriers]
        chosen = self._search(singles)
        last = [self._error(chosen, way) for way in self.ways]
        # A rounding scheme can pass if no node is in FP32, and fail with the chosen nodes in FP32.
        # If so, search again, and test the sets with this rounding scheme, too.
        failing = [way for way, error in zip(self.ways, last, strict=True) if not within(error, self.bound)]
        failing = [way for way in failing if way not in self.drivers]
        if failing and self.drivers and not self.budget.spent:
            self.drivers += failing
            again = self._search(singles)
            errors = [self._error(again, way) for way in self.ways]
            if all(within(error, self.bound) for error in errors):
                chosen, last = again, errors
        margin = self._margin(chosen, singles)
        return KeptNodes(
            nodes=tuple(node.path for node in self.nodes if node.path in chosen and self._rounds(node)),
            error=worst(last),
            runs=self.budget.runs,
            verified=all(within(error, self.bound) for error in last),
            computing=len(counted),
            products=sum(node.op in PRODUCTS for node in counted),
            kept_products=sum(node.op in PRODUCTS for node in self.nodes if node.path in chosen),
            margin=tuple(node.path for node in self.nodes if node.path in margin and self._rounds(node)),
            complete=not self.cut,
        )

    def _search(self, singles: Sequence[frozenset[str]]) -> frozenset[str]:
        """Return a small set that passes with the rounding schemes of :meth:`_drivers`.

        Args:
            singles: the units, which are groups of nodes that must be kept together.
        """
        folding = self.trial.model.folding
        after = sum(way not in self.drivers for way in self.ways)
        self.budget.reserve(after)
        unclamped = any(driver.clamped != self.ranges.constants for driver in self.drivers)
        region = regions(self.nodes, self.ranges, constants=unclamped, folding=folding)
        fixed: frozenset[str] = frozenset().union(*region)
        inside = [unit for unit in singles if unit <= fixed]
        outside = [unit for unit in singles if not unit <= fixed]
        chosen = fixed
        alone = bool(region) and self._enough(fixed)
        if not alone and self._whole_set_passes(fixed.union(*outside)):
            alone = bool(region) and self._enough(fixed)  # the safety margin may have been dropped
            if not alone and outside:
                begin, end = window(outside, lambda paths: self._enough(paths | fixed), self.budget)
                # The first and last units of the window are needed, as the search for the window showed.
                ends = outside[begin].union(outside[end - 1])
                chosen = self._least(outside[begin + 1 : end - 1], fixed | ends)
                if inside:
                    chosen = self._least(inside, chosen - self.carriers.union(*inside))
        if alone:
            chosen = self._least(inside, fixed - self.carriers.union(*inside))
        self.cut = self.cut or self.budget.spent
        self.budget.reserve(-after)
        return self._closed(chosen)

    def _least(self, units: Sequence[frozenset[str]], fixed: frozenset[str]) -> frozenset[str]:
        """Return the union of ``fixed`` and a few units. This union passes."""
        costs = [sum(self.costs[path] for path in unit if path in self.costs) for unit in units]

        def enough(paths: frozenset[str]) -> bool:
            return self._enough(paths | fixed)

        return fixed.union(*least(units, enough, self.budget, costs, needed=not fixed))

    def _margin(self, chosen: frozenset[str], singles: Sequence[frozenset[str]]) -> frozenset[str]:
        """Return the nodes of a set that are kept only as a safety margin.

        If one of these nodes is removed, the set still passes.
        """
        found = self._unneeded(chosen, [unit for unit in singles if unit <= chosen], self._closed)
        heads: list[frozenset[str]] = []
        same: dict[str, str] = {}
        for node in self.carrying:
            value = node.input(0)
            maker = None if value is None else value.producer
            if node.path not in chosen or (maker is not None and maker.path in found):
                continue
            alone = maker is not None and sum(len(each.uses) for each in maker.outputs) == 1
            if maker is not None and maker.path in same and alone:
                same[node.path] = same[maker.path]  # rounds the same numbers
            else:
                same[node.path] = node.path
                heads.append(frozenset({node.path}))
        found |= self._unneeded(chosen, heads, lambda rest: rest)
        carried: set[str] = set(found)
        for node in self.carrying:
            value = node.input(0)
            rounded = value is not None and value.producer is not None and value.producer.path in carried
            if node.path in chosen and (rounded or same.get(node.path) in found):
                carried.add(node.path)
        for node in self.nodes:
            if node.path in chosen and node.outputs and node.output.name in self.ranges.constants:
                readers = {reader.path for reader, _ in node.output.uses} & chosen
                if readers <= carried:
                    carried.add(node.path)
        return frozenset(carried)

    def _unneeded(
        self,
        chosen: frozenset[str],
        units: Sequence[frozenset[str]],
        complete: Callable[[frozenset[str]], frozenset[str]],
    ) -> frozenset[str]:
        """Return the units that can be removed from a set.

        If the search removes any one of these units, the set still passes. To test a unit, the search runs
        the model with only the rest of the set in FP32. If the budget is enough for only one more test, and
        two or three units are left, the search tests these units together.

        Args:
            chosen: the set.
            units: the units to test, all of them in the set.
            complete: function, such as :meth:`_closed`. It adds the nodes that must be in FP32 if the nodes
                of a set are in FP32.
        """
        found: frozenset[str] = frozenset()
        if self.cut or len(units) > _MOST_UNITS * self.budget.left:
            self.cut = self.cut or bool(units)
            return found
        rests = ((unit, complete(chosen - unit)) for unit in units)
        # A set without a node that rounds is not tested.
        waiting = [
            unit
            for unit, rest in rests
            if rest - self.carriers and not self._is_known_to_fail(rest, self.bound)
        ]
        while waiting and not self.cut:
            left = self.budget.left
            size = len(waiting) if left <= len(self.drivers) and len(waiting) <= _FEW else 1
            group, waiting = waiting[:size], waiting[size:]
            together = frozenset().union(*group)
            rest = complete(chosen - together)
            if rest - self.carriers and self._passes(rest, self.bound):
                found |= together
            elif size > 1:
                self.cut = True
        return found

    def _passes(self, paths: frozenset[str], limit: float) -> bool:
        """Return True if a set's errors are at most ``limit`` in all rounding schemes of the search.

        The result is also False if too few runs are left for the test.
        """
        if self._is_known_to_fail(paths, limit):
            return False
        if self.budget.left < self._missing(paths):
            self.cut = True
            return False
        return all(within(self._error(paths, driver), limit) for driver in self.drivers)

    def _is_known_to_fail(self, paths: frozenset[str], limit: float) -> bool:
        """Return True if an earlier run with a larger set had an error above ``limit``."""
        return any(
            paths <= tried and way in self.drivers and not within(error, limit)
            for (way, tried), error in self.errors.items()
        )

    def _closed(self, chosen: frozenset[str]) -> frozenset[str]:
        """Add to a set the nodes that must be in FP32 together with the set, and return the result.

        An operator that only moves numbers, such as Reshape, is added if the operator before it and an
        operator after it are in the set. Otherwise, a neighbouring operator rounds the same numbers anyway.
        Constants beyond the range are added if a node of the set reads them.
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
        """Return whether a node rounds its results.

        A node whose result is constant does not round.  The operators that read the constant round it.
        """
        stored = node.op == "Constant" and not node.domain
        return not stored and node.path not in self.trial.model.folding.constants

    def _counts(self, node: Node) -> bool:
        narrow = self.trial.model.narrow
        values = (value for value in (*node.inputs, *node.outputs) if value is not None)
        if not node.domain and node.op in SHAPE_READERS:
            return False
        return self._rounds(node) and any(value.dtype in narrow for value in values)

    def _cost(self, node: Node) -> float:
        """Estimate the run time of a node: the number of elements, multiplied by a factor for products."""
        sizes = [_size(value.shape) for value in node.outputs]
        return max(sizes, default=1.0) * (_PRODUCT_COST if node.op in PRODUCTS else 1.0)

    def _whole_set_passes(self, everything: frozenset[str]) -> bool:
        """Return whether the error is small enough if all nodes are in FP32.

        At first, the search requires an error that is smaller than the limit by a safety margin. If even the
        set of all nodes misses this margin but stays within the limit, the search continues without the
        margin.
        """
        if self._enough(everything):
            return True
        if self._passes(self._closed(everything), self.bound):
            self.target = self.bound
            return True
        return False

    def _enough(self, paths: frozenset[str]) -> bool:
        return self._passes(self._closed(paths), self.target)

    def _error(self, paths: frozenset[str], way: Narrowing) -> float | None:
        """Return the error with the rounding scheme ``way`` if the set ``paths`` is in FP32."""
        key, run = (way, paths), self._run(way, paths)
        if run not in self.errors:
            self.budget.charge()
            self.progress(self.budget.runs, self.runs)
            self.errors[run] = self.trial.rehearse(replace(run[0], keep=paths)).worst
        self.errors[key] = self.errors[run]
        return self.errors[key]

    def _run(self, way: Narrowing, paths: frozenset[str]) -> tuple[Narrowing, frozenset[str]]:
        """Return the key under which the error of a set with one rounding scheme is stored.

        A rounding scheme either clamps constants beyond the range or makes them infinite. If only nodes in
        FP32 read these constants, both treatments give the same error, so they share a key.
        """
        same = self.constant_readers <= paths
        return (replace(way, clamped=self.ranges.constants) if same else way), paths

    def _missing(self, paths: frozenset[str]) -> int:
        """Return the number of runs that are still needed to know the errors of a set."""
        return len({self._run(driver, paths) for driver in self.drivers} - self.errors.keys())


def _size(shape: Sequence[int | str | None] | None) -> float:
    return math.prod((max(dim, 1) if isinstance(dim, int) else 1 for dim in shape or ()), start=1.0)
