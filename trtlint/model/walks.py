"""Walks from value to value, up to where a tensor comes from and down to what reads it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Set

from trtlint.model.graph import Node, Value

MAX_STEPS = 64
"""No real block is deeper; a bound keeps every walk, and so the whole search, linear."""


def upstream(value: Value, operators: Set[str]) -> Iterator[Value]:
    """A value and what it comes from through operators whose first input is the data, nearest first.

    Args:
        value: where to begin; it comes first itself.
        operators: operators of the default domain that are walked through, such as
            :data:`~trtlint.model.operators.MOVING`.
    """
    yield value
    for _ in range(MAX_STEPS):
        node = value.producer
        if node is None or node.domain or node.op not in operators:
            return
        before = node.input(0)
        if before is None:
            return
        value = before
        yield value


def behind(value: Value, operators: Set[str]) -> Value:
    """The value where :func:`upstream` ends: the first that none of the operators computes."""
    *_, last = upstream(value, operators)
    return last


def search(
    value: Value, before: Callable[[Node], Iterable[Value | None]], most: int = MAX_STEPS
) -> Iterator[tuple[Value, Node | None]]:
    """What a value is computed from, breadth first, each value once.

    Args:
        value: where to begin; it comes first itself.
        before: the inputs of a node at which the search goes on.
        most: values met, at most.

    Yields:
        A value, and the node that it was reached from, None for the first.
    """
    waiting: deque[tuple[Value, Node | None]] = deque([(value, None)])
    seen = {value}
    while waiting:
        current, reader = waiting.popleft()
        yield current, reader
        node = current.producer
        if node is None or len(seen) >= most:
            continue
        for other in before(node):
            if other is not None and other not in seen:
                seen.add(other)
                waiting.append((other, node))


def downstream(
    value: Value, through: Callable[[Node, int], bool], depth: int = MAX_STEPS
) -> Iterator[tuple[Node, int, Value]]:
    """The operators of the default domain that read a value or what is computed from it, breadth first.

    Args:
        value: where to begin.
        through: whether the search goes on behind a node that was entered at a port.
        depth: nodes passed through, at most; of values, :data:`MAX_STEPS` at most are looked at.

    Yields:
        A node, the port that it was entered at, and the value that entered there.
    """
    waiting, seen = deque([(value, 0)]), {value}
    while waiting:
        current, passed = waiting.popleft()
        for node, port in current.uses:
            if node.domain:
                continue
            yield node, port, current
            goes_on = passed < depth and len(seen) < MAX_STEPS and node.output not in seen
            if goes_on and through(node, port):
                seen.add(node.output)
                waiting.append((node.output, passed + 1))
