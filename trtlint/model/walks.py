"""Bounded walks from value to value, towards producers and towards readers.

A walk that ends at its bound with work left calls :func:`cut_short`; :func:`watching` reports it to the
caller.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec import Struct

from trtlint.model.graph import Node, Value

MAX_STEPS = 64
"""Bound of a walk, deeper than any real block; it keeps the whole search linear."""


class Watch(Struct, eq=False):
    """Record of a watched block: whether a walk was cut short."""

    cut: bool = False


_WATCH: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watching() -> Iterator[Watch]:
    """Watch the walks of this thread; an inner block also counts for the outer blocks."""
    outer, own = _WATCH.get(), Watch()
    token = _WATCH.set(own)
    try:
        yield own
    finally:
        _WATCH.reset(token)
        if outer is not None and own.cut:
            outer.cut = True


def cut_short() -> None:
    """Record that a walk ended at its bound with something left to visit."""
    watch = _WATCH.get()
    if watch is not None:
        watch.cut = True


def upstream(value: Value, operators: Set[str]) -> Iterator[Value]:
    """Yield a value and its sources through first inputs, nearest first.

    Args:
        value: start value, yielded first.
        operators: operators of the default domain to pass, such as :data:`~trtlint.model.operators.MOVING`.
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
    node = value.producer
    if node is not None and not node.domain and node.op in operators and node.input(0) is not None:
        cut_short()


def behind(value: Value, operators: Set[str]) -> Value:
    """Return the last value of :func:`upstream`, which none of the operators computes."""
    *_, last = upstream(value, operators)
    return last


def search(
    value: Value, before: Callable[[Node], Iterable[Value | None]], most: int = MAX_STEPS
) -> Iterator[tuple[Value, Node | None]]:
    """Yield the values that a value is computed from, breadth first, each once.

    Args:
        value: start value, yielded first.
        before: returns the inputs of a node at which the search continues.
        most: limit of visited values.

    Yields:
        A value and the node that reads it, None for the first.
    """
    waiting: deque[tuple[Value, Node | None]] = deque([(value, None)])
    seen = {value}
    while waiting:
        current, reader = waiting.popleft()
        yield current, reader
        node = current.producer
        if node is None:
            continue
        if len(seen) >= most:
            if any(other is not None and other not in seen for other in before(node)):
                cut_short()
            continue
        for other in before(node):
            if other is not None and other not in seen:
                seen.add(other)
                waiting.append((other, node))


def downstream(
    value: Value, through: Callable[[Node, int], bool], depth: int = MAX_STEPS
) -> Iterator[tuple[Node, int, Value]]:
    """Yield the operators of the default domain that depend on a value, breadth first.

    Args:
        value: start value.
        through: returns whether the search continues after a node entered at a port.
        depth: limit of nodes passed through; reaching it does not count as cut short.  At most
            :data:`MAX_STEPS` values are visited.

    Yields:
        A node, the port where it was entered, and the value at that port.
    """
    waiting, seen = deque([(value, 0)]), {value}
    while waiting:
        current, passed = waiting.popleft()
        for node, port in current.uses:
            if node.domain:
                continue
            yield node, port, current
            if passed >= depth or node.output in seen or not through(node, port):
                continue
            if len(seen) >= MAX_STEPS:
                cut_short()
                continue
            seen.add(node.output)
            waiting.append((node.output, passed + 1))
