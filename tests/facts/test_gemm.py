"""Tests of facts about matrix products with a weight."""

from __future__ import annotations

import pytest

from tests.graphs import facts_of
from trtlint.facts.of_model.gemm import Gemm


def gemms(body: str) -> list[Gemm]:
    text = f"""
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[4,8] x, float[8,8] z) => (float[4,8] y)
    < float[8,8] w = {{}}, float[8] b = {{}}, float zero = {{0}}, float six = {{6}} >
    {{ {body} }}
    """
    return [fact for fact in facts_of(text).of("gemm") if isinstance(fact, Gemm)]


@pytest.mark.parametrize(
    ("body", "source", "port"),
    [
        ("y = MatMul (x, w)", "initializer", 1),
        ("y = Gemm (x, w, b)", "initializer", 1),
        ("t = Transpose (w) y = MatMul (x, t)", "foldable", 1),
        ("s = Transpose (x) t = MatMul (w, s) y = Transpose (t)", "initializer", 0),
        ("y = Gemm (x, z, b)", "runtime", 1),
    ],
)
def test_weight(body: str, source: str, port: int) -> None:
    (found,) = gemms(body)
    assert (found.weight.source, found.weight.port) == (source, port)


@pytest.mark.parametrize(
    "body", ["y = MatMul (x, z)", "v = MatMul (w, w) a = MatMul (z, z) y = MatMul (x, a)"]
)
def test_products_without_data_or_without_weight_are_left_out(body: str) -> None:
    assert gemms(body) == []


def test_all_products_of_a_model() -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17, "my" : 1] >
    g (float[8,8] x, uint8[8,8] q, float s, uint8 z) => (float[8,8] y, int32[8,8] i, uint8[8,8] l)
    < float[8,8] w = {}, int8[8,8] iw = {1}, uint8[8,8] qw = {1} >
    {
      a = MatMul (x, w)
      i = MatMulInteger (q, iw)
      l = QLinearMatMul (q, s, z, qw, s, z, s, z)
      j = MatMulInteger (qw, q)
      c = my.MatMul (x, w)
      b = MatMul (w, a)
      d = Gemm (w, b)
      e = Gemm (d, x)
      f = MatMul (e, a)
      dead = MatMul (f, w)
      r = Relu (e)
      y = Tanh (r)
    }
    """
    found = [fact for fact in facts_of(text).of("gemm") if isinstance(fact, Gemm)]
    assert [
        (fact.node and fact.node.output.name, fact.op, fact.dtype, fact.weight.port, fact.to_output)
        for fact in found
    ] == [
        ("a", "MatMul", "f32", 1, 5),
        ("i", "MatMulInteger", "u8", 1, 0),
        ("l", "QLinearMatMul", "u8", 3, 0),
        ("j", "MatMulInteger", "u8", 0, None),
        ("b", "MatMul", "f32", 0, 4),
        ("d", "Gemm", "f32", 0, 3),
        ("e", "Gemm", "f32", 1, 2),
        ("dead", "MatMul", "f32", 1, None),
    ]


def test_activation_behind_the_bias() -> None:
    (found,) = gemms("m = MatMul (x, w) s = Add (m, b) y = Clip (s, zero, six)")
    assert found.activation is not None
    assert (found.activation.low, found.activation.high, found.activation.clip_like) == (0.0, 6.0, True)
