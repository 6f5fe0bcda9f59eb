"""Tests of refusals with one cause: one finding per cause."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from onnx import parser, save

from tests.inprocess import printed

_HEADER = '< ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1] >\n'
_STATIC = """quantized (float[1,3,8,8] x) => (float[1,4,8,8] y)
< float s = {0.1}, uint8 z = {100}, int8[4,3,1,1] w = {1,2,3,4,5,6,7,8,9,1,2,3}, int8 wz = {0},
  int32[4] b = {1,2,3,4}, int32 bz = {0} >
{
  q = QuantizeLinear (x, s, z)
  d = DequantizeLinear (q, s, z)
  wd = DequantizeLinear (w, s, wz)
  bd = DequantizeLinear (b, s, bz)
  y = Conv (d, wd, bd)
}"""
_OPERATORS = """operators (float[1,8] x) => (float[1,8] y)
< float s = {0.1}, uint8 z = {100} >
{
  q = QuantizeLinear (x, s, z)
  a = com.microsoft.QLinearAdd (q, s, z, q, s, z, s, z)
  m = com.microsoft.QLinearMul (a, s, z, q, s, z, s, z)
  y = DequantizeLinear (m, s, z)
}"""
_DYNAMIC = """dynamic (float[2,3] x) => (int32[2,2] y)
< int8[3,2] w = {1, -2, 3, -4, 5, -6} >
{
  q, s, z = DynamicQuantizeLinear (x)
  y = MatMulInteger (q, w, z)
}"""


def _write(folder: Path, text: str) -> None:
    save(parser.parse_model(_HEADER + text), folder / "m.onnx")


@pytest.mark.parametrize(
    ("text", "remedy"),
    [(_STATIC, '"QuantizeBias": False'), (_OPERATORS, "QuantFormat.QDQ"), (_DYNAMIC, "stored scales")],
    ids=["static", "operators", "dynamic"],
)
def test_one_cause_is_one_finding_and_the_others_are_in_json(tmp_path: Path, text: str, remedy: str) -> None:
    _write(tmp_path, text)
    target = ("m.onnx", "--trt", "10.7", "--isolated", "--no-cache")
    shown = printed(tmp_path, *target)
    assert shown.code == 1
    assert shown.out.count("error[") == 1
    assert "error[BLD250]" in shown.out
    assert remedy in shown.out
    (finding,) = json.loads(printed(tmp_path, *target, "--format", "json").out)["models"][0]["findings"]
    assert finding["rule"] == "BLD250"
    assert len(finding["includes"]) >= 2
    assert {each["rule"] for each in finding["includes"]} <= {"BLD201", "BLD211", "BLD217"}


def test_a_refusal_with_another_cause_stays_a_finding_of_its_own(tmp_path: Path) -> None:
    text = _STATIC.replace("(float[1,4,8,8] y)", "(float[1,4,8,8] y, int64[4,n] p)")
    _write(tmp_path, text.replace("\n}", "\n  p = NonZero (y)\n}"))
    out = printed(tmp_path, "m.onnx", "--rtx", "1.7", "--isolated", "--no-cache", "--format", "concise").out
    assert [line.partition("[")[2][:6] for line in out.splitlines()].count("BLD250") == 1
    assert "NonZero" in out


def test_rules_that_are_not_selected_leave_the_single_refusals(tmp_path: Path) -> None:
    _write(tmp_path, _STATIC)
    out = printed(tmp_path, "m.onnx", "--trt", "10.7", "--isolated", "--no-cache", "--ignore", "BLD250").out
    assert "BLD250" not in out
    assert out.count("error[BLD211]") >= 2
