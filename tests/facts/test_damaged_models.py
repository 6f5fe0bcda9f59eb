"""Tests that damaged and extreme models give facts, and no exception."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

import trtlint
from tests.graphs import facts_of
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.attention import Attention
from trtlint.facts.of_model.constant import Constant
from trtlint.model.load import load

HEAD = '< ir_version: 8, opset_import: ["" : 17, "foo" : 1] >'


@pytest.mark.parametrize(
    ("kind", "nodes"),
    [
        (
            "normalization",
            "a = foo.Sub () b = foo.Sub () s = Mul (a, b) v = ReduceMean <axes = [-1]> (s) r = Sqrt (v) "
            "y = Div (x, r)",
        ),
        ("normalization", "a = foo.Cast () y = LayerNormalization (a, x)"),
        ("rejection", "q = foo.Transpose <perm = [0, 2, 1, 3]> () y = Attention (q, x, x)"),
    ],
)
def test_an_operator_of_another_domain_needs_no_inputs(kind: str, nodes: str) -> None:
    opset = 23 if "Attention" in nodes else 17
    facts = facts_of(
        f"{HEAD.replace('17', str(opset))} g (float[2,3,4,5] x) => (float[2,3,4,5] y) {{ {nodes} }}"
    )
    assert facts.of(kind) is not None


def test_a_permutation_beyond_the_rank_leaves_the_axes_unknown() -> None:
    (block,) = facts_of(
        f"""{HEAD} g (float x, float k, float w) => (float y) {{
        t = Transpose <perm = [0, 1]> (x) q = Transpose <perm = [0, 100, 200, 300]> (t)
        s = MatMul (q, k) p = Softmax <axis = -1> (s) y = MatMul (p, w) }}"""
    ).of("attention")
    assert isinstance(block, Attention)
    assert block.layout is None


@pytest.mark.parametrize(
    ("kind", "field", "expected", "nodes"),
    [
        ("sum_of_squares", "magnitude", 0.0, "s = Mul (h, h) t = ReduceSum (s) y = Cast <to = 1> (t)"),
        ("foldable", "growth", None, "c = Expand (one, sizes) n = Neg (c) y = Add (n, x)"),
        ("cost", "intensity", None, "y = Conv (x, x)"),
    ],
)
def test_sizes_beyond_the_largest_float(kind: str, field: str, expected: object, nodes: str) -> None:
    dims = ",".join([str(2**61)] * 20)
    (fact,) = facts_of(
        f"""{HEAD} g (float[{dims}] x, float16[{dims}] h) => (float[{dims}] y)
        < float[1] one = {{1}}, int64[20] sizes = {{{dims}}} > {{ {nodes} }}"""
    ).of(kind)
    assert getattr(fact, field) == expected


@pytest.mark.parametrize("damage", ["type", "external"])
def test_a_fill_value_that_cannot_be_read(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = onnx.TensorProto(dims=[1], data_type=99 if damage == "type" else 1, raw_data=bytes(4))
    if damage == "external":
        value.data_location = onnx.TensorProto.EXTERNAL
        value.external_data.add(key="location", value="other.bin")
    proto = onnx.parser.parse_model(
        f"{HEAD} g (int64[1] shape) => (float[n] y) {{ c = ConstantOfShape (shape) y = Neg (c) }}"
    )
    proto.graph.node[0].attribute.append(onnx.helper.make_attribute("value", value))
    onnx.save(proto, tmp_path / "model.onnx")
    (tmp_path / "other.bin").write_bytes(bytes(4))
    monkeypatch.chdir(tmp_path)
    (fact,) = Facts(load(tmp_path / "model.onnx")).of("constant")
    assert isinstance(fact, Constant)
    assert fact.values.low is None


@pytest.mark.parametrize("op", ["Constant", "ConstantOfShape"])
def test_missing_external_data_of_an_attribute_end_the_parse(op: str, tmp_path: Path) -> None:
    """TensorRT-RTX 1.7.1 rejects both models, and accepts them if the file exists."""
    model = onnx.parser.parse_model(
        f"""< ir_version: 8, opset_import: ["" : 17] > g (float[2] x) => (float[2] y)
        < int64[1] s = {{2}} > {{ c = {op} <value = float[1] {{1}}> ({"s" if op != "Constant" else ""})
        y = Add (x, c) }}"""
    )
    value = model.graph.node[0].attribute[0].t
    stored = onnx.TensorProto(data_type=1, dims=[1], data_location=onnx.TensorProto.EXTERNAL)
    stored.external_data.add(key="location", value="w.bin")
    value.CopyFrom(stored)
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())

    def found() -> list[tuple[str, str]]:
        (report,) = trtlint.lint(path, rtx="1.7", isolated=True).models
        return [(each.rule, each.sites[0].node) for each in report.findings if each.severity == "error"]

    assert found() == [("BLD206", f"{op}_0")]
    (tmp_path / "w.bin").write_bytes(b"\0\0\x80?")
    assert found() == []


def test_missing_data_of_a_constant_without_a_name_name_the_node(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        """< ir_version: 8, opset_import: ["" : 17] > g (float[2] x) => (float[2] y)
        { c = Constant <value = float[1] {1}> () y = Relu (x) }"""
    )
    node = model.graph.node[0]
    del node.output[:]
    stored = onnx.TensorProto(data_type=1, dims=[1], data_location=onnx.TensorProto.EXTERNAL)
    stored.external_data.add(key="location", value="w.bin")
    node.attribute[0].t.CopyFrom(stored)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    assert load(tmp_path / "m.onnx").tensors.missing == {"w.bin": "Constant_0"}
