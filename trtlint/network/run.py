"""Compute a network layer by layer. A tensor is deleted after the last layer that reads it."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from trtlint.network import attention, boxes, movement, pointwise, products, reductions, sampling
from trtlint.network.iterations import MOST
from trtlint.network.layers import Array, Layer, Network, NotComputedError
from trtlint.network.pointwise import Compute
from trtlint.network.schedule import Block, ScheduledStep, schedule
from trtlint.network.types import narrowed

_LAYERS: Mapping[str, Compute] = {
    **attention.LAYERS,
    **boxes.LAYERS,
    **movement.LAYERS,
    **pointwise.LAYERS,
    **products.LAYERS,
    **reductions.LAYERS,
    **sampling.LAYERS,
}
"""For each kind of layer, the function that computes the layer."""
_LONGEST = 200
"""Largest number of characters in the reason of a :class:`MissingTensor`."""


class MissingTensor(Struct, frozen=True):
    """Placeholder for a tensor that was not computed.

    Attributes:
        reason: why the tensor is missing.
    """

    reason: str


Value = Array | MissingTensor
Watch = Callable[[int, Layer, Value], Value]
"""Function that receives a tensor after its computation: its position, its layer and its value.

The function returns the value that the following layers read.
"""
Foresee = Callable[[Layer, Sequence[Any]], Array | None]
"""Function that receives a layer with one output, and the inputs of the layer.

