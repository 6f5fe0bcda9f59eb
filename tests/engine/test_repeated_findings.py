"""Tests that a finding about several inputs is one finding with several places."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

import trtlint

INPUTS = """
< ir_version: 8, opset_import: ["" : 17] >
net (float[N,2] a, float[N,2] b, float[N,M] c, float[4] unread, float[4] other) => (float[N,2] y)
{ s = Add (a, b)  t = Mul (s, c)  y = Relu (t) }
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(INPUTS), "net.onnx")
    return tmp_path / "net.onnx"


def findings(rule: str, command: str = "trtexec --onnx=net.onnx") -> list[trtlint.Finding]:
    (report,) = trtlint.lint("net.onnx", trt="10.7", command=command).models
    return [finding for finding in report.findings if finding.rule == rule]


def test_dynamic_inputs_without_shapes_are_one_finding(model: Path) -> None:
    (finding,) = findings("PORT119")
    assert [site.node for site in finding.sites] == ["input a", "input b", "input c"]
    assert "form a:Nx2,b:Nx2,..., with your own sizes" in finding.advice[0]
    assert len({site.fingerprint for site in finding.sites}) == 3


def test_an_input_with_a_shape_is_no_place(model: Path) -> None:
    (finding,) = findings("PORT119", "trtexec --onnx=net.onnx --shapes=a:1x2,b:1x2")
    assert [site.node for site in finding.sites] == ["input c"]
    assert "in the form c:NxM, with your own sizes" in finding.advice[0]


def test_profiles_that_begin_at_zero_are_one_finding(model: Path) -> None:
    shapes = "--minShapes=a:0x2,b:0x2,c:0x2 --optShapes=a:1x2,b:1x2,c:1x2 --maxShapes=a:4x2,b:4x2,c:4x2"
    (finding,) = findings("PORT135", f"trtexec --onnx=net.onnx {shapes}")
    assert len(finding.sites) == 3


def test_inputs_that_nothing_reads_are_one_finding(model: Path) -> None:
    (finding,) = findings("BLD241")
    assert [site.node for site in finding.sites] == ["input unread", "input other"]


def test_attention_with_different_scales_is_one_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    net (float[1,2,16,64] q, float[1,2,64,16] k, float[1,2,16,64] v) => (float[1,2,16,64] y)
    < float half = {0.5}, float third = {0.3} >
    {
      q1 = Mul (q, half)  k1 = Mul (k, half)  s1 = MatMul (q1, k1)  p1 = Softmax <axis = -1> (s1)
      o = MatMul (p1, v)
      q2 = Mul (o, third)  k2 = Mul (k, third)  s2 = MatMul (q2, k2)  p2 = Softmax <axis = -1> (s2)
      y = MatMul (p2, v)
    }"""
    onnx.save(onnx.parser.parse_model(text), "net.onnx")
    (finding,) = findings("ACC102")
    assert len(finding.sites) == 2
