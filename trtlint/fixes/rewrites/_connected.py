"""The operators that values of one kind connect with one, which are rewritten together."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from trtlint.fixes.patch import NotApplicable
from trtlint.model.graph import Node


def connected(
    start: Node, near: Callable[[Node], Iterable[Node]], takes: Callable[[Node], bool], kind: str, most: int
) -> list[Node]:
    """The operators that values of a kind connect with one, in graph order.

    Args:
        start: where to begin.
        near: the operators that give such values to one, and that read those it gives.
        takes: whether an operator is among those that are rewritten.
        kind: what the values are, such as ``sequence``.
        most: how many operators there may be.
    """
    found, pending = {start}, [start]
    while pending:
        node = pending.pop()
        if node.scope != start.scope:
            raise NotApplicable(f"a {kind} is read in the body of an If or a loop")
        if not takes(node):
            raise NotApplicable(f"{node.op} reads or gives a {kind}")
        fresh = dict.fromkeys(other for other in near(node) if other not in found)
        found.update(fresh)
        pending += fresh
        if len(found) > most:
            raise NotApplicable(f"too many operators are connected by {kind}s")
    return sorted(found, key=lambda node: node.index)