The function returns the output if the output is already known, else None.
"""


class _BlockTensors(ChainMap[int, Value]):
    """The tensors of one block. A block is one loop iteration, or all layers outside loops.

    Layers of the block can also read the tensors of the outer blocks.
    """

    def __missing__(self, tensor: int) -> Value:
        return MissingTensor("no layer computes the tensor")


class Runner:
    """Computes a network on one set of inputs.

    Args:
        network: the network.
        watch: function that is called with each tensor outside loops after the tensor is computed.
        foresee: function that is called with each layer outside loops before the layer is computed. If the
            function returns the output of the layer, the layer is not computed.
    """

    def __init__(self, network: Network, watch: Watch, foresee: Foresee | None = None) -> None:
        self._watch = watch
        self._foresee = foresee
        self._block = schedule(network)
        self._network = network
        self._givers = {tensor: layer for layer in network.layers for tensor in layer.outputs}
        self._conditions = network.conditions

    @property
    def steps(self) -> Sequence[ScheduledStep]:
        """Return the layers and loops of the network, in the order of computation."""
        return self._block.steps

    def run(self, feeds: Mapping[str, Array]) -> None:
        """Compute all tensors of the network.

        Args:
            feeds: the inputs of the network by name.
        """
        scope = _BlockTensors()
        with np.errstate(all="ignore"):
            for tensor in self._network.inputs:
                known = self._network.tensors[tensor]
                given = feeds.get(known.name)
                scope[tensor] = (
                    MissingTensor("no value was given")
                    if given is None
                    else narrowed(np.asarray(given), known.dtype)
                )
            self._run(self._block, scope, self._watch)

    def _run(self, block: Block, scope: _BlockTensors, watch: Watch | None) -> None:
        for step, guard, last in zip(block.steps, block.guards, block.last, strict=True):
            if step.loop is None and step.layer.kind in ("RECURRENCE", "ITERATOR"):
                continue  # the loop sets the outputs of these layers
            if any(self._skips(scope, branch, taken) for branch, taken in guard):
                found: Sequence[Value] = [
                    MissingTensor("the layer is in a branch that its If did not select")
                ] * len(step.gives)
            else:
                known = None if watch is None else self._foreseen(step, scope)
                found = self._step(step, scope) if known is None else [known]
                del known
            for tensor, value in zip(step.gives, found, strict=True):
                scope[tensor] = value if watch is None else watch(tensor, self._givers[tensor], value)
            del found
            for tensor in last:
                scope.pop(tensor, None)

    def _foreseen(self, step: ScheduledStep, scope: _BlockTensors) -> Array | None:
        if self._foresee is None or step.loop is not None or len(step.gives) != 1:
            return None
        layer = step.layer
        return self._foresee(layer, [None if each is None else scope[each] for each in layer.inputs])

    def _skips(self, scope: _BlockTensors, branch: int, taken: bool) -> bool:
        condition = self._conditions.get(branch)
        value = MissingTensor("") if condition is None else scope[condition]
        return isinstance(value, np.ndarray) and bool(value.item()) != taken

    def _step(self, step: ScheduledStep, scope: _BlockTensors) -> Sequence[Value]:
        try:
            if step.loop is not None:
                return self._loop(step.loop, scope)
            if step.layer.kind == "CONDITIONAL_OUTPUT":
                return [self._conditional_output(step.layer, scope)]
            return _computed(step.layer, scope)
        except MemoryError:
            raise
        except NotComputedError as error:
            reason = str(error)
        except Exception as error:  # noqa: BLE001 - NumPy and ONNX Runtime raise many classes
            reason = f"{step.layer.kind}: {error}"
        return [MissingTensor(" ".join(reason.split())[:_LONGEST])] * len(step.gives)

    def _conditional_output(self, layer: Layer, scope: _BlockTensors) -> Value:
        """Compute the output of a conditional: the value of the branch that the condition selects."""
        condition = self._conditions.get(layer.group)
        value = MissingTensor("a condition is missing") if condition is None else scope[condition]
        if isinstance(value, MissingTensor):
            return MissingTensor(value.reason)
        tensor = layer.inputs[0 if bool(value.item()) else 1]
        chosen = MissingTensor("a branch is missing") if tensor is None else scope[tensor]
        return chosen if isinstance(chosen, MissingTensor) else narrowed(chosen, layer.types[0])

    def _loop(self, block: Block, scope: _BlockTensors) -> Sequence[Value]:
        loop = _Loop(block.bounds, scope)
        turn = 0
        while True:
            inner = scope.new_child()
            loop.begin(inner, turn)
            if loop.counted_out(turn):
                break
            if turn == MOST:
                raise NotComputedError(f"a loop of more than {MOST} iterations")
            self._run(block, inner, None)
            if loop.stops(inner):
                break
            loop.end(inner)
            turn += 1
        return [loop.output(layer) for layer in block.bounds if layer.kind == "LOOP_OUTPUT"]


class _Loop:
    """The state of a loop between two iterations."""

    def __init__(self, bounds: Sequence[Layer], scope: _BlockTensors) -> None:
        self._bounds = bounds
        self._scope = scope
        self._state = {
            output: _of(scope, layer.inputs[0])
            for layer in self._of_kind("RECURRENCE")
            for output in layer.outputs
        }
        self._collected: dict[int, list[Value]] = {layer.index: [] for layer in self._of_kind("LOOP_OUTPUT")}
        counts = [
            _of(scope, tensor)
            for layer in self._of_kind("TRIP_LIMIT")
            if layer.get("kind") == "COUNT"
            for tensor in layer.inputs
        ]
        self._while = [layer for layer in self._of_kind("TRIP_LIMIT") if layer.get("kind") != "COUNT"]
        if any(isinstance(count, MissingTensor) for count in counts) or not (counts or self._while):
            raise NotComputedError("a loop whose number of iterations is not known")
        self._count = min((int(np.asarray(count).item()) for count in counts), default=None)

    def _of_kind(self, kind: str) -> Iterator[Layer]:
        return (layer for layer in self._bounds if layer.kind == kind)

    def begin(self, inner: _BlockTensors, turn: int) -> None:
        """Set the tensors that an iteration reads: loop-carried tensors, and slices of iterated tensors.

        Args:
            inner: the tensors of the iteration.
            turn: number of the iteration, from 0.
        """
        inner.update(self._state)
        for layer in self._of_kind("ITERATOR"):
            (tensor,), (output,) = layer.inputs, layer.outputs
            source, axis = _of(self._scope, tensor), int(layer.get("axis", 0))
            if isinstance(source, MissingTensor):
                inner[output] = source
            elif turn < source.shape[axis]:
                at = source.shape[axis] - 1 - turn if layer.get("reverse") else turn
                inner[output] = np.take(source, at, axis=axis)

    def counted_out(self, turn: int) -> bool:
        """Return whether the trip count is reached after ``turn`` iterations."""
        return self._count is not None and turn >= self._count

    def stops(self, inner: _BlockTensors) -> bool:
        """Return whether the condition is false. If so, the loop ends without this iteration's results."""
        for layer in self._while:
            (tensor,) = layer.inputs
            value = _of(inner, tensor)
            if isinstance(value, MissingTensor):
                raise NotComputedError(f"a loop whose condition is not known: {value.reason}")
            if not bool(value.item()):
                return True
        return False

    def end(self, inner: _BlockTensors) -> None:
        """Store the results of an iteration, and the loop-carried tensors for the next iteration."""
        for layer in self._of_kind("LOOP_OUTPUT"):
            if layer.get("kind") == "LAST_VALUE":
                self._collected[layer.index] = [_of(inner, layer.inputs[0])]
            else:
                self._collected[layer.index].append(_of(inner, layer.inputs[0]))
        self._state = {
            output: _of(inner, layer.inputs[1])
            for layer in self._of_kind("RECURRENCE")
            for output in layer.outputs
        }

    def output(self, layer: Layer) -> Value:
        """Return the value of one loop output after the last iteration."""
        source, found = layer.inputs[0], self._collected[layer.index]
        missing = next((each for each in found if isinstance(each, MissingTensor)), None)
        if layer.get("kind") == "LAST_VALUE":
            if source in self._state:
                return self._state[source]
            return next(iter(found), MissingTensor("the loop runs no iteration"))
        if missing is not None:
            return missing
        parts: list[Any] = list(found)
        axis = int(layer.get("axis", 0))
        room = None if len(layer.inputs) < 2 else _of(self._scope, layer.inputs[1])
        length = len(parts) if room is None else int(np.asarray(room).item())
        if not parts:
            return MissingTensor("the loop runs no iteration")
        if length > MOST:
            raise NotComputedError(f"a loop output of more than {MOST} iterations")
        parts = parts[:length] + [np.zeros_like(parts[0])] * (length - len(parts))
        if layer.get("kind") == "REVERSE":
            parts.reverse()
        return np.stack(parts, axis=axis)


