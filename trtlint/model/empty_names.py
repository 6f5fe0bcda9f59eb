"""Find operators that old TensorRT parsers cannot sort, because several tensors have an empty name.

Parsers before TensorRT 10.6 sort the operators of a graph topologically, by the names of their tensors.  An
omitted input or output has an empty name.  These parsers treat all empty names as the same tensor
(https://github.com/onnx/onnx-tensorrt/blob/eb43908b02a2/toposort.hpp), so the sort can fail.  These parsers
do not sort the operators of model-local functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from trtlint.model.graph import Graph, Node, Value
from trtlint.model.walks import search

_MOST_VISITED = 10_000
"""Limit of values visited in a search that starts at an output with an empty name."""

Clash = Literal["twice", "cycle"]
"""Reason why the sort fails at an operator.

``twice``: the operator has an output with an empty name, and another output also has an empty name.  The
other output belongs to the same operator or to an earlier operator.  ``cycle``: the operator has an output
with an empty name, and the operator depends on an omitted input.
"""


def empty_name_clashes(graph: Graph, calls: Sequence[str] = ()) -> Mapping[Node, Clash]:
    """Return the operators at which an old TensorRT parser fails to sort the graph, each with the reason.

    Args:
        graph: the graph.  Calls of model-local functions are already replaced by the bodies of the functions.
        calls: the names of the replaced calls.  The parser does not sort the nodes that come from
            these calls.
    """
    found: dict[Node, Clash] = {}
    inlined = tuple(f"{path}/" for path in calls)
    first: dict[str, Node] = {}
    for node in graph.nodes:
        empty = list(node.proto.output).count("")
        if not empty or node.path.startswith(inlined):
            continue
        if empty > 1 or node.scope in first:
            found[node] = "twice"
        first.setdefault(node.scope, node)
    for node in first.values():
        if node not in found and _depends_on_empty(node, inlined):
            found[node] = "cycle"
    return found


def _depends_on_empty(node: Node, inlined: tuple[str, ...]) -> bool:
    """Return whether a node omits an input, or depends on a node that omits an input.

    Only nodes of the same graph count.  ``inlined`` has the name prefixes of nodes that come from function
    calls.
    """

    def before(other: Node) -> Sequence[Value | None]:
        return other.inputs if other.scope == node.scope else ()

    made = (value.producer for value, _ in search(node.output, before, _MOST_VISITED))
    return any(
        "" in other.proto.input
        for other in made
        if other is not None and other.scope == node.scope and not other.path.startswith(inlined)
    )
