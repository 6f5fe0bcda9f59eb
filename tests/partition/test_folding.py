"""Tests of nodes that ONNX Runtime removes before it partitions a model."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from trtlint.model.load import load
from trtlint.partition.folding import RemovedNodes, removed


def gone(folder: Path, text: str, *, rewritten: bool = True) -> tuple[list[str], RemovedNodes]:
    """Return the removed nodes in graph order, and everything else."""
    path = folder / "m.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17, "my" : 1]> {text}'), path)
    model = load(path)
    found = removed(model.graph, model.constants, rewritten=rewritten)
    return [node.path for node in model.graph.nodes if node in found.nodes], found


WEIGHTS = (
    "float[4] w = {1, 2, 3, 4}, float16[4] h = {1, 2, 3, 4}, float s = {1}, int8 z = {0}, int64[1] i = {2}"
)


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ("[a] a = Neg (w) y = Add (x, a)", ["a"]),
        ("[a] a = Neg (w) [b] b = Abs (a) y = Add (x, b)", ["a", "b"]),
        ("[a] a = Neg (x) y = Add (x, a)", []),
        ("[k] k = Constant <value = float[4] {1, 2, 3, 4}> () y = Add (x, k)", ["k"]),
        ("[k] k = my.Constant <value = float[4] {1, 2, 3, 4}> () y = Add (x, k)", []),
        ("[a] a = my.Neg (w) y = Add (x, a)", []),
        ("[h] a = Neg (h) y = my.Add (x, a)", []),
        ("[h] a = Reshape (h, i) y = my.Add (x, a)", ["h"]),
        ("[h] a = Cast <to = 1> (h) y = Add (x, a)", ["h"]),
        ("[c] c = Cast <to = 10> (w) [h] a = Neg (c) y = my.Add (x, a)", ["c"]),
        ("[q] q = QuantizeLinear (w, s, z) [d] d = DequantizeLinear (q, s, z) y = Add (x, d)", ["q"]),
        (
            "[q] q = QuantizeLinear (w, s, z) d = DequantizeLinear (q, s, z) n = Neg (d) y = Add (x, n)",
            ["q"],
        ),
        ("[s] a = Shape (x) [r] y = Reshape (x, a)", ["s"]),
        ("[s] a = Size (x) [r] y = my.F (x, a)", ["s"]),
        ("[s] a = my.Shape (x) [r] y = Reshape (x, a)", []),
        ("[n] n = Neg (x) [i] a = Identity (n) y = Abs (a)", ["i"]),
        ("[i] a = Identity (x) y = Abs (a)", ["i"]),
        ("[i] a = my.Identity (x) y = Abs (a)", []),
        ("[n] n = Neg (x) [i] y = Identity (n)", ["i"]),
        ("[n] n = Neg (x) [i] y = Identity (n) v = Abs (n)", []),
        ("[i] y = Identity (x)", []),
    ],
)
def test_nodes_that_are_computed_or_removed(nodes: str, expected: list[str], tmp_path: Path) -> None:
    text = f"g (float[4] x) => (float[4] y) < {WEIGHTS} > {{ {nodes} }}"
    names, found = gone(tmp_path, text)
    assert names == expected
    assert (found.moved, found.renamed) == ({}, {})
    kept = [name for name in expected if name == "k"]
    assert gone(tmp_path, text, rewritten=False)[0] == kept


def test_an_identity_of_an_output_stays(tmp_path: Path) -> None:
    text = "g (float[4] x) => (float[4] n, float[4] y) { [n] n = Neg (x) [i] y = Identity (n) }"
    assert gone(tmp_path, text)[0] == []


DECIDED = """g (float[4] x, bool d) => (float[4] y) < bool c = {VALUE}, float[4] w = {1, 2, 3, 4} > {
    [p] p = Relu (x)
    [i] a, b = If (CONDITION) <
        then_branch = t () => (float[4] t1, float[4] t2) { [n] t1 = Neg (p) [m] t2 = Abs (p) },
        else_branch = e () => (float[4] e1, float[4] e2) {
            [j] e1, e2 = If (c) <
                then_branch = u () => (float[4] u1, float[4] u2) { [n] u1 = Neg (p) [m] u2 = Neg (w) },
                else_branch = v () => (float[4] v1, float[4] v2) { [n] v1 = Exp (p) [m] v2 = Abs (p) }> }>
    [y] y = Add (a, b) }"""
THEN = ["i/then_branch/n", "i/then_branch/m"]
ELSE = [
    "i/else_branch/j",
    *(f"i/else_branch/j/{branch}/{name}" for branch in ("then_branch", "else_branch") for name in "nm"),
]


@pytest.mark.parametrize(
    ("value", "condition", "names", "moved", "renamed"),
    [
        (
            1,
            "c",
            ["i", *ELSE],
            {"i/then_branch": "", "i/else_branch/j/then_branch": "i/else_branch"},
            {"a": "t1", "b": "t2", "e1": "u1", "e2": "u2"},
        ),
        (
            0,
            "c",
            ["i", *THEN, *ELSE[:3]],
            {"i/else_branch": "", "i/else_branch/j/else_branch": ""},
            {"a": "e1", "b": "e2", "e1": "v1", "e2": "v2"},
        ),
        (
            1,
            "d",
            ["i/else_branch/j", "i/else_branch/j/then_branch/m", *ELSE[3:]],
            {"i/else_branch/j/then_branch": "i/else_branch"},
            {"e1": "u1", "e2": "u2"},
        ),
    ],
)
def test_branches_that_a_constant_decides(
    value: int,
    condition: str,
    names: list[str],
    moved: dict[str, str],
    renamed: dict[str, str],
    tmp_path: Path,
) -> None:
    text = DECIDED.replace("VALUE", str(value)).replace("CONDITION", condition)
    found, rest = gone(tmp_path, text)
    assert sorted(found) == sorted(names)
    assert (rest.moved, rest.renamed) == (moved, renamed)
    assert gone(tmp_path, text, rewritten=False) == ([], RemovedNodes(frozenset(), {}, {}))


def test_branches_of_other_operators_stay(tmp_path: Path) -> None:
    text = DECIDED.replace("VALUE", "1").replace("CONDITION", "c").replace("= If", "= my.If")
    names, found = gone(tmp_path, text)
    assert (found.moved, found.renamed) == ({}, {})
    assert "i" not in names
