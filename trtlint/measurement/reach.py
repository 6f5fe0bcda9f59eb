"""Find which operators the elements of a value affect, and which inputs affect an operator.

An operator such as Shape reads only the shape of its input, so the elements affect nothing after it.
"""

from __future__ import annotations

from collections.abc import Iterable

from trtlint.model.graph import Graph, Node
from trtlint.model.operators import SHAPE_READERS


def affected(graph: Graph, readers: Iterable[Node]) -> set[Node]:
    """Return the operators whose results depend on the elements that ``readers`` read."""
    found: set[Node] = set()
    left = list(readers)
    while left:
        node = left.pop()
        if node not in found and node.op not in SHAPE_READERS:
            found.add(node)
            left += graph.successors(node)
    return found


def affecting(graph: Graph, ends: Iterable[Node]) -> set[Node]:
    """Return the operators that read elements which affect the results of ``ends``."""
    found: set[Node] = set()
    left = list(ends)
    while left:
        node = left.pop()
        if node not in found and node.op not in SHAPE_READERS:
            found.add(node)
            left += graph.predecessors(node)
    return found


def inputs_read(graph: Graph, producer: Node | None) -> frozenset[str]:
    """Return the inputs of the model whose elements affect the result of ``producer``."""
    names = {value.name for value in graph.inputs}
    nodes = affecting(graph, () if producer is None else (producer,))
    read = (value for node in nodes for value in node.inputs if value is not None)
    return frozenset(value.name for value in read if value.name in names)
