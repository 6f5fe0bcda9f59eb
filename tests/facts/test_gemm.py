"""Facts about matrix products with a weight."""

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


def test_activation_behind_the_bias() -> None:
    (found,) = gemms("m = MatMul (x, w) s = Add (m, b) y = Clip (s, zero, six)")
    assert found.activation is not None
    assert (found.activation.low, found.activation.high, found.activation.clip_like) == (0.0, 6.0, True)
