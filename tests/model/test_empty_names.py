"""Tests of topological sorts that fail on empty names of omitted inputs and outputs."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from trtlint.model.empty_names import empty_name_clashes
from trtlint.model.load import load

HEAD = '< ir_version: 8, opset_import: ["" : 17, "local" : 1] >'
WEIGHTS = "<float[1,12,3] w = {}, float[1,12,4] r = {}>"
GRU = '"", {out} = GRU <hidden_size = 4> ({x}, w, r)'


def clashes(body: str, tmp_path: Path, functions: str = "") -> dict[str, str]:
    graph = f"g (float[2,1,3] x, float u, int32[1] l) => (float[1,1,4] y) {WEIGHTS} {{ {body} }}"
    text = f"{HEAD} {graph} {functions}"
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    model = load(tmp_path / "m.onnx")
    return {node.op: clash for node, clash in empty_name_clashes(model.graph, model.call_paths).items()}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (GRU.format(out="y", x="x"), {}),
        ('"", y = GRU <hidden_size = 4> (x, w, r, "", l)', {"GRU": "cycle"}),
        ('z, y = GRU <hidden_size = 4> (x, w, r, "", l)', {}),
        ('c = Clip (x, "", u) a = Relu (c) ' + GRU.format(out="y", x="a"), {"GRU": "cycle"}),
        (GRU.format(out="z", x="x") + ' y = Clip (z, "", u)', {}),
        (GRU.format(out="z", x="x") + ' "", y = LSTM <hidden_size = 3> (x, w, r)', {"LSTM": "twice"}),
        ('"", "", y = LSTM <hidden_size = 3> (x, w, r)', {"LSTM": "twice"}),
    ],
)
def test_operators_of_one_graph(body: str, expected: dict[str, str], tmp_path: Path) -> None:
    assert clashes(body, tmp_path) == expected


def test_each_body_is_sorted_by_itself(tmp_path: Path) -> None:
    body = """b = Cast <to = 9> (u) y = If (b) <
        then_branch = t () => (float[1,1,4] p) { "", p = GRU <hidden_size = 4> (x, w, r) },
        else_branch = e () => (float[1,1,4] q) { "", q = GRU <hidden_size = 4> (x, w, r) }>"""
    assert clashes(body, tmp_path) == {}
    both = body.replace("{ ", '{ "", o = GRU <hidden_size = 4> (x, w, r) ', 1)
    assert clashes(both, tmp_path) == {"GRU": "twice"}


def test_functions_are_not_sorted(tmp_path: Path) -> None:
    function = """< domain: "local", opset_import: ["" : 17] >
    Block (x, w, r, l) => (y) { "", y = GRU <hidden_size = 4> (x, w, r, "", l) }"""
    assert clashes("y = local.Block (x, w, r, l)", tmp_path, function) == {}
