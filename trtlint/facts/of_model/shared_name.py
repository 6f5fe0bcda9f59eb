"""Find names that several nodes of one graph share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import ClassVar

from trtlint.facts.base import Fact, Step
from trtlint.facts.facts import Facts
from trtlint.model.graph import Node
from trtlint.model.protos import text

_SHOWN = 4
"""Largest number of nodes that a report shows for one name."""


class SharedName(Fact, frozen=True):
    """A node name that several nodes of one graph share.  ``node`` is the second node with this name.

    Attributes:
        name: the name in the file.
        count: number of nodes with this name.
    """

    roles: ClassVar[Mapping[str, str]] = {"node": "a node with the shared name"}

    name: str
    count: int


def find(facts: Facts) -> Iterator[SharedName]:
    """Yield the node names that occur more than once in a graph.

    The body of an ``If``, ``Loop`` or ``Scan`` is a separate graph. The names are in the order of their
    second occurrences.
    """
    if not facts.model.graph.has_repeated_names:
        return
    named: dict[tuple[str, str], list[Node]] = defaultdict(list)
    for node in facts.model.graph.nodes:
        if node.proto.name:
            named[node.scope, text(node.proto.name)].append(node)
    shared = [(name, nodes) for (_, name), nodes in named.items() if len(nodes) > 1]
    for name, nodes in sorted(shared, key=lambda pair: pair[1][1].index):
        steps = tuple(Step(node, "node", label=f"called {name}") for node in nodes[:_SHOWN])
        yield SharedName(node=nodes[1], chain=steps, name=name, count=len(nodes))
