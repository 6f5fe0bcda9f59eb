"""Tests of elements and bytes of tensors, also at the largest shapes of a build command."""

from __future__ import annotations

import math
import re
from typing import get_args

import pytest

from tests.graphs import model_of
from trtlint.buildcommand import find_commands
from trtlint.facts.blocks.sizes import Sizes, _size, bits_of, bytes_of, elements_of, whole
from trtlint.model.protos import ElementType


@pytest.mark.parametrize("dtype", get_args(ElementType))
def test_bits_of_every_type(dtype: ElementType) -> None:
    number = re.search(r"\d+", dtype)
    assert bits_of(dtype) == {"str": None, "bool": 8}.get(dtype, number and int(number[0]))


def test_bits_of_an_unknown_type() -> None:
    assert bits_of(None) is None


@pytest.mark.parametrize(
    ("number", "expected"), [(2.9, 2), (-1.5, -1), (7, 7), (None, None), (math.nan, None), (-math.inf, None)]
)
def test_whole(number: float | None, expected: int | None) -> None:
    assert whole(number) == expected


MODEL = """
< ir_version: 10, opset_import: ["" : 21] >
g (float[N,3] x, float[N,M] y, int4[5] q, float s, float[] r, string[2] t, float16[M,N,7] u) => (float[N,3] z)
{ z = Relu (x) }
"""


def sizes(options: str | None, *values: str) -> list[tuple[object, ...]]:
    """Return the largest shape, number of elements and number of bytes of values."""
    model = model_of(MODEL)
    command = None if options is None else next(find_commands(f"trtexec {options}"))
    found = Sizes(model, command)
    listed = [model.graph.values[name][0] for name in values]
    return [(found.shape(value), found.elements(value), found.bytes(value)) for value in listed]


def test_sizes_in_the_file() -> None:
    values = {name: found[0] for name, found in model_of(MODEL).graph.values.items()}
    counts = {name: (elements_of(value), bytes_of(value)) for name, value in values.items()}
    assert counts == {
        "x": (None, None), "y": (None, None), "q": (5, 3), "s": (1, 4), "r": (None, None), "t": (2, None),
        "u": (None, None), "z": (None, None),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (None, [((None, 3), None, None), ((None, None), None, None), ((None, None, 7), None, None)]),
        (
            "--onnx=a --maxShapes=x:8x3",
            [((8, 3), 24, 96), ((8, None), None, None), ((None, 8, 7), None, None)],
        ),
        ("--onnx=a --maxShapes=x:8x3,y:2x5", [((8, 3), 24, 96), ((2, 5), 10, 40), ((5, 8, 7), 280, 560)]),
        ("--onnx=a --maxShapes=x:2x9,y:8x5", [((2, 3), 6, 24), ((8, 5), 40, 160), ((5, 8, 7), 280, 560)]),
        (
            "--onnx=a --maxShapes=x:9x3 --profile=1 --maxShapes=x:4x3",
            [((9, 3), 27, 108), ((9, None), None, None), ((None, 9, 7), None, None)],
        ),
        (
            "--onnx=a --maxShapes=x:8",
            [((None, 3), None, None), ((None, None), None, None), ((None, None, 7), None, None)],
        ),
        (
            "--onnx=a --optShapes=x:8x3",
            [((None, 3), None, None), ((None, None), None, None), ((None, None, 7), None, None)],
        ),
        (
            "--loadEngine=a --maxShapes=x:8x3",
            [((None, 3), None, None), ((None, None), None, None), ((None, None, 7), None, None)],
        ),
    ],
)
def test_the_largest_sizes(options: str | None, expected: list[tuple[object, ...]]) -> None:
    assert sizes(options, "x", "y", "u") == expected


@pytest.mark.parametrize(
    ("dim", "expected"),
    [
        (3, 3), (None, None), ("N", 4), ("M", 5), ("N+N", 8), ("2*N", 8), (" 2 * N + M*N + 1 ", 29),
        ("N+K", None), ("K*N", None), ("N-1", None), ("7", 7), ("\u0667", None), ("", None),
        ("1" + "+1" * 99, 100), ("10" + "+1" * 99, 109), ("100" + "+1" * 99, None),
    ],
)  # fmt: skip
def test_dimensions_that_are_computed(dim: int | str | None, expected: int | None) -> None:
    assert _size(dim, {"N": 4, "M": 5}) == expected


def test_without_known_names_nothing_is_computed() -> None:
    assert [_size(dim, {}) for dim in (3, "N", "7", "1+1")] == [3, None, None, None]