def _of(scope: _BlockTensors, tensor: int | None) -> Value:
    return MissingTensor("an input is not connected") if tensor is None else scope[tensor]


def _computed(layer: Layer, scope: _BlockTensors) -> Sequence[Value]:
    """Compute the outputs of a layer. If an input is :class:`MissingTensor`, all outputs are missing, too."""
    inputs: list[Any] = [None if tensor is None else scope[tensor] for tensor in layer.inputs]
    if layer.kind == "ATTENTION_INPUT":
        for name in ("mask", "normalization_quantize_scale"):
            tensor = layer.settings.get(name)
            inputs.append(None if tensor is None else scope[tensor])
    missing = next((each for each in inputs if isinstance(each, MissingTensor)), None)
    if missing is not None:
        return [MissingTensor(missing.reason)] * len(layer.outputs)
    if not layer.outputs:  # a condition, a trip limit or an assertion
        return []
    if layer.kind == "CONDITIONAL_INPUT":
        return inputs
    compute = _LAYERS.get(layer.kind)
    if compute is None:
        raise NotComputedError(f"the layer {layer.kind}")
    found: list[Value] = [*compute(layer, inputs)]
    found += [MissingTensor("the computation of the layer gave fewer outputs than the layer has")] * (
        len(layer.outputs) - len(found)
    )
    return found[: len(layer.outputs)]
