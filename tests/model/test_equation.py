"""Tests of Einsum equations."""

from __future__ import annotations

import pytest

from trtlint.model.equation import ellipsis_ranks, terms_of


@pytest.mark.parametrize(
    ("equation", "terms", "result"),
    [
        ("ij,jk->ik", ["ij", "jk"], "ik"),
        (" i j , jk -> i k ", ["ij", "jk"], "ik"),
        ("ij", ["ij"], None),
        ("ij->", ["ij"], ""),
        ("...i,->...", ["...i", ""], "..."),
    ],
)
def test_terms(equation: str, terms: list[str], result: str | None) -> None:
    assert terms_of(equation) == (terms, result)


@pytest.mark.parametrize(
    ("equation", "ranks", "found"),
    [
        ("ij,jk->ik", [2, 2], [0, 0]),
        ("...ij,...jk->...ik", [4, 3], [2, 1]),
        ("i...j,jk", [2, 2], [0, 0]),
        ("i...,j", [3, 1], [2, 0]),
        ("...", [0], [0]),
        ("ij,jk", [2], None),
        ("ij", [2, 2], None),
        ("ij", [3], None),
        ("ij", [1], None),
        ("...ij", [1], None),
        ("...ij,k", [None, 1], None),
        ("...ij,k", [2, None], None),
        ("...i...", [4], None),
        ("i.j", [3], None),
    ],
)
def test_dimensions_of_an_ellipsis(equation: str, ranks: list[int | None], found: list[int] | None) -> None:
    assert ellipsis_ranks(equation, ranks) == found
