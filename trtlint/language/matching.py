"""Find the nodes of a graph that match a pattern.

A reading is one way to match the pattern: a node for each line. The search starts at every node that may
match the rarest line of the pattern. From there, the search follows values in two directions:
- to the node that computes a value, which is one candidate
- to the nodes that read a value, which are looked up by operator

So the time depends mainly on the number of matches. Two budgets limit the search: a number of steps, and a
number of readings. Each start node gets an equal share of the remaining budgets. The budgets are proportional
to the number of nodes, so the time is at most linear in the number of nodes. :attr:`Matcher.complete` is
False if a budget ended the search early.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from msgspec import Struct

from trtlint.language.patternlines import PatternInput, PatternLine
from trtlint.model.graph import Graph, Node, Value
from trtlint.model.operators import PASSING
from trtlint.model.walks import upstream

_LONGEST_CHAIN = 32
_WIDEST = 256
_STEPS = 64
_STEPS_PER_LINE = 8
_MIN_STEPS = 20_000
_READINGS = 8
_MIN_READINGS = 1_000

Bindings = Mapping[str, Value | None]


class Reading(Struct, frozen=True):
    """One way to match the pattern: the value of each name, and the node of each line."""

    bindings: Bindings
    nodes: tuple[Node, ...]


class Matcher:
    """A search for the matches of one pattern in one graph.

    Args:
        lines: the lines of the pattern.
        graph: the graph to search.
        among: the nodes that may match; None for all nodes.

    Attributes:
        complete: False if the search used up a budget, so that readings may be missing.
    """

    def __init__(
        self, lines: Sequence[PatternLine], graph: Graph, among: Collection[Node] | None = None
    ) -> None:
        self.lines = lines
        self.graph = graph
        self.complete = True
        self._among = among
        self._definer = {name: i for i, line in enumerate(lines) for name in line.outputs if name}
        plain = (a.name for line in lines for a in line.inputs if a.name and not a.through)
        self._anchored = {*self._definer, *plain}
        self._readers: dict[Value, dict[tuple[str, str], list[Node]]] = {}
        self._found: dict[tuple[Value, frozenset[tuple[str, str]]], list[Node]] = {}
        self._steps = 0

    def readings(self) -> Iterator[Reading]:
        """Yield every way to match the pattern.

        Some readings differ only in the order of the inputs of a commutative operator.
        """
        begin = min(
            range(len(self.lines)), key=lambda i: sum(self.graph.count(op) for _, op in self.lines[i].ops)
        )
        order = order_of(self.lines, begin)
        line = self.lines[begin]
        ops = sorted({op for _, op in line.ops})
        starts = self._kept(node for node in self.graph.by_op(*ops) if (node.domain, node.op) in line.ops)
        budget = _MIN_STEPS + max(_STEPS, _STEPS_PER_LINE * len(self.lines)) * len(self.graph.nodes)
        left = _MIN_READINGS + _READINGS * len(self.graph.nodes)
        for position, node in enumerate(starts):
            self._steps = allowed = budget // (len(starts) - position)
            share = left // (len(starts) - position)
            for count, reading in enumerate(self._extend(order, 0, {}, {}, node)):
                if count == share:
                    self.complete = False
                    break
                yield reading
                left -= 1
            budget -= allowed - max(self._steps, 0)

    def _kept(self, nodes: Iterable[Node]) -> list[Node]:
        """Keep only the nodes that are in ``among`` (see :class:`Matcher`)."""
        among = self._among
        return list(nodes) if among is None else [node for node in nodes if node in among]

    def _extend(
        self, order: Sequence[int], at: int, bindings: Bindings, nodes: Mapping[int, Node], node: Node
    ) -> Iterator[Reading]:
        """Yield all readings in which ``node`` matches line ``order[at]``.

        The lines before ``order[at]`` are already matched.  ``bindings`` contains the values of their names,
        and ``nodes`` contains their nodes.
        """
        index = order[at]
        for bound in self._assign(self.lines[index], node, bindings):
            taken = {**nodes, index: node}
            if at + 1 == len(order):
                yield Reading(bound, tuple(taken[i] for i in range(len(self.lines))))
                continue
            for candidate in self._candidates(self.lines[order[at + 1]], bound):
                if self._steps <= 0:
                    self.complete = False
                    return
                self._steps -= 1
                if candidate not in taken.values():
                    yield from self._extend(order, at + 1, bound, taken, candidate)

    def _candidates(self, line: PatternLine, bindings: Bindings) -> Sequence[Node]:
        """Return the nodes that may match a line.

        Some names in the line already have a value. Each of these names limits the candidates. The search
        uses the name with the fewest candidates.
        """
        for name in line.outputs:
            value = bindings.get(name) if name else None
            if value is not None:
                return () if value.producer is None else self._kept([value.producer])
        best: Sequence[Node] | None = None
        for argument in line.inputs:
            value = bindings.get(argument.name) if argument.name else None
            if value is None:
                continue
            found = self._beyond(value, line) if argument.through else self._reading(value, line)
            if best is None or len(found) < len(best):
                best = found
        return best or ()

    def _reading(self, value: Value, line: PatternLine) -> list[Node]:
        """Return the nodes that read a value and whose operator type the line allows."""
        source = source_of(value)
        key = (source, line.ops)
        if key not in self._found:
            if source not in self._readers:
                self._readers[source] = _readers(source)
            by_op = self._readers[source]
            self._found[key] = self._kept(node for op in line.ops for node in by_op.get(op, ()))
        return self._found[key]

    def _beyond(self, value: Value, line: PatternLine) -> list[Node]:
        """Return the nodes that read ``value`` directly (:meth:`_reading`) or through layout operators."""
        found: dict[Node, None] = {}
        waiting = deque([(value, 0)])
        while waiting and len(found) < _WIDEST and self._steps > 0:
            current, depth = waiting.popleft()
            self._steps -= 1
            found.update(dict.fromkeys(self._reading(current, line)))
            layout = [node for node, port in current.uses if port == 0 and _is_layout(node)]
            if depth < _LONGEST_CHAIN:
                waiting.extend((node.output, depth + 1) for node in layout)
            elif layout:
                self.complete = False
        if waiting:
            self.complete = False
        return list(found)

    def _assign(self, line: PatternLine, node: Node, bindings: Bindings) -> Iterator[Bindings]:
        """Match a line with a node, and yield the bindings of each way to do so.

        Each result is ``bindings`` with the names of the line added.
        """
        if (node.domain, node.op) not in line.ops:
            return
        bound = bindings
        for port, name in enumerate(line.outputs):
            if port >= len(node.outputs) or not node.outputs[port].name:
                return
            extended = _bind(bound, name, node.outputs[port])
            if extended is None:
                return
            bound = extended
        rest = node.outputs[max(len(line.outputs), 1) :]
        if not line.more_outputs and any(value.uses or value.is_output for value in rest):
            return
        inputs = list(node.inputs)
        while inputs and inputs[-1] is None:
            inputs.pop()
        if len(inputs) > len(line.inputs) and not line.more_inputs:
            return
        if line.commutative:
            yield from self._in_any_order(line.inputs, inputs, bound)
        else:
            yield from self._in_order(line.inputs, inputs, bound)

    def _in_order(
        self, arguments: Sequence[PatternInput], values: Sequence[Value | None], bindings: Bindings
    ) -> Iterator[Bindings]:
        if not arguments:
            yield bindings
            return
        value = values[0] if values else None
        for bound in self._take(arguments[0], value, bindings):
            yield from self._in_order(arguments[1:], values[1:], bound)

    def _in_any_order(
        self, arguments: Sequence[PatternInput], values: Sequence[Value | None], bindings: Bindings
    ) -> Iterator[Bindings]:
        if not arguments:
            yield bindings
            return
        if not values:
            yield from self._in_order(arguments, (), bindings)
            return
        tried: set[Value | None] = set()
        for position, value in enumerate(values):
            if value in tried:
                continue
            if self._steps <= 0:
                self.complete = False
                return
            self._steps -= 1
            tried.add(value)
            others = (*values[:position], *values[position + 1 :])
            for bound in self._take(arguments[0], value, bindings):
                yield from self._in_any_order(arguments[1:], others, bound)

    def _take(self, argument: PatternInput, value: Value | None, bindings: Bindings) -> Iterator[Bindings]:
        """Match an input with a value, and yield the bindings of each way to do so.

        Each result is ``bindings`` with the name of the input added.
        """
        name = argument.name
        if value is None:
            if argument.optional and (name is None or bindings.get(name) is None):
                yield bindings if name is None else {**bindings, name: None}
            return
        if not argument.through or name is None:
            bound = _bind(bindings, name, value)
            if bound is not None:
                yield bound
            return
        chain = _chain(value)
        farthest = chain[-1].producer
        if len(chain) > _LONGEST_CHAIN and farthest is not None and _is_layout(farthest):
            self.complete = False
        if name in bindings or name not in self._anchored:
            ends = [link for link in chain if name in bindings] or chain[-1:]
        else:
            ends = [link for link in chain if self._may_define(name, link)]
        for end in ends:
            bound = _bind(bindings, name, end)
            if bound is not None:
                yield bound
                if name in bindings:
                    return

    def _may_define(self, name: str, value: Value) -> bool:
        index = self._definer.get(name)
        if index is None:
            return True
        node = value.producer
        return node is not None and (node.domain, node.op) in self.lines[index].ops


def live_nodes(graph: Graph) -> frozenset[Node]:
    """Return the nodes that affect an output of the graph or of a body."""
    live: set[Node] = set()
    for node in reversed(graph.nodes):  # readers of a value come later
        for value in node.outputs:
            if value.is_output or value.leaves_body or any(reader in live for reader, _ in value.uses):
                live.add(node)
                break
    return frozenset(live)


def order_of(lines: Sequence[PatternLine], begin: int) -> tuple[int, ...]:
    """Return the order in which the search matches the lines of a pattern, starting with line ``begin``.

    Each further line shares a name with a line before it in this order. If several lines can come next, the
    search takes the line with the fewest expected candidates.
    """
    order = [begin]
    while len(order) < len(lines):
        done = {name for i in order for name in lines[i].names}
        made = {name for i in order for name in lines[i].outputs if name}
        rest = [i for i in range(len(lines)) if i not in order]
        order.append(min(rest, key=lambda i: _width(lines[i], done, made)))
    return tuple(order)


def _width(line: PatternLine, done: set[str], made: set[str]) -> int:
    """Return a rank for the expected number of candidates for a line: 0 for one candidate, else higher.

    Args:
        line: the line.
        done: the names in the lines that are already matched.
        made: the names of values that a line of the pattern computes.
    """
    if done.intersection(name for name in line.outputs if name):
        return 0
    widths = [
        (1 if argument.name in made else 3) + argument.through
        for argument in line.inputs
        if argument.name in done
    ]
    return min(widths, default=5)


def source_of(value: Value) -> Value:
    """Return the constant that ``Identity`` nodes copy into ``value``.

    If ``value`` is no such copy, the result is ``value`` itself.
    """
    current = value
    for _ in range(_LONGEST_CHAIN):
        node = current.producer
        if node is None:
            return current if current.initializer is not None else value
        if node.op == "Constant" and not node.domain:
            return current
        if node.op != "Identity" or node.domain or node.input(0) is None:
            return value
        current = node.inputs[0] or value
    return value


def _readers(source: Value) -> dict[tuple[str, str], list[Node]]:
    """Return the nodes that read a value, by domain and operator type.

    For a constant, the result includes nodes that read the constant through ``Identity``.
    """
    by_op: dict[tuple[str, str], list[Node]] = defaultdict(list)
    seen: set[Node] = set()
    waiting = [source]
    while waiting:
        for node, _ in waiting.pop().uses:
            if node not in seen:
                seen.add(node)
                by_op[node.domain, node.op].append(node)
                if node.op == "Identity" and source_of(node.output) is source:
                    waiting.append(node.output)
    return by_op


def _bind(bindings: Bindings, name: str | None, value: Value) -> Bindings | None:
    """Return ``bindings`` with ``name`` bound to a value, or None if ``name`` has a different value.

    A constant and the same constant behind ``Identity`` count as equal.
    """
    if name is None:
        return bindings
    if name not in bindings:
        return {**bindings, name: value}
    bound = bindings[name]
    if bound is value or (bound is not None and source_of(bound) is source_of(value)):
        return bindings
    return None


def _chain(value: Value) -> list[Value]:
    """Return a value, and the upstream values that only layout operators connect to it.

    The nearest value comes first.
    """
    return list(islice(upstream(value, PASSING), _LONGEST_CHAIN + 1))


def _is_layout(node: Node) -> bool:
    return node.op in PASSING and not node.domain
