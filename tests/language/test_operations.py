"""Tests that comparisons and arithmetic on values of any type never raise."""

from __future__ import annotations

import onnx
import pytest
from msgspec import Struct

from trtlint.language.operations import (
    ARITHMETIC,
    COMPARISONS,
    UNKNOWN,
    contained,
    element,
    equal,
    negative,
    not_contained,
    unequal,
)
from trtlint.model.graph import Graph
from trtlint.target.truth import Unknown

GPU = Unknown(frozenset({"--gpu"}))


@pytest.mark.parametrize(
    ("operation", "left", "right", "expected"),
    [
        ("Lt", 1, 2, True),
        ("Lt", 2, 2, False),
        ("LtE", 2, 2, True),
        ("Gt", 2.5, 2, True),
        ("GtE", 2, 2.5, False),
        ("Lt", (10, 7), (10, 13), True),
        ("Lt", (10, 7), (10, 7), False),
        ("GtE", (10, 7), (10, 7), True),
        ("Lt", 1, "2", None),
        ("Lt", "1", 2, None),
        ("Lt", "a", "b", None),
        ("Lt", (1, "a"), (1, "b"), None),
        ("Lt", (1, 2), 3, None),
        ("Lt", True, 2, None),
        ("In", "a", ("a", "b"), True),
        ("In", "c", ("a", "b"), False),
        ("NotIn", "c", ("a", "b"), True),
        ("In", 1, (1.0, "b"), True),
        ("In", "a", "abc", True),
        ("In", "a", ("b", UNKNOWN), None),
        ("In", "a", ("a", UNKNOWN), True),
        ("Eq", 1, 1.0, True),
        ("NotEq", 1, 2, True),
        ("Eq", UNKNOWN, 2, None),
    ],
)
def test_comparisons(operation: str, left: object, right: object, expected: bool | None) -> None:
    found = COMPARISONS[operation](left, right)
    assert (None if isinstance(found, Unknown) else found) is expected


@pytest.mark.parametrize(
    ("operation", "left", "right", "expected"),
    [
        ("Add", 2, 3, 5),
        ("Sub", 2, 3, -1),
        ("Mult", 2, 3, 6),
        ("Div", 3, 2, 1.5),
        ("FloorDiv", -3, 2, -2),
        ("Mod", -3, 2, 1),
        ("Pow", 2, 10, 1024),
        ("Pow", 2, -1, 0.5),
        ("Pow", 2, 2048, 2**2048),
        ("Pow", 2, 2049, None),
        ("Mult", 2**4000, 2**95, 2**4095),
        ("Mult", 2**4000, 2**96, None),
        ("Pow", -8, 1 / 3, None),
        ("Div", 1, 0, None),
        ("Mod", 1, 0, None),
        ("Add", "a", "b", None),
        ("Add", 1, "b", None),
        ("Add", 1, UNKNOWN, None),
    ],
)
def test_arithmetic(operation: str, left: object, right: object, expected: object) -> None:
    found = ARITHMETIC[operation](left, right)
    assert (None if isinstance(found, Unknown) else found) == expected


@pytest.mark.parametrize("operation", ["Lt", "GtE", "Eq", "In"])
def test_what_would_decide_is_kept(operation: str) -> None:
    found = COMPARISONS[operation](GPU, (1,) if operation == "In" else 1)
    assert isinstance(found, Unknown)
    assert found.needs == {"--gpu"}


@pytest.mark.parametrize(
    ("many", "index", "expected"),
    [
        ((5, 6), 0, 5),
        ((5, 6), 1, 6),
        ((5, 6), -2, 5),
        ((5, 6), 2, None),
        ((5, 6), -3, None),
        ((5, None), 1, None),
        ((5, 6), "0", None),
        ({"a": 3}, "a", 3),
        ({"a": 3}, "b", None),
        ({"a": 3}, 0, None),
        ("text", 0, None),
    ],
)
def test_elements(many: object, index: object, expected: object) -> None:
    found = element(many, index)
    assert (None if isinstance(found, Unknown) else found) == expected
    assert element(GPU, index) is GPU


def test_the_opposite_of_what_is_no_number_is_unknown() -> None:
    assert (negative(3), negative(-0.5)) == (-3, 0.5)
    assert isinstance(negative("a"), Unknown)
    assert negative(GPU) == GPU


NODES = Graph(onnx.parser.parse_graph("g (float[2] x) => (float[2] y) { a = Neg (x)  y = Neg (a) }")).nodes


class Pair(Struct, frozen=True):
    """A record of two numbers."""

    left: int
    right: int | None = None


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("a", "a", True),
        ("a", "b", False),
        (True, 1, None),
        (True, False, False),
        (1, 1.0, True),
        (1, "1", None),
        (None, 1, None),
        ((1, 2), (1, 2), True),
        ((1, 2), [1, 2], True),
        ((1, 2), (1, 3), False),
        ((1, 2), (1,), False),
        ((1, 2), (1, 2, 3), False),
        ((1, None), (1, 2), None),
        ((1, None), (2, None), False),
        (((1,), 2), ((1,), 2), True),
        ((1, 2), 1, None),
        (1, (1, 2), None),
        ((1, 2), "ab", None),
        ("ab", ("a", "b"), None),
        ((), (), True),
        (frozenset({1}), {1}, True),
        (frozenset({1}), {2}, False),
        (frozenset({1}), (1,), None),
        (Pair(1), Pair(1), True),
        (Pair(1), Pair(2), False),
        (NODES[0], NODES[0], True),
        (NODES[0], NODES[1], False),
        (NODES[0], Pair(1), None),
        (UNKNOWN, UNKNOWN, None),
    ],
)
def test_equal_values(left: object, right: object, expected: bool | None) -> None:
    for one, other in ((left, right), (right, left)):
        found, opposite = equal(one, other), unequal(one, other)
        assert (None if isinstance(found, Unknown) else found) is expected
        assert (None if isinstance(opposite, Unknown) else opposite) is (
            None if expected is None else not expected
        )


@pytest.mark.parametrize(
    ("item", "many", "expected"),
    [
        ("a", "cab", True),
        ("x", "cab", False),
        (1, "cab", None),
        (1, (1, 2), True),
        (3, (1, 2), False),
        (3, (), False),
        (3, ("a", 2), None),
        (1, ("a", 1), True),
        (1.0, (1, 2), True),
        (True, (1, 2), None),
        (1, [1, 2], True),
        (1, {1, 2}, True),
        (3, frozenset({1, 2}), False),
        ("a", {"a": 1}, True),
        ("b", {"a": 1}, False),
        (1, {"a": 1}, None),
        (1, 1, None),
        ((1, 2), ((1, 2), (3, 4)), True),
        ((1, 3), ((1, 2), (3, 4)), False),
        (NODES[0], NODES, True),
        (UNKNOWN, (1, 2), None),
    ],
)
def test_contained_values(item: object, many: object, expected: bool | None) -> None:
    found, opposite = contained(item, many), not_contained(item, many)
    assert (None if isinstance(found, Unknown) else found) is expected
    assert (None if isinstance(opposite, Unknown) else opposite) is (
        None if expected is None else not expected
    )


def test_what_would_decide_an_equation_is_kept() -> None:
    for found in (
        equal(GPU, 1),
        equal((GPU, 1), (2, 1)),
        unequal(1, GPU),
        contained(1, GPU),
        contained(GPU, "a"),
    ):
        assert isinstance(found, Unknown)
        assert found.needs == {"--gpu"}
