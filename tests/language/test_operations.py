"""Comparisons and arithmetic on values of any type: none raises."""

from __future__ import annotations

import pytest

from trtlint.language.operations import ARITHMETIC, COMPARISONS, UNKNOWN, element, negative
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
