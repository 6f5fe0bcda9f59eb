"""Functions of the language that compute with tuples."""

from __future__ import annotations

from trtlint.language.graphfunctions import _halves_equal, _product


def test_products_of_whole_numbers() -> None:
    assert _product(None, (2, 3)) == 6
    assert _product(None, ()) == 1
    assert _product(None, (2, True)) is None
    assert _product(None, (2, 3.0)) is None
    assert _product(None, (2, None)) is None
    assert _halves_equal(None, (1, 2, 1, 2)) is True
    assert _halves_equal(None, (1, 2, 1)) is False
    assert _halves_equal(None, (1, 2)) is False
