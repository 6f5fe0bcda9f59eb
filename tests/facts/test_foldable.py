"""Tests of constant computations left in the graph."""

from __future__ import annotations

from tests.graphs import facts_of
from trtlint.facts.of_model.foldable import Foldable


def foldable(body: str) -> list[Foldable]:
    text = f"""
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[N,64] x) => (float[N,64] y)
    < float[64,64] w = {{}}, float[1,64] row = {{}}, int64[2] shape = {{64, 64}}, float two = {{2}} >
    {{ {body} }}
    """
    return [fact for fact in facts_of(text).of("foldable") if isinstance(fact, Foldable)]


def test_what_is_stored_is_not_computed() -> None:
    assert foldable("v = Identity (w) y = MatMul (x, v)") == []


def test_a_chain_is_one_computation_up_to_its_reader() -> None:
    (found,) = foldable("a = MatMul (w, w) b = Mul (a, two) y = MatMul (x, b)")
    assert (found.op, found.operators, found.nodes) == ("Mul", ("MatMul", "Mul"), 2)
    assert (found.readers, found.weight, found.dtype) == (("MatMul",), True, "f32")
    assert (found.size, found.bytes, found.stored) == (4096, 16384, 16388)


def test_growth() -> None:
    (found,) = foldable("e = Expand (row, shape) y = MatMul (x, e)")
    assert found.operators == ("Expand",)
    assert (found.bytes, found.stored) == (16384, 64 * 4 + 16)
    assert found.growth is not None
    assert 60 < found.growth < 61


def test_what_depends_on_a_dynamic_size_is_not_constant() -> None:
    assert foldable("s = Shape (x) e = Expand (row, s) y = Add (x, e)") == []
