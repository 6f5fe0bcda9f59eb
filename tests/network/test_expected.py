"""ONNX's values of tensors, one set of inputs after another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from trtlint.network.expected import ExpectedTensors, _Reference
from trtlint.network.layers import Array
from trtlint.network.onnxops import RuntimeRefusedError

A, B, C = (np.array([number], np.float32) for number in (1, 2, 3))


class Source(_Reference):
    """Gives tensors in groups, and may fail after them."""

    def __init__(self, *groups: dict[str, Any], error: Exception | None = None) -> None:
        self.groups, self.error = groups, error
        self.asked: list[Any] = []

    def run(self, feeds: Mapping[str, Array]) -> Iterator[dict[str, Any]]:
        """Give the groups one after another."""
        self.asked.append(dict(feeds))
        for group in self.groups:
            self.asked.append(list(group))
            yield group
        if self.error is not None:
            raise self.error

    def of(self, feeds: Mapping[str, Array], names: Sequence[str]) -> dict[str, Any]:
        """Compute tensors again."""
        self.asked.append((dict(feeds), names))
        return dict.fromkeys(names, A)


def test_groups_are_computed_when_a_tensor_is_taken() -> None:
    source = Source({"a": A, "b": B}, {}, {"c": C})
    expected = ExpectedTensors(source, ("a", "b", "c", "d"))
    assert (expected.runs, expected.seconds, expected.take("a"), source.asked) == (0, 0.0, None, [])
    feeds = {"x": A}
    expected.begin(feeds)
    feeds.clear()
    assert source.asked == [{"x": A}, ["a", "b"]]
    assert expected.take("b") is B
    assert source.asked == [{"x": A}, ["a", "b"]]
    assert expected.take("c") is C
    assert source.asked == [{"x": A}, ["a", "b"], [], ["c"]]
    assert (expected.take("a"), expected.take("a"), expected.take("d")) == (A, None, None)
    assert expected.of(["b", "z", "a", "b"]) == {"b": A, "a": A}
    assert source.asked[4:] == [({"x": A}, ["b", "a"])]
    assert expected.of(["z"]) == {}
    assert len(source.asked) == 5


def test_a_second_set_of_inputs_starts_anew() -> None:
    expected = ExpectedTensors(Source({"a": A}, {"b": B}), ("a", "b"))
    expected.begin({})
    expected.begin({})
    assert (expected.runs, expected.take("b"), expected.take("a")) == (2, B, A)
    expected.begin({})
    assert (expected.runs, expected.take("c"), expected.seconds > 0) == (3, None, True)


def test_inputs_that_the_runtime_rejects() -> None:
    expected = ExpectedTensors(Source({"a": A}, error=ValueError("no such shape")), ("a", "b"))
    expected.begin({})
    with pytest.raises(RuntimeRefusedError, match="no such shape"):
        expected.take("b")
    assert expected.take("a") is A
