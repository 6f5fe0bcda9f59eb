"""Tests of loops unrolled by the export, and of shared node names."""

from __future__ import annotations

from pathlib import Path

import onnx

from tests.graphs import facts_of
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.shared_name import SharedName
from trtlint.facts.of_model.unrolled import Unrolled
from trtlint.model.load import load

HEAD = '< ir_version: 8, opset_import: ["" : 17] >'


def unrolled(body: str) -> list[Unrolled]:
    facts = facts_of(f"""{HEAD}
    g (float[2,3,8] x, float[2,3,8] z) => (float[N,M,K] y)
    < float[8,8] w = {{}}, float[8,8] v = {{}}, int64[3] sizes = {{1, 1, 1}},
      int64 zero = {{0}}, int64 one = {{1}} >
    {{ {body} }}""")
    return [fact for fact in facts.of("unrolled") if isinstance(fact, Unrolled)]


CUT = "a, b, c = Split <axis = 1> (x, sizes) "


def test_one_weight_on_pieces_of_one_tensor() -> None:
    (found,) = unrolled(
        CUT + "p = MatMul (a, w) q = MatMul (b, w) r = MatMul (c, w) y = Concat <axis = 1> (p, q, r)"
    )
    assert (found.op, found.count, found.cut, found.weight) == ("MatMul", 3, "Split", "w")
    assert found.node is not None
    assert found.node.output.name == "p"


def test_gathers_count_as_pieces() -> None:
    (found,) = unrolled(
        "a = Gather <axis = 1> (x, zero) b = Gather <axis = 1> (x, one) "
        "p = MatMul (a, w) q = MatMul (b, w) y = Add (p, q)"
    )
    assert (found.count, found.cut) == (2, "Gather")


def test_other_weights_and_other_tensors_are_no_loop() -> None:
    assert unrolled(CUT + "p = MatMul (a, w) q = MatMul (b, v) y = Add (p, q)") == []
    assert unrolled("p = MatMul (x, w) q = MatMul (z, w) y = Add (p, q)") == []


def test_each_group_of_pieces_is_one_fact() -> None:
    body = (
        CUT
        + """d, e, f = Split <axis = 1> (z, sizes)
        u = MatMul (a, v) whole = MatMul (x, w) turned = MatMul (w, x)
        p = MatMul (d, w) q = MatMul (a, w) s = MatMul (b, w) t = MatMul (c, w) r = MatMul (e, w)
        h = Gather <axis = 1> (x, zero) i = MatMul (h, w) y = Add (p, q)"""
    )
    assert [
        (found.node and found.node.output.name, found.count, found.weight, len(found.chain))
        for found in unrolled(body)
    ] == [("p", 2, "w", 2), ("q", 3, "w", 3)]
    assert unrolled(CUT + "d, e, f = Split <axis = 1> (z, sizes) p = MatMul (a, w) y = MatMul (d, w)") == []


def test_a_long_loop_shows_its_first_products() -> None:
    cuts = " ".join(f"a{at} = Gather <axis = 1> (x, zero) p{at} = MatMul (a{at}, w)" for at in range(8))
    (found,) = unrolled(f"{cuts} y = Neg (p7)")
    assert (found.count, [step.node.output.name for step in found.chain]) == (
        8,
        [f"p{at}" for at in range(6)],
    )


def test_shared_names(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        f"{HEAD} g (float[4] x) => (float[4] y) {{ a = Relu (x) b = Neg (a) c = Abs (b) y = Exp (c) }}"
    )
    for node, name in zip(model.graph.node, ("n", "m", "n", ""), strict=True):
        node.name = name
    onnx.save(model, tmp_path / "model.onnx")
    (found,) = Facts(load(tmp_path / "model.onnx")).of("shared_name")
    assert isinstance(found, SharedName)
    assert (found.name, found.count) == ("n", 2)
    assert found.node is not None
    assert found.node.op == "Abs"
