"""Find the values that mask or scale the input of a Softmax."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from msgspec import Struct

from trtlint.model.graph import Graph, Node, Value
from trtlint.model.operators import MOVING

_SOFTMAX: Mapping[str, int] = {"Softmax": 0, "LogSoftmax": 0, "Attention": 3}
"""Operators that compute a softmax, each with the index of the input that depends on the mask."""
_THROUGH: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(MOVING, (0,)),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Min", "Max"), (0, 1)),
    **dict.fromkeys(("Cast", "Neg", "Trilu", "Slice", "Gather", "Tile", "Split", "Clip"), (0,)),
    "Concat": (0, 1, 2, 3),
    "ConstantOfShape": (),
    "ScatterND": (0, 2),
    "Where": (1, 2),
}
"""Operators that build masks, each with the indexes of the inputs whose values go into the mask."""
_MAX_DISTANCE = 8


class MaskPath(Struct, frozen=True):
    """The path from a value to the nearest Softmax, or to the mask input of the nearest ``Attention``.

    Attributes:
        softmax: the Softmax or ``Attention`` at the end of the path.
        nodes: the operators on the path, in data-flow order, without ``softmax``.
    """

    softmax: Node
    nodes: tuple[Node, ...]


def mask_paths(graph: Graph) -> Mapping[Value, MaskPath]:
    """Return the path to the nearest Softmax for each value that masks or scales a Softmax input.

    A single breadth-first search starts at all Softmax operators, goes upstream, and visits each value once.
    """
    paths: dict[Value, MaskPath] = {}
    queue: deque[Value] = deque()
    for softmax in graph.by_op(*_SOFTMAX):
        argument = None if softmax.domain else softmax.input(_SOFTMAX[softmax.op])
        if argument is not None and argument not in paths:
            paths[argument] = MaskPath(softmax, ())
            queue.append(argument)
    while queue:
        value = queue.popleft()
        path, node = paths[value], value.producer
        if node is None or node.domain or len(path.nodes) == _MAX_DISTANCE:
            continue
        for port in _THROUGH.get(node.op, ()):
            before = node.input(port)
            if before is not None and before not in paths:
                paths[before] = MaskPath(path.softmax, (node, *path.nodes))
                queue.append(before)
    return paths
