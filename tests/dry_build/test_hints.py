"""Tests of input sizes derived from the constants of a network."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trtlint.dry_build import hints
from trtlint.dry_build.hints import NetworkSizes, hints_of, is_about_sizes


@pytest.mark.parametrize(
    ("table", "stride", "size"),
    [
        ((1, 17, 64), 16, 64),  # a class token and 4 x 4 patches
        ((1, 197, 768), 16, 224),
        ((1, 198, 768), 16, 224),  # a class token and one of distillation
        ((1, 576, 384), 16, 384),
        ((1, 96, 7, 7), 8, 56),
        ((1, 14, 14, 768), 16, 224),
    ],
)
def test_a_table_of_positions_gives_the_side_of_the_image(
    table: tuple[int, ...], stride: int, size: int
) -> None:
    assert size in hints_of(NetworkSizes(tables=(table,), strides=(stride,))).squares


def test_a_table_of_positions_gives_the_length_of_the_sequence() -> None:
    assert hints_of(NetworkSizes(tables=((1, 37, 4),))).lines[0] == 37
    assert 3000 in hints_of(NetworkSizes(tables=((1, 1500, 384),), strides=(1, 2))).lines


def test_what_is_flattened_in_front_of_a_classifier_gives_the_side() -> None:
    assert 40 in hints_of(NetworkSizes(tables=((800, 10),), strides=(2, 2), channels=(8,))).squares
    assert 30 in hints_of(NetworkSizes(numbers=(3, 900))).squares


def test_a_size_that_the_graph_compares_with_is_one() -> None:
    assert 336 in hints_of(NetworkSizes(numbers=(-1, 0, 1, 336))).squares


@pytest.mark.parametrize(
    ("error", "about"),
    [
        ("IElementWiseLayer /vit/embeddings/Add: broadcast dimensions must be conformable", True),
        ("IShuffleLayer view: reshape changes volume. Reshaping [1,3,224,224] to [3,900].", True),
        ("node_of_y: attempt to multiply two matrices with mismatching dimensions", True),
        (
            "IConditionalOutputLayer n: Must have inputs with equal ranks when condition is not a constant",
            False,
        ),
        ("Error during shape inference of y : f32[1, 8] Error is: There are 2 inputs. Expected 1.", False),
        ("Attention operation was not supported by a dedicated kernel", False),
    ],
)
def test_which_errors_another_size_may_cure(error: str, about: bool) -> None:
    assert is_about_sizes(error) == about


_NUMBERS = st.lists(st.integers(-(2**40), 2**40), max_size=20).map(tuple)


@settings(deadline=None)
@given(
    st.lists(st.lists(st.integers(-1, 2**40), max_size=5).map(tuple), max_size=20),
    _NUMBERS,
    _NUMBERS,
    _NUMBERS,
)
def test_hints_are_few_and_in_bounds(
    tables: list[tuple[int, ...]],
    numbers: tuple[int, ...],
    strides: tuple[int, ...],
    channels: tuple[int, ...],
) -> None:
    hints = hints_of(NetworkSizes(tuple(tables), numbers, strides, channels))
    assert len(hints.squares) <= 12
    assert len(hints.lines) <= 8
    assert all(8 <= size <= 32_000 for size in (*hints.squares, *hints.lines))


@pytest.mark.parametrize(
    ("found", "squares", "lines"),
    [
        (NetworkSizes(), (), ()),
        # numbers in bounds, the commonest first
        (NetworkSizes(numbers=(7, 8, 32_000, 32_001, 9, 9)), (9, 8, 32_000), (9, 8, 32_000)),
        # four layers at the end, from the oldest on
        (NetworkSizes(numbers=(1800,), channels=(1800, 2, 2, 2, 2)), (30, 1800), (1800,)),
        (NetworkSizes(numbers=(1800,), channels=(2, 18, 50, 100, 70)), (10, 1800), (1800,)),
        (NetworkSizes(numbers=(192,), channels=(3, 0, -1)), (8, 192), (192,)),
        (NetworkSizes(numbers=(0, -16)), (), ()),
        # rows of patches without another token, with one, two, and five
        (NetworkSizes(tables=((1, 16, 9),), strides=(16,)), (64,), (16, 256)),
        (NetworkSizes(tables=((1, 18, 9),), strides=(16,)), (64,), (18, 288)),
        (NetworkSizes(tables=((1, 21, 9),), strides=(16,)), (64,), (21, 336)),
        (NetworkSizes(tables=((1, 20, 9),), strides=(16,)), (), (20, 320)),
        (NetworkSizes(tables=((2, 16, 9),), strides=(16,)), (), ()),
        # the stride of a layer, then those of several, the largest first, then none
        (NetworkSizes(tables=((1, 64, 9),), strides=(2, 4)), (64, 32, 16), (64, 128, 256, 512)),
        (NetworkSizes(tables=((1, 64, 9),), strides=(64, 2)), (512, 16), (64, 128, 4096)),
        (NetworkSizes(tables=((1, 64, 9),), strides=(65, 1, 0, -2)), (), (64,)),
        # maps with the channels first or last
        (NetworkSizes(tables=((1, 96, 14, 14),), strides=(2,)), (28, 14), (14,)),
        (NetworkSizes(tables=((1, 14, 14, 96),), strides=(2,)), (28, 14), ()),
        (NetworkSizes(tables=((1, 96, 14, 15),), strides=(2,)), (), ()),
        (NetworkSizes(tables=((1, 96, 1, 1),), strides=(16,)), (), ()),
        (NetworkSizes(tables=((2, 96, 14, 14),), strides=(2,)), (), ()),
        (NetworkSizes(tables=((1, 96, 14, 14, 9),), strides=(2,)), (), ()),
        (NetworkSizes(tables=((1, 96, 8, 8),)), (8,), (8,)),
        # one element for each channel is no map
        (NetworkSizes(numbers=(4,), channels=(4,), strides=(16,)), (32,), ()),
        # features that are flattened in front of a product
        (NetworkSizes(tables=((800, 10),), strides=(2, 2), channels=(8,)), (40, 20, 10), ()),
        (NetworkSizes(tables=((900, 7),), strides=()), (30,), ()),
        (NetworkSizes(tables=((900, 7, 7),), strides=()), (), ()),
    ],
)
def test_all_sizes_that_parts_suggest(
    found: NetworkSizes, squares: tuple[int, ...], lines: tuple[int, ...]
) -> None:
    hints = hints_of(found)
    assert (hints.squares, hints.lines) == (squares, lines)


def test_hints_are_cut_off() -> None:
    hints = hints_of(NetworkSizes(numbers=tuple(range(290, 320))))
    assert hints.squares == tuple(range(290, 302))
    assert hints.lines == tuple(range(290, 298))


@pytest.mark.parametrize(
    ("strides", "factors"),
    [
        ((), (1,)),
        ((1, 0), (1,)),
        ((2,), (2, 1)),
        ((2, 2, 3), (12, 4, 3, 2, 1)),
        ((2, 1, 2), (4, 2, 1)),
        ((64,), (64, 1)),
        ((65,), (1,)),
        ((32, 2, 2), (64, 32, 2, 1)),
        ((64, 2), (64, 2, 1)),
    ],
)
def test_factors_between_an_image_and_its_patches(strides: tuple[int, ...], factors: tuple[int, ...]) -> None:
    assert hints._strides(strides) == factors


@pytest.mark.parametrize(
    ("shape", "sizes"),
    [
        ((1, 4, 9), [32, 16]),
        ((1, 5, 9), [32, 16]),
        ((1, 6, 9), [32, 16]),
        ((1, 7, 9), []),
        ((1, 9, 9), [48, 24, 32, 16]),
        ((1, 1, 9), []),
        ((1, 2, 9), []),
        ((1, 3, 9), []),
        ((2, 4, 9), []),
        ((4, 9), []),
        ((1, 8, 3, 3), [48, 24, 3]),
        ((1, 3, 3, 8), [48, 24, 3]),
        ((1, 3, 3, 3), [48, 24, 3, 48, 24, 3]),
        ((1, 8, 3, 4), []),
        ((1, 1, 1, 1), []),
        ((2, 8, 3, 3), []),
        ((1, 8, 3, 3, 3), []),
    ],
)
def test_sizes_of_images_by_patches(shape: tuple[int, ...], sizes: list[int]) -> None:
    assert list(hints._sizes_by_patches(shape, (16, 8, 1))) == sizes


@pytest.mark.parametrize(
    ("elements", "channels", "sizes"),
    [
        (36, (), [24, 6]),
        (36, (9,), [24, 6, 8, 2]),
        (36, (36,), [24, 6]),
        (72, (2, 8, 18), [24, 6, 12, 3, 8, 2]),
        (37, (1,), []),
        (-4, (2,), []),
        (1, (), []),
    ],
)
def test_sizes_of_images_by_elements(elements: int, channels: tuple[int, ...], sizes: list[int]) -> None:
    assert list(hints._sizes_by_elements(elements, channels, (4, 1))) == sizes


@pytest.mark.parametrize(
    ("shape", "lengths"),
    [
        ((1, 2, 9), [2, 4, 8]),
        ((1, 1, 9), []),
        ((2, 2, 9), []),
        ((1, 8, 7, 7), [7]),
        ((1, 8, 7, 6), []),
        ((2, 8, 7, 7), []),
        ((7, 9), []),
    ],
)
def test_lengths_of_sequences(shape: tuple[int, ...], lengths: list[int]) -> None:
    assert list(hints._lengths(shape, (4, 2, 1))) == lengths
