"""Order the layers of a network for computation.

The layers of a loop become a separate block of steps.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from msgspec import Struct, field

from trtlint.network.layers import Layer, Network, NotComputedError

_TENSORS = ("mask", "normalization_quantize_scale")
"""Settings of an attention layer that are tensors."""
_LOOP = frozenset({"RECURRENCE", "ITERATOR", "TRIP_LIMIT", "LOOP_OUTPUT"})
_STARTS = frozenset({"RECURRENCE", "ITERATOR"})
_ENDS = _LOOP - _STARTS
"""Kinds of the layers that end a loop or return its results."""

Guard = frozenset[tuple[int, bool]]
"""Branches of conditionals.  A step with this guard is needed only if all these branches are selected.

Each branch is a pair: the number of the conditional, and whether the branch is the true branch.
"""


class ScheduledStep(Struct, frozen=True, eq=False):
    """One step of the computation: a layer, or a whole loop.

    Attributes:
        layer: the layer; for a loop, the first layer of the loop.
        needs: the tensors that the step reads.
        gives: the tensors that the step computes.
        loop: for a loop, the steps of one iteration; None for a layer.
    """

    layer: Layer
    needs: tuple[int, ...]
    gives: tuple[int, ...]
    loop: Block | None = None


class Block(Struct, eq=False):
    """Steps in the order of computation: the steps of one loop iteration, or all steps outside loops.

    Attributes:
        steps: the steps.
        guards: for each step, a set of branches. The step is needed only if all these branches are
            selected. The set is empty if the step is always needed. A step that is not needed is skipped.
        last: for each step, the tensors that can be deleted after it, because no later step reads them.
        bounds: for the block of a loop, the layers that define its limit, its iterated and
            loop-carried tensors, and its outputs.
    """

    steps: list[ScheduledStep] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    last: list[tuple[int, ...]] = field(default_factory=list)
    bounds: tuple[Layer, ...] = ()


def tensors_of(layer: Layer) -> tuple[int, ...]:
    """Return the positions of the tensors that a layer reads."""
    extra = (layer.settings[name] for name in _TENSORS if isinstance(layer.settings.get(name), int))
    return (*(tensor for tensor in layer.inputs if tensor is not None), *extra)


def schedule(network: Network) -> Block:
    """Return the steps of a network in the order of computation.

    Raises:
        NotComputedError: the layers depend on each other in a cycle.
    """
    return _Scheduler(network).block(None)


class _Scheduler:
    def __init__(self, network: Network) -> None:
        self._network = network
        self._readers: dict[int, list[Layer]] = defaultdict(list)
        for layer in network.layers:
            for tensor in tensors_of(layer):
                self._readers[tensor].append(layer)
        self._bounds: dict[int, list[Layer]] = defaultdict(list)
        for layer in network.layers:
            if layer.kind in _LOOP:
                self._bounds[layer.group].append(layer)
        self._bodies = {group: self._body(group) for group in self._bounds}
        by_size = sorted(self._bodies, key=lambda group: len(self._bodies[group]))
        self._home: dict[int, int | None] = {layer.index: None for layer in network.layers}
        for group in reversed(by_size):  # inner loops overwrite outer loops
            self._home.update(dict.fromkeys(self._bodies[group], group))
        self._parent = {group: self._outer(group, by_size) for group in by_size}
        self._conditions = network.conditions

    def _body(self, group: int) -> set[int]:
        """Return the indices of the layers in the body of loop ``group``, including inner loops."""
        found: set[int] = set()
        waiting = list(self._bounds[group])
        while waiting:
            layer = waiting.pop()
            if layer.index in found:
                continue
            found.add(layer.index)
            if layer.kind in _LOOP and layer.group != group:
                waiting += self._bounds[layer.group]
            if layer.group == group and layer.kind in _ENDS:
                continue
            for output in layer.outputs:
                waiting += self._readers[output]
        return found

    def _outer(self, group: int, by_size: Sequence[int]) -> int | None:
        first = self._bounds[group][0].index
        for other in by_size:
            body = self._bodies[other]
            if other != group and first in body and len(body) > len(self._bodies[group]):
                return other
        return None

    def block(self, group: int | None) -> Block:
        """Return the steps of one iteration of loop ``group``. For None, return the steps outside loops."""
        steps = [
            # A layer that begins an iteration gets its values from the loop, so it depends on no step.
            ScheduledStep(layer, () if layer.kind in _LOOP else self._reads(layer), layer.outputs)
            for layer in self._network.layers
            if self._home[layer.index] == group and layer.kind not in _ENDS
        ]
        steps += [self._loop(inner) for inner, outer in self._parent.items() if outer == group]
        steps = _ordered(steps, {})
        ends = [] if group is None else self._bounds[group]
        guards = self._guards(steps, {tensor for layer in ends for tensor in tensors_of(layer)})
        conditions = {
            id(step): [tensor for branch, _ in guard if (tensor := self._conditions.get(branch)) is not None]
            for step, guard in zip(steps, guards, strict=True)
        }
        ordered = _ordered(steps, conditions)
        by_step = {id(step): guard for step, guard in zip(steps, guards, strict=True)}
        kept = set(self._network.outputs)
        kept.update(tensor for layer in ends for tensor in tensors_of(layer))
        reads = [(*step.needs, *conditions[id(step)]) for step in ordered]
        return Block(
            ordered,
            [by_step[id(step)] for step in ordered],
            _deletable_after(ordered, reads, kept),
            tuple(ends),
        )

    def _reads(self, layer: Layer) -> tuple[int, ...]:
        """Return the tensors that a layer reads.

        The output layer of an If also reads the condition of the If.
        """
        condition = self._conditions.get(layer.group) if layer.kind == "CONDITIONAL_OUTPUT" else None
        return (*tensors_of(layer), *(() if condition is None else (condition,)))

    def _loop(self, group: int) -> ScheduledStep:
        body = self._bodies[group]
        layers = [layer for layer in self._network.layers if layer.index in body]
        inner = {output for layer in layers for output in layer.outputs}
        needs = dict.fromkeys(
            tensor for layer in layers for tensor in self._reads(layer) if tensor not in inner
        )
        gives = tuple(
            output for layer in self._bounds[group] if layer.kind == "LOOP_OUTPUT" for output in layer.outputs
        )
        return ScheduledStep(self._bounds[group][0], tuple(needs), gives, self.block(group))

    def _guards(self, steps: Sequence[ScheduledStep], ends: set[int]) -> list[Guard]:
        """Return, for each step, the branches that contain all readers of the step's outputs.

        A reader is a step that reads one of these outputs. If the readers have no branch in common, the
        result for the step is empty.

        Args:
            steps: the steps of a block.
            ends: tensors that are needed after the last step.
        """
        readers: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for place, step in enumerate(steps):
            for port, tensor in enumerate(step.needs):
                readers[tensor].append((place, port))
        free = {*self._network.outputs, *ends, *self._conditions.values()}
        guards: list[Guard] = [frozenset()] * len(steps)
        for place in reversed(range(len(steps))):
            step = steps[place]
            found: Guard | None = None
            for tensor in step.gives:
                if tensor in free:
                    found = frozenset()
                for reader, port in readers[tensor]:
                    guard = guards[reader]
                    other = steps[reader].layer
                    if other.kind == "CONDITIONAL_OUTPUT":
                        guard = guard | {(other.group, port == 0)}
                    found = guard if found is None else found & guard
            guards[place] = found or frozenset()
        return guards


def _ordered(steps: Sequence[ScheduledStep], extra: Mapping[int, Iterable[int]]) -> list[ScheduledStep]:
    """Sort steps so that a step comes after all steps that compute its inputs.

    Independent steps stay in the order of the network.

    Args:
        steps: the steps.
        extra: tensors that a step needs in addition to its ``needs``, by ``id()`` of the step.
    """
    giver = {tensor: place for place, step in enumerate(steps) for tensor in step.gives}
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for place, step in enumerate(steps):
        before = {giver[tensor] for tensor in (*step.needs, *extra.get(id(step), ())) if tensor in giver}
        sorter.add(place, *(before - {place}))
    try:
        sorter.prepare()
    except CycleError:
        raise NotComputedError("the layers of the network depend on each other in a cycle") from None
    ready: list[tuple[int, int]] = []
    found = []
    while sorter.is_active():
        for place in sorter.get_ready():
            heapq.heappush(ready, (steps[place].layer.index, place))
        _, place = heapq.heappop(ready)
        found.append(steps[place])
        sorter.done(place)
    return found


def _deletable_after(
    steps: Sequence[ScheduledStep], reads: Sequence[Iterable[int]], kept: set[int]
) -> list[tuple[int, ...]]:
    """Return, for each step, the tensors that can be deleted after the step.

    Args:
        steps: the steps of a block, in order.
        reads: for each step, the tensors that it reads.
        kept: tensors that are needed after the last step.
    """
    own = {tensor for step in steps for tensor in step.gives}
    seen = set(kept)
    found: list[tuple[int, ...]] = []
    for step, tensors in zip(reversed(steps), reversed(reads), strict=True):
        fresh = dict.fromkeys(tensor for tensor in (*step.gives, *tensors) if tensor not in seen)
        seen.update(fresh)
        found.append(tuple(tensor for tensor in fresh if tensor in own))
    return found[::-1]
