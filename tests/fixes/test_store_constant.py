"""Tests of constants whose numbers TensorRT before 9.2 reads as floats."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import numpy_helper

from trtlint import Target, lint
from trtlint.cli import run

MODEL = """< ir_version: 8, opset_import: ["" : 17] >
g (float[2,3] x) => (float[6] y, int64[1] s)
{ c = Constant <value_ints = [-1]> () y = Reshape (x, c) s = Constant <value_ints = [4]> () }"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def test_the_numbers_are_stored(model: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.onnx"
    assert run(["fix", str(model), "-o", str(new), "--trt", "8.6", "--select", "ACC143"]) == 0
    graph = onnx.load(new).graph
    (tensor,) = graph.initializer
    assert (tensor.name, numpy_helper.to_array(tensor).tolist()) == ("c", [-1])
    assert [node.op_type for node in graph.node] == ["Reshape", "Constant"]


@pytest.mark.parametrize(("version", "code"), [("8.6", 1), ("9.1", 1), ("9.2", 0), ("10.0", 0)])
def test_releases(model: Path, version: str, code: int) -> None:
    assert run(["lint", str(model), "--trt", version, "--select", "ACC143", "--isolated"]) == code


def test_a_refused_reader_and_its_constant_are_one_finding(tmp_path: Path) -> None:
    text = """< ir_version: 8, opset_import: ["" : 17] >
g (float[4] x) => (float[n] y) <int64[1] b = {0}, int64[1] a = {0}>
{ e = Constant <value_ints = [2]> () y = Slice (x, b, e, a) }"""
    path, new = tmp_path / "m.onnx", tmp_path / "new.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    (report,) = lint(path, target=Target(version="8.6")).models
    assert [finding.rule for finding in report.findings] == ["BLD204"]
    assert run(["fix", str(path), "-o", str(new), "--trt", "8.6", "--select", "BLD204"]) == 0
    assert [tensor.name for tensor in onnx.load(new).graph.initializer] == ["b", "a", "e"]


def test_a_constant_that_others_read_too_is_reported(tmp_path: Path) -> None:
    text = """< ir_version: 8, opset_import: ["" : 17] >
g (float[4] x, int64[1] i) => (float[n] y, int64[1] z) <int64[1] b = {0}, int64[1] a = {0}>
{ e = Constant <value_ints = [2]> () y = Slice (x, b, e, a) z = Add (i, e) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    (report,) = lint(tmp_path / "m.onnx", target=Target(version="8.6")).models
    assert {finding.rule for finding in report.findings} == {"BLD204", "ACC143"}
