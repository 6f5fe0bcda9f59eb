"""Tests of long chains of layout operators, which make the search incomplete."""

from __future__ import annotations

import onnx
import pytest

from trtlint.language.matching import _WIDEST, Matcher
from trtlint.language.pattern import Pattern
from trtlint.language.patternlines import read_lines
from trtlint.model.graph import Graph, Value

LONGEST = 32


class Initializers:
    """Fake graph constants with initializers only."""

    def foldable(self, value: Value | None) -> bool:
        return value is not None and value.initializer is not None


def searched(length: int, pattern: str) -> tuple[int, bool]:
    """Return the matches around a chain of Identity operators, and whether the search was complete."""
    chain = " ".join(f"c{i + 1} = Identity (c{i})" for i in range(length))
    text = f"g (float[4] x) => (float[4] y) {{ c0 = Sin (x)  {chain}  y = Cos (c{length}) }}"
    graph = Graph(onnx.parser.parse_graph(text))
    found = Pattern.compile(pattern).search(graph, Initializers())  # type: ignore[arg-type]
    return len(found.matches), found.complete


@pytest.mark.parametrize("pattern", ["y = Cos(~x)\n", "a = Sin(x)\ny = Cos(~a)"])
@pytest.mark.parametrize(("length", "complete"), [(LONGEST - 1, True), (LONGEST, True), (LONGEST + 1, False)])
def test_a_chain_that_is_cut_short_is_said_to_be(pattern: str, length: int, complete: bool) -> None:
    assert searched(length, pattern)[1] is complete


def test_within_the_bound_a_chain_is_followed() -> None:
    assert searched(LONGEST, "a = Sin(x)\ny = Cos(~a)") == (1, True)


def spread(width: int, chain: int, readers: int = 0) -> tuple[Matcher, Graph]:
    """Return a matcher of ``Sin`` and ``Cos`` with parallel and chained layout operators and readers."""
    nodes = [f"i{n} = Identity (c0)" for n in range(width)]
    nodes += [f"c{n + 1} = Identity (c{n})" for n in range(chain)]
    nodes += [f"r{n} = Cos (c0)" for n in range(readers)]
    text = f"g (float[4] x) => (float[4] c0) {{ c0 = Sin (x)  {'  '.join(nodes)}  y = Cos (c{chain}) }}"
    graph = Graph(onnx.parser.parse_graph(text))
    return Matcher(read_lines("a = Sin(x)\ny = Cos(~a)"), graph), graph


def beyond(matcher: Matcher, graph: Graph, steps: int) -> tuple[list[str], bool, int]:
    """Return the readers through layout operators, whether they are complete, and the remaining steps."""
    value = graph.resolve("c0")
    assert value is not None
    matcher._steps = steps
    found = matcher._beyond(value, matcher.lines[1])
    return [node.output.name for node in found], matcher.complete, matcher._steps


@pytest.mark.parametrize(
    ("chain", "steps", "expected"),
    [
        (0, 5, (["y"], True, 4)),
        (0, 1, (["y"], True, 0)),
        (0, 0, ([], False, 0)),
        (2, 3, (["y"], True, 0)),
        (2, 2, ([], False, 0)),
        (LONGEST, 100, (["y"], True, 99 - LONGEST)),
        (LONGEST + 1, 100, ([], False, 99 - LONGEST)),
        (LONGEST + 9, 100, ([], False, 99 - LONGEST)),
    ],
)
def test_readers_beyond_a_chain(chain: int, steps: int, expected: tuple[list[str], bool, int]) -> None:
    assert beyond(*spread(0, chain), steps) == expected


@pytest.mark.parametrize(
    ("readers", "expected"),
    [
        (_WIDEST - 2, (_WIDEST - 1, True, 7)),
        (_WIDEST - 1, (_WIDEST, True, 7)),
        (_WIDEST, (_WIDEST, False, 9)),
    ],
)
def test_the_number_of_readers_is_limited(readers: int, expected: tuple[int, bool, int]) -> None:
    """The search stops at a value with this many readers, and is incomplete if more exist."""
    found, complete, steps = beyond(*spread(1, 1, readers), 10)
    assert (len(found), complete, steps) == expected


def test_layout_operators_are_followed_by_their_first_input() -> None:
    graph = Graph(
        onnx.parser.parse_graph(
            "g (float[4] x, int64[1] n) => (float[4] y) { c0 = Sin (x)  a = Reshape (c0, n) "
            " b = Reshape (x, c0) "
            " y = Cos (a)  z = Cos (b)  w = Cos (c0)  v = Sin (a) }"
        )
    )
    matcher = Matcher(read_lines("a = Sin(x)\ny = Cos(~a)"), graph)
    assert beyond(matcher, graph, 10)[0] == ["w", "y"]
