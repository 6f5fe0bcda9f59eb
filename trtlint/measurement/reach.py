"""Find which operators the elements of a value affect, and which inputs affect an operator.

An operator such as Shape reads only the shape of its input, so the elements affect nothing after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from trtlint.model.graph import Graph, Node
from trtlint.model.operators import SHAPE_READERS


def affected(graph: Graph, readers: Iterable[Node]) -> set[Node]:
    """Return the operators whose results depend on the elements that ``readers`` read."""
    return _reached(readers, graph.successors)


def affecting(graph: Graph, ends: Iterable[Node]) -> set[Node]:
    """Return the operators that read elements which affect the results of ``ends``."""
    return _reached(ends, graph.predecessors)


def inputs_read(graph: Graph, producer: Node | None) -> frozenset[str]:
    """Return the inputs of the model whose elements affect the result of ``producer``."""
    names = {value.name for value in graph.inputs}
    nodes = affecting(graph, () if producer is None else (producer,))
    read = (value for node in nodes for value in node.inputs if value is not None)
    return frozenset(value.name for value in read if value.name in names)


def _reached(starts: Iterable[Node], following: Callable[[Node], Iterable[Node]]) -> set[Node]:
    """Return the operators that a search from ``starts`` reaches.

    The search stops before operators that read only a shape.
    """
    found: set[Node] = set()
    left = list(starts)
    while left:
        node = left.pop()
        if node not in found and node.op not in SHAPE_READERS:
            found.add(node)
            left += following(node)
    return found
