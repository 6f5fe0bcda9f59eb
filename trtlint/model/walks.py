"""Walks from value to value, up to where a tensor comes from and down to what reads it.

Every walk has a bound.  A walk that ends at its bound, and not because nothing is left, calls
:func:`cut_short`; a caller learns of it from :func:`watching`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager
from contextvars import ContextVar

from trtlint.lean import dataclass
from trtlint.model.graph import Node, Value

MAX_STEPS = 64
"""No real block is deeper; a bound keeps every walk, and so the whole search, linear."""


@dataclass(slots=True, eq=False)
class Watch:
    """Whether a walk was cut short while somebody watched."""

    cut: bool = False


_WATCH: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watching() -> Iterator[Watch]:
    """Watch the walks of this thread; those of a block inside count for the blocks around it too."""
    outer, own = _WATCH.get(), Watch()
    token = _WATCH.set(own)
    try:
        yield own
    finally:
        _WATCH.reset(token)
        if outer is not None and own.cut:
            outer.cut = True


def cut_short() -> None:
    """Note that a walk ended at its bound with something left to visit."""
    watch = _WATCH.get()
    if watch is not None:
        watch.cut = True


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
    node = value.producer
    if node is not None and not node.domain and node.op in operators and node.input(0) is not None:
        cut_short()


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
    """The operators of the default domain that read a value or what is computed from it, breadth first.

    Args:
        value: where to begin.
        through: whether the search goes on behind a node that was entered at a port.
        depth: nodes passed through, at most; nothing behind them is looked for, which is not a walk cut
            short.  Of values, :data:`MAX_STEPS` at most are looked at.

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
            if passed >= depth or node.output in seen or not through(node, port):
                continue
            if len(seen) >= MAX_STEPS:
                cut_short()
                continue
            seen.add(node.output)
            waiting.append((node.output, passed + 1))
