"""Tests of operator definitions in two opsets."""

from __future__ import annotations

import pytest

from tests.fixes.proposing import small
from trtlint.fixes.opsets import (
    _formal,
    difference,
    has,
    raisable,
    raises,
    same_but_types,
    same_meaning,
)
from trtlint.model.schemas import schema_at


@pytest.mark.parametrize(
    ("op", "old", "new", "same", "raised"),
    [
        ("Add", 7, 14, True, True),
        ("Relu", 13, 14, True, True),
        ("DequantizeLinear", 13, 19, True, True),
        ("Pad", 13, 18, False, True),  # an optional input is added
        ("Cast", 13, 19, False, True),  # an optional attribute is added
        ("Tile", 1, 6, False, False),  # fewer inputs, of other names
        ("ReduceSum", 11, 13, False, False),  # an attribute becomes an input
        ("Softmax", 11, 13, False, False),  # another default
        ("Clip", 6, 11, False, False),
        ("ReduceMax", 17, 18, False, False),
        ("BatchNormalization", 13, 15, False, False),
        ("GroupNormalization", 18, 21, False, False),
        ("GroupNormalization", 21, 21, True, True),
    ],
)
def test_operators_of_both_opsets(op: str, old: int, new: int, same: bool, raised: bool) -> None:
    assert same_but_types(op, old, new) is same_but_types(op, new, old) is same
    assert raises(op, old, new) is same_meaning(op, old, new) is raised


def test_operators_of_one_opset() -> None:
    assert [has("Gelu", opset) for opset in (19, 20)] == [False, True]
    assert same_meaning("Gelu", 19, 20)
    assert not same_meaning("Unheard", 17, 18)


QUANTIZED = "(uint8[2] y) < uint8 z = {1} > { y = QuantizeLinear (x, s, z) }"
QUANTIZES = "QuantizeLinear divides in the type of the scale only since opset 23"


@pytest.mark.parametrize(
    ("op", "names"),
    [
        ("Loop", ["M", "cond", "v_initial", "v_initial", "v_initial"]),
        ("Add", ["A", "B", "", "", ""]),
        ("RandomNormal", [""] * 5),
    ],
)
def test_the_last_variadic_input_is_repeated(op: str, names: list[str]) -> None:
    formals = [_formal(schema_at(op, 17).inputs, port) for port in range(5)]
    assert ["" if formal is None else formal.name for formal in formals] == names


def test_states_of_a_loop_have_different_types() -> None:
    model = small(
        """(float x, int64 i, bool t) => (float y, int64 z)
        { y, z = Loop (i, t, x, i) <body = b (int64 n, bool go, float v, int64 w)
            => (bool on, float v2, int64 w2)
            { on = Identity (go)  v2 = Neg (v)  w2 = Neg (w) }> }""",
        21,
    )
    loop = next(node for node in model.graph.nodes if node.op == "Loop")
    assert difference(loop, 16, 21) == ""


@pytest.mark.parametrize(
    ("text", "old", "new", "reason"),
    [
        ("(float[2] x) => (float[2] y) { y = Neg (x) }", 17, 22, ""),
        ("(float[2] x) => (float[2] y) { y = Gelu (x) }", 17, 20, "opset 17 has no Gelu"),
        ("(float[2] x) => (float[2] y) { y = Gelu (x) }", 20, 22, ""),
        (
            "(bfloat16[2] x) => (bfloat16[2] y) { y = Cos (x) }",
            17,
            22,
            "Cos does not support bf16 in opset 17",
        ),
        ("(float16[2] x) => (float16[2] y) { y = Cos (x) }", 17, 22, ""),
        (
            "(float[2] x) => (float[2] y) { u = com.microsoft.Unheard (x)  y = Cos (u) }",
            17,
            22,
            "Cos supports fewer types in opset 17, and an input or output type is unknown",
        ),
        ("(float[2] x, int64[2] p, int64[1] a) => (float[4] y) { y = Pad (x, p) }", 13, 18, ""),
        (
            "(float[2] x, int64[2] p, float c, int64[1] a) => (float[4] y) { y = Pad (x, p, c, a) }",
            13,
            18,
            "Pad has another definition in opset 13",
        ),
        ("(float[2] x) => (float16[2] y) { y = Cast <to = 10> (x) }", 13, 19, ""),
        (
            "(float[2] x) => (float16[2] y) { y = Cast <to = 10, saturate = 1> (x) }",
            13,
            19,
            "Cast has another definition in opset 13",
        ),
        (
            "(float[2,3] x) => (float[2,1] y) { y = ReduceMax (x) }",
            17,
            18,
            "ReduceMax has another definition in opset 17",
        ),
        ("(float16[2] x) => (float16[6] y) { y = Concat <axis = 0> (x, x, x) }", 11, 13, ""),
        (
            "(bfloat16[2] x, bfloat16[2] z) => (bfloat16[6] y) { y = Concat <axis = 0> (x, z, x) }",
            11,
            13,
            "Concat does not support bf16 in opset 11",
        ),
        ("(float[2] x, float b) => (float[2] y) { y = Clip (x, , b) }", 12, 13, ""),
        (
            "(bfloat16[2] x) => (bfloat16[2] y) { u = my.Odd (x)  y = Where (u, x, x) }",
            9,
            16,
            "Where does not support bf16 in opset 9",
        ),
        (f"(float[2] x, float s) => {QUANTIZED}", 21, 23, ""),
        (f"(float16[2] x, float16 s) => {QUANTIZED}", 21, 22, ""),
        (f"(float16[2] x, float16 s) => {QUANTIZED}", 23, 24, ""),
        (f"(float16[2] x, float16 s) => {QUANTIZED}", 21, 23, QUANTIZES),
        (f"(float16[2] x, float16 s) => {QUANTIZED}", 22, 24, QUANTIZES),
        ("(float16[2] x, float16 s) => (float16[2] y) { y = Div (x, s) }", 22, 24, ""),
    ],
)
def test_why_a_node_would_change_its_meaning(text: str, old: int, new: int, reason: str) -> None:
    model = small(text, new)
    node = model.graph.nodes[-1]
    assert difference(node, old, new) == reason


@pytest.mark.parametrize(
    ("body", "opset", "least", "fits"),
    [
        ("y = Neg (x)", 17, 20, True),
        ("y = ReduceMax (x)", 17, 18, False),
        ("y = ReduceMax (x)", 18, 18, True),
        ("y = ReduceMax (x)", 18, 13, True),
        ("y = Pad (x, p)", 13, 18, True),
        ("y = Unheard (x)", 13, 18, True),
        ("y = com.microsoft.ReduceMax (x)", 17, 18, True),
        ("u = Neg (x)  y = ReduceMax (u)", 17, 18, False),
        ("y = Gelu (x)", 17, 20, True),
    ],
)
def test_models_whose_opset_can_be_raised(body: str, opset: int, least: int, fits: bool) -> None:
    model = small(f"(float[2] x, int64[2] p) => (float[N] y) {{ {body} }}", opset)
    assert raisable(model, least) is fits
