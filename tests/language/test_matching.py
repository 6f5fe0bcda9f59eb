"""A chain of layout operators that is longer than the search follows makes the search incomplete."""

from __future__ import annotations

import onnx
import pytest

from trtlint.language.pattern import Pattern
from trtlint.model.graph import Graph, Value

LONGEST = 32


class Initializers:
    """Stands for the constants of a graph where only initializers count."""

    def foldable(self, value: Value | None) -> bool:
        return value is not None and value.initializer is not None


def searched(length: int, pattern: str) -> tuple[int, bool]:
    """How often a pattern is found around a chain of so many Identity operators, and whether to the end."""
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
