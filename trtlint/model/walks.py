"""Visit the values of a graph upstream or downstream of a value, with a limit of steps.

A search that reaches its limit calls :func:`cut_short`.  Callers use :func:`watching` to detect that a search
reached its limit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec import Struct

from trtlint.model.graph import Node, Value

MAX_STEPS = 64
"""Limit of steps in one search.  No block of a real model is so deep.

With this limit, the total time of all searches grows only linearly with the number of nodes.
"""


class Watch(Struct, eq=False):
    """Record of whether a search reached its limit, see :func:`watching`.

    Attributes:
        cut: whether a search reached its limit.
    """

    cut: bool = False


_WATCH: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watching() -> Iterator[Watch]:
    """Return a context manager that records whether a search in this thread reaches its limit.

    If ``with`` blocks are nested, a search in an inner block also counts for the outer block.
    """
    outer, own = _WATCH.get(), Watch()
    token = _WATCH.set(own)
    try:
        yield own
    finally:
        _WATCH.reset(token)
        if outer is not None and own.cut:
            outer.cut = True


def cut_short() -> None:
    """Record that a search reached its limit before it visited all values."""
    watch = _WATCH.get()
    if watch is not None:
        watch.cut = True


def upstream(value: Value, operators: Set[str]) -> Iterator[Value]:
    """Yield a value and the values upstream of it, along the first input of each operator.

    Args:
        value: start value, yielded first.
        operators: types of ONNX operators through which the search continues, such as
            :data:`~trtlint.model.operators.MOVING`.  The search ends at any other operator.
    """
    for _ in range(1 + MAX_STEPS):
        yield value
        node = value.producer
        if node is None or node.domain or node.op not in operators:
            return
        before = node.input(0)
        if before is None:
            return
        value = before
    cut_short()


def behind(value: Value, operators: Set[str]) -> Value:
    """Return the last value that :func:`upstream` yields."""
    *_, last = upstream(value, operators)
    return last


def search(
    value: Value, before: Callable[[Node], Iterable[Value | None]], most: int = MAX_STEPS
) -> Iterator[tuple[Value, Node | None]]:
    """Yield a value and all values from which it is computed, breadth first and each value once.

    Args:
        value: start value, yielded first.
        before: function that returns the inputs of a node.  The search continues at these inputs.
        most: limit of visited values.

    Yields:
        A value and the node that reads this value.  The node is None for the first value.
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
    """Yield the ONNX operators that depend on a value, breadth first.

    Args:
        value: start value.
        through: function that returns whether the search continues after a node.  Its arguments are the node
            and the index of the input where the search entered the node.
        depth: largest number of nodes on a path.  Only the limit of visited values, :data:`MAX_STEPS`, makes
            the search call :func:`cut_short`.  The limit ``depth`` does not.

    Yields:
        A node, the index of the input where the search entered it, and the value of this input.
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
