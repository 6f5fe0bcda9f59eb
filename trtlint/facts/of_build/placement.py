"""Find the engine layers that compute each node of the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import ClassVar

from trtlint.facts.base import Fact, Step
from trtlint.facts.facts import Facts
from trtlint.facts.of_build.layer import EngineType, layer_times, short_type
from trtlint.model.graph import Node

_SIZES = frozenset({"i32", "i64", "bool"})
"""Element types of tensors that can contain sizes."""


class Placement(Fact, frozen=True):
    """A node of the model, and the engine layers that compute it.

    There is no fact for a node that depends only on stored tensors, because the engine does not contain
    such a node.

    Attributes:
        layers: names of the layers that compute the node, in engine order; empty if the layer file does not
            show which layers compute it.
        shape: whether the node only computes tensor sizes from other sizes.  TensorRT computes such a node on
            the CPU, not in a layer of the engine.
        absorbed: True if the node only changes the layout, and layers of neighbouring nodes include this
            change. No layer then belongs to the node alone.
        precision: the type in which the layers compute; None if it is unknown or the layers differ.
        format: the layout of the last layer's output, as printed.
        others: number of further nodes that the layers in ``layers`` compute.
        ms: average time of the layers for one inference, in milliseconds. The time includes the further nodes
            in these layers.
        share: the time of the layers as a share of the time of all layers, 0 to 1.
    """

    roles: ClassVar[Mapping[str, str]] = {"node": "the node"}

    layers: tuple[str, ...]
    shape: bool
    absorbed: bool
    precision: EngineType | None
    format: str | None
    others: int
    ms: float | None
    share: float | None


def find(facts: Facts) -> Iterator[Placement]:
    """Yield, in graph order, a fact for each node that can be in the engine."""
    joined = facts.joined
    if joined is None:
        return
    times = layer_times(facts)
    constants = facts.model.constants
    shapes: set[Node] = set()

    @cache  # all nodes of a Myelin island have the same layers
    def together(indexes: tuple[int, ...]) -> frozenset[Node]:
        return frozenset(node for index in indexes for node in joined.nodes.get(index, ()))

    for node in facts.model.graph.nodes:
        if all(constants.foldable(value) for value in node.outputs if value.name):
            continue
        if _of_sizes(node, shapes, facts):
            shapes.add(node)
        layers = joined.placed(node)
        precisions = {short_type(layer.precision) for layer in layers}
        inside = together(tuple(layer.index for layer in layers))
        timed = [times[layer.index] for layer in layers if layer.index in times]
        outputs = layers[-1].outputs if layers else ()
        yield Placement(
            node=node,
            chain=(Step(node, "node"),),
            layers=tuple(layer.name for layer in layers),
            shape=node in shapes,
            absorbed=bool(layers) and node not in joined.layers,
            precision=precisions.pop() if len(precisions) == 1 else None,
            format=outputs[0].format if outputs else None,
            others=len(inside) - (node in inside),
            ms=sum(time.average for time in timed) if timed else None,
            share=sum(time.share for time in timed) if timed else None,
        )


def _of_sizes(node: Node, shapes: set[Node], facts: Facts) -> bool:
    """Return whether a node only computes tensor sizes.

    This is true for ``Shape`` and ``Size``. For any other node, it is true if each input of the node is a
    stored tensor, or the result of a node in ``shapes``.

    Args:
        node: the node.
        shapes: the nodes that are already known to compute only tensor sizes.
        facts: the facts of the model.
    """
    if any(value.name and value.dtype not in _SIZES for value in node.outputs):
        return False
    if node.op in ("Shape", "Size"):
        return True
    constants = facts.model.constants
    read = [value for value in node.inputs if value is not None and not constants.foldable(value)]
    return bool(read) and all(value.producer in shapes for value in read)
