"""The pattern language: chains of operators, one line a node.

::

    y = MatMul(x, w)        # a name is a value; the same name is the same value
    z = Add(y, b)           # Add(b, y) matches as well: Add is commutative
    o = Clip(z, lo?, hi)    # lo may be left out, and is then unknown

- ``A|B(x)`` is either operator; ``com.microsoft::FusedMatMul(x, w)`` is one of another domain.
- ``a, b = Split(x)`` names outputs.  Outputs that are not named must not be read by anything.
- ``_`` is any value; ``...`` as the last input or output is any number of further ones.  Otherwise
  the number of inputs must be the same, those left out at the end not counted.
- ``x?`` is an input that may be left out.
- ``~x`` is x reached through any number of layout operators, none included: Reshape, Transpose,
  Cast, Identity, Squeeze, Unsqueeze, Expand.  Where x is written without ``~`` elsewhere it is that
  value, otherwise it is the value that the chain begins with.
- ``#`` begins a comment.  Lines may come in any order, and every line must be connected with the
  others through names.

A constant that reaches a node through ``Identity`` is the constant itself: TorchScript exports share
equal weights that way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trtlint.language.matching import Bindings, Matcher, Reading, live_nodes
from trtlint.language.patternlines import Line, PatternError, read_lines
from trtlint.lean import dataclass
from trtlint.model.graph import Graph, Node
from trtlint.model.values import Constants

__all__ = ["Match", "Matches", "Pattern", "PatternError"]

_MAX_ALTERNATIVES = 16


@dataclass(frozen=True, slots=True)
class Match:
    """Nodes that a pattern matches.

    Attributes:
        bindings: the value of each name, None for an input ``x?`` that is left out.
        nodes: the node of each line, in the order of the lines.
        alternatives: the other ways to read the same nodes, as commutative operators allow; in
            ``bindings`` computed values come before constants, in the order of the names.
    """

    bindings: Bindings
    nodes: tuple[Node, ...]
    alternatives: tuple[Match, ...] = ()


@dataclass(frozen=True, slots=True)
class Matches:
    """What a search has found.

    Attributes:
        matches: the matches.
        complete: False where a bound has cut the search short, so that matches may be missing.
    """

    matches: tuple[Match, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern.

    Attributes:
        text: as it was written.
        lines: the lines, comments and blank lines left out.
    """

    text: str
    lines: tuple[Line, ...]

    @classmethod
    def compile(cls, text: str) -> Pattern:
        """Read a pattern.

        Raises:
            PatternError: a line is wrong, a value is computed twice or from itself, or the lines
                are not connected.
        """
        lines = read_lines(text)
        _check_outputs(lines)
        _check_order(lines)
        _check_connected(lines)
        return cls(text, lines)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name, in the order of the text."""
        return tuple(dict.fromkeys(name for line in self.lines for name in line.names))

    @property
    def outputs(self) -> tuple[str, ...]:
        """What stands for each line: its first named output, else its operators."""
        return tuple(
            next((name for name in line.outputs if name), "|".join(sorted(op for _, op in line.ops)))
            for line in self.lines
        )

    def find(self, graph: Graph, constants: Constants) -> Iterator[Match]:
        """The matches in a graph, as :meth:`search` gives them."""
        return iter(self.search(graph, constants).matches)

    def search(self, graph: Graph, constants: Constants) -> Matches:
        """The matches in a graph, each set of nodes once, in topological order of their first nodes.

        The work and the number of readings are bounded by a multiple of the nodes.  A search that
        reaches a bound is made again among the nodes that the model's outputs are computed from: nodes
        that nothing reads cannot use up what is there for the others.
        """
        groups: dict[frozenset[Node], list[Reading]] = {}
        complete = self._gather(Matcher(self.lines, graph), groups)
        if not complete:
            complete = self._gather(Matcher(self.lines, graph, live_nodes(graph)), groups)
        return Matches(tuple(self._matches(groups, constants)), complete)

    def _gather(self, matcher: Matcher, groups: dict[frozenset[Node], list[Reading]]) -> bool:
        """Add the readings of a search, by their nodes; False where some may be missing."""
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


def _check_outputs(lines: tuple[Line, ...]) -> None:
    seen: set[str] = set()
    for line in lines:
        for name in line.outputs:
            if name in seen:
                raise PatternError(f"{name!r} is computed twice", line.number)
            if name:
                seen.add(name)


def _check_order(lines: tuple[Line, ...]) -> None:
    """Refuse values that are computed from themselves: such a pattern can never match."""
    made = {name: line for line in lines for name in line.outputs if name}
    waiting = list(lines)
    done: set[str] = set()
    while waiting:
        ready = [line for line in waiting if all(a.name in done or a.name not in made for a in line.inputs)]
        if not ready:
            raise PatternError("the value is computed from itself", waiting[0].number)
        done.update(name for line in ready for name in line.outputs if name)
        waiting = [line for line in waiting if line not in ready]


def _check_connected(lines: tuple[Line, ...]) -> None:
    reached = set(lines[0].names)
    rest = list(lines[1:])
    while rest:
        linked = [line for line in rest if reached.intersection(line.names)]
        if not linked:
            raise PatternError("the line shares no name with the lines before it", rest[0].number)
        reached.update(name for line in linked for name in line.names)
        rest = [line for line in rest if line not in linked]
