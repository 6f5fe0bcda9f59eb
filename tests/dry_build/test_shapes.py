"""The shapes that a model is built for where nobody has said any."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trtlint.dry_build.hints import Hints
from trtlint.dry_build.shapes import MOST, Input, ShapeRange, choices


def tensor(name: str, *dims: int | str | None, integer: bool = False, is_shape: bool = False) -> Input:
    """An input whose dimensions are sizes, symbols, or None for one that varies without a name."""
    return Input(
        name,
        tuple(dim if isinstance(dim, int) else -1 for dim in dims),
        tuple(dim if isinstance(dim, str) else None for dim in dims),
        integer,
        is_shape,
    )


def first(*inputs: Input, said: tuple[ShapeRange, ...] = ()) -> dict[str, tuple[int, ...]]:
    return {name: shape[1] for name, shape in next(iter(choices(inputs, said))).shapes.items()}


def fixed(name: str, *shape: int) -> ShapeRange:
    return ShapeRange(name, (shape, shape, shape))


def test_images_have_one_size_and_batch_one() -> None:
    assert first(tensor("x", "batch", 3, "height", "width")) == {"x": (1, 3, 224, 224)}
    assert first(tensor("x", None, 3, None, None)) == {"x": (1, 3, 224, 224)}
    assert first(tensor("x", None, None, None, 3)) == {"x": (1, 224, 224, 3)}


def test_sequences_have_128_tokens_and_share_their_symbol() -> None:
    found = first(tensor("ids", "batch", "seq", integer=True), tensor("mask", "batch", "seq", integer=True))
    assert found == {"ids": (1, 128), "mask": (1, 128)}


def test_a_total_is_the_sum_of_its_parts() -> None:
    found = first(
        tensor("ids", "batch_size", "sequence_length", integer=True),
        tensor("past", "batch_size", 8, "past_sequence_length", 64),
        tensor("mask", "batch_size", "total_sequence_length", integer=True),
        tensor("bias", "batch_size", "past_sequence_length + sequence_length"),
    )
    assert found["mask"] == found["bias"] == (1, 256)


def test_sound_and_spectrograms() -> None:
    assert first(tensor("audio", "batch", "samples")) == {"audio": (1, 16_000)}
    assert first(tensor("wave", None, 1, None)) == {"wave": (1, 1, 16_000)}
    assert first(tensor("mel", None, 80, None)) == {"mel": (1, 80, 3_000)}


def test_what_was_said_counts_and_tells_the_symbols_of_other_inputs() -> None:
    inputs = (tensor("ids", "n", "seq", integer=True), tensor("mask", "n", "seq", integer=True))
    choice = next(iter(choices(inputs, (fixed("ids", 2, 77),))))
    assert choice.shapes["mask"][1] == (2, 77)
    assert choice.chosen == ("mask",)


def test_a_pattern_and_the_last_word_count_and_another_rank_does_not() -> None:
    said = (fixed("in*", 4, 8), fixed("input", 2, 6), fixed("input", 1))
    assert first(tensor("input", None, None), said=said) == {"input": (2, 6)}


def test_fixed_inputs_get_no_shape_and_are_tried_once() -> None:
    found = list(choices((tensor("x", 1, 3, 8, 8),), ()))
    assert [dict(choice.shapes) for choice in found] == [{}]


def test_sizes_are_halved_only_where_they_were_chosen_here() -> None:
    found = [dict(choice.shapes) for choice in choices((tensor("x", "b", 3, "h", "w"),), ())]
    assert [shape["x"][1][2] for shape in found][:6] == [224, 112, 56, 28, 4, 2]
    assert len(list(choices((tensor("x", "b", 3, "h", "w"),), (fixed("x", 1, 3, 64, 64),)))) == 1


def test_what_the_network_suggests_is_tried_right_after_the_likely_size() -> None:
    inputs = (tensor("x", "b", 3, "h", "w"), tensor("ids", "b", "seq", integer=True))
    hints = Hints(squares=(64, 96), lines=(77,))
    found = [dict(choice.shapes) for choice in choices(inputs, (), hints)]
    assert [(shape["x"][1][2], shape["ids"][1][1]) for shape in found][:6] == [
        (224, 128), (64, 128), (96, 128), (224, 77), (64, 77), (96, 77),
    ]  # fmt: skip


def test_tries_are_bounded() -> None:
    inputs = (tensor("x", "b", 3, "h", "w"), tensor("ids", "b", "seq", integer=True))
    hints = Hints(squares=tuple(range(8, 600)), lines=tuple(range(8, 600)))
    assert len(list(choices(inputs, (), hints))) == MOST


def test_inputs_whose_values_are_shapes_get_values() -> None:
    choice = next(iter(choices((tensor("size", 4, integer=True, is_shape=True),), ())))
    assert choice.values == {"size": ((1, 1, 1, 1),) * 3}
    said = ShapeRange("size", ((1, 3, 64, 64),) * 3)
    choice = next(iter(choices((tensor("size", 4, integer=True, is_shape=True),), (said,))))
    assert choice.values["size"][1] == (1, 3, 64, 64)
    assert choice.chosen == ()


_DIM = st.one_of(st.integers(0, 9), st.none(), st.text(max_size=12))


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.tuples(st.text(max_size=6), st.lists(_DIM, max_size=6), st.booleans()), max_size=4))
def test_every_input_that_varies_gets_a_whole_shape(
    inputs: list[tuple[str, list[int | str | None], bool]],
) -> None:
    tensors = [
        tensor(f"{index}{name}", *dims, integer=integer) for index, (name, dims, integer) in enumerate(inputs)
    ]
    for choice in choices(tensors, ()):
        for each in tensors:
            if each.varies:
                shape = choice.shapes[each.name][1]
                assert len(shape) == len(each.dims)
                assert all(
                    size == dim if dim >= 0 else size >= 1 for size, dim in zip(shape, each.dims, strict=True)
                )


@pytest.mark.parametrize(
    ("input_", "shape"),
    [
        (tensor("x", None, integer=True), (16,)),
        (tensor("x", None), (1,)),
        (tensor("x", None, None, integer=True), (1, 128)),
        (tensor("x", None, None), (1, 128)),
        (tensor("audio", None, None), (1, 16_000)),
        (tensor("x", None, 2, None), (1, 2, 16_000)),
        (tensor("x", None, 2, None, integer=True), (1, 2, 128)),
        (tensor("x", None, 64, None), (1, 64, 3_000)),
        (tensor("x", None, 128, None), (1, 128, 3_000)),
        (tensor("x", None, 100, None), (1, 100, 128)),
        (tensor("x", None, None, 80), (1, 128, 80)),
        (tensor("x", None, 1, None, None), (1, 1, 224, 224)),
        (tensor("x", None, 4, None, None), (1, 4, 224, 224)),
        (tensor("x", None, None, None, 4), (1, 224, 224, 4)),
        (tensor("x", None, None, None, None), (1, 3, 224, 224)),
        (tensor("x", None, 8, None, 64), (1, 8, 128, 64)),
        (tensor("x", None, 8, None, None), (1, 8, 64, 64)),
        (tensor("x", None, None, None, 64), (1, 16, 128, 64)),
        (tensor("x", None, None, 8, None), (1, 16, 8, 16)),
        (tensor("x", None, 1, None, None, None), (1, 1, 64, 64, 64)),
        (tensor("x", None, 3, None, None, None), (1, 3, 8, 112, 112)),
        (tensor("x", None, None, None, None, None), (1, 3, 8, 112, 112)),
        (tensor("x", None, None, None, None, None, None), (1, 16, 16, 16, 16, 16)),
        (tensor("x", "n", "width"), (1, 16)),
        (tensor("x", "n", 3, "width"), (1, 3, 224)),
        (tensor("x", "seq", 5), (128, 5)),
        (tensor("x", "n", "channels", 5), (1, 3, 5)),
        (tensor("x", "n", 7, "depth", 7, 7), (1, 7, 64, 7, 7)),
    ],
    ids=lambda each: str(getattr(each, "symbols", each)),
)
def test_the_likely_size_of_an_axis(input_: Input, shape: tuple[int, ...]) -> None:
    assert first(input_) == {"x" if input_.name == "x" else "audio": shape}


def test_what_is_tried_is_common_among_models() -> None:
    sides = [choice.shapes["x"][1][2] for choice in choices((tensor("x", 1, 3, "height", "width"),), ())]
    for size in (224, 112, 256, 384, 512, 640, 64, 32, 96, 128, 160, 192, 320, 448, 518):
        assert size in sides
    lengths = [choice.shapes["x"][1][1] for choice in choices((tensor("x", 1, "seq", integer=True),), ())]
    for size in (128, 64, 256, 512, 77, 1024, 1500):
        assert size in lengths
