"""The pattern language for chains of operators. Each line of a pattern describes one node.

::

    y = MatMul(x, w)        # a name is a value; the same name is the same value
    z = Add(y, b)           # Add(b, y) matches as well: Add is commutative
    o = Clip(z, lo?, hi)    # lo may be missing, and is then unknown

- ``A|B(x)`` is the operator A or B; ``com.microsoft::FusedMatMul(x, w)`` is an operator of another domain.
- ``a, b = Split(x)`` names outputs. Unnamed outputs must not have readers.
- ``_`` is any value.
- ``...`` as the last input or output matches any number of further inputs or outputs. Without ``...``, the
  node and the line must have the same number of inputs. Missing inputs at the end are not counted.
- ``x?`` is an optional input.
- ``~x`` is the value x, or a value that layout operators compute from x. The layout operators are Reshape,
  Transpose, Cast, Identity, Squeeze, Unsqueeze and Expand. If another line has x without ``~``, the name x
  means the value of that line. Otherwise, x means the value at the start of the chain of layout operators.
- ``#`` begins a comment. Lines may be in any order, and shared names must connect all lines.

A constant that is read through ``Identity`` counts as the constant itself, because TorchScript exports use
``Identity`` to share equal weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from trtlint.language.matching import Bindings, Matcher, Reading, live_nodes
from trtlint.language.patternlines import PatternError, PatternLine, read_lines
from trtlint.model.graph import Graph, Node
from trtlint.model.values import Constants

__all__ = ["Match", "Matches", "Pattern", "PatternError"]

_MAX_ALTERNATIVES = 16


class Match(Struct, frozen=True):
    """The nodes that match a pattern, and the values of the names in the pattern.

    Attributes:
        bindings: the value of each name, None for a missing optional input ``x?``.
        nodes: the node of each line, in the order of the lines.
        alternatives: further matches of the same nodes, with the inputs of commutative operators swapped.
            The main match is the one that binds the first name of the pattern to a computed value, not to a
            constant. If this does not decide, the second name decides, and so on.
    """

    bindings: Bindings
    nodes: tuple[Node, ...]
    alternatives: tuple[Match, ...] = ()


class Matches(Struct, frozen=True):
    """The result of :meth:`Pattern.search`.

    Attributes:
        matches: the matches, in topological order.
        complete: False if a limit ended the search early, so that matches may be missing.
    """

    matches: tuple[Match, ...]
    complete: bool


class Pattern(Struct, frozen=True):
    """A pattern whose text was parsed and checked.

    Attributes:
        text: the text of the pattern.
        lines: the lines, without comments and blank lines.
    """

    text: str
    lines: tuple[PatternLine, ...]

    @classmethod
    def compile(cls, text: str) -> Pattern:
        """Parse and check a pattern.

        Raises:
            PatternError: a line is wrong, two lines compute the same value, a value is computed from
                itself, or the lines are not connected.
        """
        lines = read_lines(text)
        _check_outputs(lines)
        _check_order(lines)
        _check_connected(lines)
        return cls(text, lines)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names in the pattern, in the order of the text."""
        return tuple(dict.fromkeys(name for line in self.lines for name in line.names))

    @property
    def outputs(self) -> tuple[str, ...]:
        """The name of each line of the pattern.

        The name of a line is the name of the first named output of the line. If no output of the line has a
        name, the operator types of the line are its name.
        """
        return tuple(
            next((name for name in line.outputs if name), "|".join(sorted(op for _, op in line.ops)))
            for line in self.lines
        )

    def search(self, graph: Graph, constants: Constants) -> Matches:
        """Search a graph, and return one match for each set of nodes, in topological order.

        The numbers of steps and of readings (ways to match) are limited in proportion to the number of nodes.
        If the search reaches a limit, a second search covers only the nodes that affect an output.
        """
        groups: dict[frozenset[Node], list[Reading]] = {}
        complete = self._gather(Matcher(self.lines, graph), groups)
        if not complete:
            complete = self._gather(Matcher(self.lines, graph, live_nodes(graph)), groups)
        return Matches(tuple(self._matches(groups, constants)), complete)

    def _gather(self, matcher: Matcher, groups: dict[frozenset[Node], list[Reading]]) -> bool:
        """Add all readings of a search to ``groups``, one group for each set of nodes.

        Return False if readings may be missing.
        """
        complete = True
        for reading in matcher.readings():
            group = groups.setdefault(frozenset(reading.nodes), [])
            if reading in group:
                continue
            if len(group) < _MAX_ALTERNATIVES:
                group.append(reading)
            else:
                complete = False
        return complete and matcher.complete

    def _matches(
        self, groups: Mapping[frozenset[Node], list[Reading]], constants: Constants
    ) -> Iterator[Match]:
        for nodes in sorted(groups, key=lambda nodes: sorted(node.index for node in nodes)):
            group = groups[nodes]
            if len(group) > 1:
                group.sort(key=lambda reading: self._constant(reading, constants))
            first, *others = group
            alternatives = tuple(Match(other.bindings, other.nodes) for other in others)
            yield Match(first.bindings, first.nodes, alternatives)

    def _constant(self, reading: Reading, constants: Constants) -> tuple[bool, ...]:
        return tuple(constants.foldable(reading.bindings.get(name)) for name in self.names)


def _check_outputs(lines: tuple[PatternLine, ...]) -> None:
    seen: set[str] = set()
    for line in lines:
        for name in line.outputs:
            if name in seen:
                raise PatternError(f"{name!r} is computed twice", line.number)
            if name:
                seen.add(name)


def _check_order(lines: tuple[PatternLine, ...]) -> None:
    """Raise an error if a value is computed from itself, because such a pattern can never match."""
    made = {name: line for line in lines for name in line.outputs if name}
    waiting = list(lines)
    done: set[str] = set()
    while waiting:
        ready = [line for line in waiting if all(a.name in done or a.name not in made for a in line.inputs)]
        if not ready:
            raise PatternError(
                "the pattern has a cycle: the value is computed from itself", waiting[0].number
            )
        done.update(name for line in ready for name in line.outputs if name)
        waiting = [line for line in waiting if line not in ready]


def _check_connected(lines: tuple[PatternLine, ...]) -> None:
    reached = set(lines[0].names)
    rest = list(lines[1:])
    while rest:
        linked = [line for line in rest if reached.intersection(line.names)]
        if not linked:
            raise PatternError("the line shares no name with the lines before it", rest[0].number)
        reached.update(name for line in linked for name in line.names)
        rest = [line for line in rest if line not in linked]
