"""Find connected operators that must be rewritten together."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from trtlint.fixes.patch import NotApplicable
from trtlint.model.graph import Node


def connected(
    start: Node, near: Callable[[Node], Iterable[Node]], takes: Callable[[Node], bool], kind: str, most: int
) -> list[Node]:
    """Find all operators that are connected to ``start`` by values of one kind, such as sequences.

    Args:
        start: the first operator.
        near: function that returns the operators that share a value of this kind with an operator.
        takes: function that returns whether the rewrite supports an operator.
        kind: name of the kind in error messages, such as ``sequence``.
        most: maximum number of operators.

    Raises:
        NotApplicable: more than ``most`` operators are connected, or the rewrite does not support a connected
            operator.
    """
    found, pending = {start}, [start]
    while pending:
        node = pending.pop()
        if node.scope != start.scope:
            raise NotApplicable(f"a {kind} is read in the body of an If or a loop")
        if not takes(node):
            raise NotApplicable(f"this rewrite does not support {node.op}, which reads or writes a {kind}")
        fresh = dict.fromkeys(other for other in near(node) if other not in found)
        found.update(fresh)
        pending += fresh
        if len(found) > most:
            raise NotApplicable(f"more than {most} operators are connected by {kind}s")
    return sorted(found, key=lambda node: node.index)
