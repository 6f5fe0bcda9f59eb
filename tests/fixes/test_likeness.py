"""Tests of places that share a proof."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tests.graphs import model_of
from trtlint.fixes.patch import Draft, Patch
from trtlint.fixes.region import _NameNumbers, likeness, region_of

TEXT = """< ir_version: 10, opset_import: ["" : 17] > g (float[N,4] x) => (float[N,4] y)
< float[4] w = {1, 2, 3, 4}, float s = {2}, int64[2] shape = {-1, 4} >
{ a = Mul (x, w)  b = Add (a, s)  c = Clip (b)  y = Reshape (c, shape) }"""


def key(text: str = TEXT, number: float = 3.0, folds: bool = False, **settings: Any) -> bytes:
    """Return the proof key of a patch that inserts an addition."""
    model = model_of(text)
    draft = Draft(model, model.graph.nodes[0])
    first, *rest = model.graph.nodes
    added = draft.op("Add", first.proto.input[0], draft.like(number, "f32"))
    draft.again(first, [added, *first.proto.input[1:]], first.proto.output)
    for node in rest:
        draft.again(node, node.proto.input, node.proto.output)
    patch = replace(draft.patch("adds", model.graph.nodes, folds=folds), **settings)
    return likeness(model, patch, region_of(model, patch))


def test_names_and_drawn_numbers_make_no_difference() -> None:
    renamed = TEXT
    for old, new in (("x", "left"), ("a", "inner"), ("w", "weight"), ("N", "batch")):
        for before, after in ((" ", " "), (" ", ")"), ("(", ","), ("[", ","), ("(", ")"), (" ", ",")):
            renamed = renamed.replace(f"{before}{old}{after}", f"{before}{new}{after}")
    assert renamed != TEXT
    assert key(renamed) == key()
    assert key(TEXT.replace("{1, 2, 3, 4}", "{5, 6, 7, 8}")) == key()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"" : 17', '"" : 18'),
        ("17]", '17, "com.microsoft" : 1]'),
        ("float[N,4] x", "float[2,4] x"),
        ("float[N,4] x", "float[4,4] x"),
        ("float[N,4]", "float16[N,4]"),
        ("float s = {2}", "float s = {3}"),
        ("float s = {2}", "float[1] s = {2}"),
        ("{-1, 4}", "{4, -1}"),
        ("float[4] w = {1, 2, 3, 4}", "float[1,4] w = {1, 2, 3, 4}"),
        ("Mul", "Div"),
        ("Add (a, s)", "Add (s, a)"),
        ("Reshape (", "Reshape <allowzero = 1> ("),
    ],
)
def test_what_a_proof_computes_with_makes_a_difference(old: str, new: str) -> None:
    assert old in TEXT
    assert key(TEXT.replace(old, new)) != key()


def test_a_patch_that_folds_reads_the_numbers() -> None:
    other = TEXT.replace("{1, 2, 3, 4}", "{5, 6, 7, 8}")
    assert key(folds=True) == key(folds=True)
    assert key(folds=True) != key()
    assert key(other, folds=True) != key(folds=True)


def test_what_a_patch_stores_makes_a_difference() -> None:
    assert key(number=4.0) != key()


@pytest.mark.parametrize(
    "settings",
    [
        {"title": "other"},
        {"keeps_a_key": True},
        {"changes_results": True},
        {"opset": 18},
        {"retyped": ("y",)},
        {"finite": ("x",)},
        {"holds": (("x", (0.0, 1.0)),)},
    ],
)
def test_what_a_patch_says_makes_a_difference(settings: dict[str, Any]) -> None:
    assert key(**settings) != key()


def test_an_operand_that_is_left_out_is_no_name() -> None:
    given = ("b", "b, ", "b, s", "b, , s", "b, s, s", "b, x, s", "b, a, s", "b, b, s", "s, b")
    assert len({key(TEXT.replace("Clip (b)", f"Clip ({each})")) for each in given}) == len(given) - 1
    assert key(TEXT.replace("Clip (b)", "Clip (b, )")) == key()


def test_names_that_a_patch_speaks_of_are_told_apart() -> None:
    assert key(finite=("x",)) != key(finite=("s",))
    assert key(holds=(("x", (0.0, 1.0)),)) != key(holds=(("s", (0.0, 1.0)),))
    assert key(holds=(("x", (0.0, 1.0)),)) != key(holds=(("x", (0.0, 2.0)),))
    assert key(retyped=("x",)) != key(finite=("x",))


def shaped(text: str, shape: tuple[int | str, ...]) -> bytes:
    """Return the proof key of a patch that requires an input shape."""
    model = model_of(text)
    draft = Draft(model, model.graph.nodes[0])
    for node in model.graph.nodes:
        draft.again(node, node.proto.input, node.proto.output)
    patch: Patch = draft.patch("copies", model.graph.nodes, shapes=((model.graph.inputs[0], shape),))
    return likeness(model, patch, region_of(model, patch))


def test_the_shapes_that_a_patch_wants_make_a_difference() -> None:
    assert shaped(TEXT, ("N", 4)) != shaped(TEXT, (2, 4))
    assert shaped(TEXT, ("N", 4)) != shaped(TEXT, ("M", 4))
    assert shaped(TEXT, ("N", 4)) == shaped(TEXT.replace("N", "M"), ("M", 4))


def test_readers_of_whole_numbers_make_a_difference() -> None:
    """Readers decide the random integers, inside and outside the region."""
    text = """< ir_version: 10, opset_import: ["" : 17] > g (%s i, float[4] x) => (float y, float z)
    { a = Neg (i)  b = Cast <to = 1> (a)  y = Neg (b)  z = %s }"""

    def first(kind: str, other: str) -> bytes:
        model = model_of(text % (kind, other))
        draft = Draft(model, model.graph.nodes[0])
        draft.again(model.graph.nodes[0], ["i"], ["a"])
        patch = draft.patch("copies", model.graph.nodes[:1])
        return likeness(model, patch, region_of(model, patch))

    assert first("int64[4]", "Gather (x, i)") != first("int64[4]", "Neg (x)")
    assert first("int64[4]", "Neg (x)") == first("int64[4]", "Abs (x)")
    assert first("float[4]", "Mul (x, i)") == first("float[4]", "Neg (x)")


def test_constants_that_are_computed_count_by_their_numbers() -> None:
    """Two integers from a constant chain decide a shape."""
    text = """< ir_version: 10, opset_import: ["" : 17] > g (float[8] x) => (float[4,2] y)
    < int64[1] one = {%d}, int64[1] two = {%d} >
    { shape = Concat <axis = 0> (one, two)  y = Reshape (x, shape) }"""

    def reshaped(one: int, two: int) -> bytes:
        model = model_of(text % (one, two))
        (node,) = model.graph.by_op("Reshape")
        draft = Draft(model, node)
        draft.again(node, node.proto.input, node.proto.output)
        patch = draft.patch("copies", [node])
        return likeness(model, patch, region_of(model, patch))

    assert reshaped(4, 2) == reshaped(4, 2)
    assert reshaped(4, 2) != reshaped(2, 4)
    assert np.frombuffer(reshaped(4, 2), np.uint8).size == 32


def test_names_are_numbered_in_order_of_appearance() -> None:
    numbers = _NameNumbers()
    assert [numbers.of(name) for name in ("x", "", "y", "x", "z")] == [1, 0, 2, 1, 3]
    assert numbers.dims(["N", 4, None, "M", "N", 0]) == [(4,), 4, None, (5,), (4,), 0]
    assert numbers.of("N") == 6  # a tensor may have the name of a dimension
    assert numbers.dims(()) == []
    assert numbers.dims(None) is None
