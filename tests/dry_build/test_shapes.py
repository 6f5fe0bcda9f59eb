"""Tests of default input shapes for a build."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trtlint.dry_build.hints import Hints
from trtlint.dry_build.shapes import MOST, Input, ShapeRange, choices


def tensor(name: str, *dims: int | str | None, integer: bool = False, is_shape: bool = False) -> Input:
    """Return an input with sizes, symbols, or None for unnamed dynamic dimensions."""
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
    choice = next(iter(choices((tensor("pads", 2, 2, integer=True, is_shape=True),), ())))
    assert choice.values == {"pads": ((1, 1, 1, 1),) * 3}


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


@pytest.mark.parametrize(
    ("symbol", "size"),
    [
        ("batch", 1),
        ("Batch_Size", 1),
        ("height", 224),
        ("out_width", 224),
        ("h", 224),
        ("w", 224),
        ("hh", 224),
        ("ww", 224),
        ("hw", 128),
        ("img_size", 224),
        ("my_img", 128),
        ("my_image", 224),
        ("depth", 64),
        ("audio_length", 16_000),
        ("wave", 16_000),
        ("pcm", 16_000),
        ("num_samples", 16_000),
        ("frames", 3_000),
        ("mel", 3_000),
        ("past_length", 128),
        ("cache", 128),
        ("sequence", 128),
        ("time", 128),
        ("t", 128),
        ("channels", 3),
        ("c", 3),
        ("cc", 128),
        ("anything", 128),
    ],
)
def test_the_likely_size_of_a_symbol(symbol: str, size: int) -> None:
    assert first(tensor("x", 2, symbol, 5)) == {"x": (2, size, 5)}


@pytest.mark.parametrize(
    ("input_", "shape"),
    [
        (tensor("x", "n", integer=True), (16,)),
        (tensor("x", "n"), (1,)),
        (tensor("x", "batch", integer=True), (1,)),
        (tensor("x", "width", integer=True), (16,)),
        (tensor("x", "samples"), (16_000,)),
        (tensor("x", "tokens", integer=True), (128,)),
        (tensor("x", "anything", 5), (1, 5)),
        (tensor("x", "height", 5), (1, 5)),
        (tensor("x", "num_tokens", 5), (128, 5)),
        (tensor("x", "length", 5), (128, 5)),
        (tensor("x", "time", 5), (128, 5)),
        (tensor("x", "frames", 5), (3_000, 5)),
        (tensor("x", 2, "height"), (2, 16)),
        (tensor("x", 2, "width", 2), (2, 224, 2)),
        (tensor("x", 2, "samples"), (2, 16_000)),
        (tensor("myaudio", 2, None, integer=True), (2, 128)),
        (tensor("AUDIO", 2, None), (2, 16_000)),
        (tensor("x", 2, None, 2), (2, 128, 2)),
        (tensor("x", 2, 3, None), (2, 3, 128)),
        (tensor("x", 2, 1, None), (2, 1, 16_000)),
        (tensor("x", 2, 1, None, integer=True), (2, 1, 128)),
        (tensor("x", 2, None, 64), (2, 128, 64)),
        (tensor("x", 2, 80, None, integer=True), (2, 80, 3_000)),
        (tensor("x", 2, None, 5, 3), (2, 224, 5, 3)),
        (tensor("x", 2, None, 5, 5), (2, 16, 5, 5)),
        (tensor("x", 2, 3, None, 3), (2, 3, 224, 3)),
        (tensor("x", 2, None, None, 5), (2, 16, 128, 5)),
        (tensor("x", 2, None, 5, None), (2, 16, 5, 16)),
        (tensor("x", 2, 5, 5, None), (2, 5, 5, 16)),
        (tensor("x", 2, 5, None, 5), (2, 5, 128, 5)),
        (tensor("x", 2, None, 2, 3, 4), (2, 3, 2, 3, 4)),
        (tensor("x", 2, 2, None, None, None), (2, 2, 8, 112, 112)),
        (tensor("x", 2, 1, None, 4, None), (2, 1, 64, 4, 64)),
        (tensor("x", 2, 2, 2, 2, None, 2), (2, 2, 2, 2, 16, 2)),
    ],
    ids=lambda each: str(getattr(each, "dims", each)),
)
def test_the_likely_size_by_rank_and_neighbours(input_: Input, shape: tuple[int, ...]) -> None:
    assert list(first(input_).values()) == [shape]


@pytest.mark.parametrize(
    ("symbol", "size"),
    [
        ("past_len + seq", 7),
        ("past_len+seq+1", 8),
        ("seq + 10", 15),
        ("seq + unknown", 128),
        ("total_length", 7),
        ("TOTAL", 7),
        ("sum", 128),
    ],
)
def test_sums_of_sizes_that_are_known(symbol: str, size: int) -> None:
    inputs = (tensor("a", 1, "past_len", "seq"), tensor("b", 1, symbol, 3))
    assert first(*inputs, said=(fixed("a", 1, 2, 5),))["b"] == (1, size, 3)


@pytest.mark.parametrize("dims", [(1, "past_len", 3), (1, "seq", 3), (1, 2, 3)])
def test_a_total_needs_both_of_its_parts(dims: tuple[int | str, ...]) -> None:
    assert first(tensor("a", *dims), tensor("b", 1, "total", 3))["b"] == (1, 128, 3)


def test_all_choices_in_their_order() -> None:
    sides = [choice.shapes["x"][1][2] for choice in choices((tensor("x", "n", 3, "height", "width"),), ())]
    assert sides == [224, 112, 56, 28, 4, 2, 256, 384, 512, 640, 64, 32, 96, 128, 160, 192, 320, 448, 518]
    lengths = [choice.shapes["x"][1] for choice in choices((tensor("x", "n", "seq", integer=True),), ())]
    usual = [(1, size) for size in (128, 64, 32, 16)]
    assert lengths == [*usual, (4, 4), (2, 2), *((1, size) for size in (256, 512, 77, 1024, 1500))]
    batches = [choice.shapes["x"][1] for choice in choices((tensor("x", "n", 5),), ())]
    assert batches == [(1, 5), (4, 5), (2, 5)]


def test_hints_are_tried_alone_and_then_together() -> None:
    inputs = (tensor("x", 1, 3, "h", "h"), tensor("ids", 1, "seq", integer=True))
    hints = Hints(squares=(40, 48, 56, 72), lines=(11, 12, 13, 14))
    found = [(each.shapes["x"][1][2], each.shapes["ids"][1][1]) for each in choices(inputs, (), hints)]
    assert found[:19] == [
        (224, 128),
        *((size, 128) for size in (40, 48, 56, 72)),
        *((224, size) for size in (11, 12, 13, 14)),
        *((square, line) for square in (40, 48, 56) for line in (11, 12, 13)),
        (112, 64),
    ]
    assert len(found) == len(set(found)) == MOST


@pytest.mark.parametrize(
    ("input_", "square", "line"),
    [
        (tensor("x", None, 3, None, None), (1, 3, 40, 40), (1, 3, 224, 224)),
        (tensor("x", None, 1, None, None, None), (1, 1, 40, 40, 40), (1, 1, 64, 64, 64)),
        (tensor("x", None, 3, None, None, None), (1, 3, 8, 40, 40), (1, 3, 8, 112, 112)),
        (tensor("x", None, None), (1, 128), (1, 11)),
        (tensor("audio", None, None), (1, 16_000), (1, 11)),
        (tensor("x", None, 80, None), (1, 80, 3_000), (1, 80, 11)),
        (tensor("x", None, None, None, None, None, None), (1, *[16] * 5), (1, *[16] * 5)),
    ],
)
def test_hints_replace_sizes_of_their_kind(
    input_: Input, square: tuple[int, ...], line: tuple[int, ...]
) -> None:
    for hints, expected in ((Hints(squares=(40,)), square), (Hints(lines=(11,)), line)):
        found = [choice.shapes[input_.name][1] for choice in choices((input_,), (), hints)]
        assert expected in found[:2]
        assert found[0] == first(input_)[input_.name]


def test_values_of_shape_tensors() -> None:
    inputs = (tensor("scalar", is_shape=True), tensor("size", 2, is_shape=True), tensor("fixed", 4))
    found = list(choices(inputs, ()))
    assert [choice.values for choice in found] == [
        {"scalar": ((size,),) * 3, "size": ((size, size),) * 3} for size in (1, 4, 2)
    ]
    assert {choice.chosen for choice in found} == {("scalar", "size")}
    assert all(choice.shapes == {} for choice in found)


@pytest.mark.parametrize(
    ("name", "pattern", "matches"),
    [
        ("input.1", "input.*", True),
        ("input", "in*t", True),
        ("input", "inp", False),
        ("x[0]", "x[0]", True),
        ("x0", "x[0]", False),
        ("x?", "x?", True),
        ("xy", "x?", False),
        ("X", "x", False),
    ],
)
def test_names_of_inputs_in_patterns(name: str, pattern: str, matches: bool) -> None:
    found = next(iter(choices((tensor(name, None, 4),), (fixed(pattern, 7, 4),))))
    assert found.shapes[name][1] == ((7, 4) if matches else (1, 4))
    assert found.chosen == (() if matches else (name,))


def test_shapes_of_fixed_inputs_are_ignored() -> None:
    inputs = (tensor("x", 1, 4), tensor("size", 2, is_shape=True), tensor("y", "n", 4))
    said = (fixed("x", 7, 4), fixed("size", 5, 6, 7), ShapeRange("y", ((1, 4), (2, 4), (3, 4))))
    found = list(choices(inputs, said))
    assert [(each.shapes, each.values, each.chosen) for each in found] == [
        ({"y": ((1, 4), (2, 4), (3, 4))}, {"size": ((5, 6, 7),) * 3}, ())
    ]
