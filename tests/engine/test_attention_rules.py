"""Tests that attention rules do not contradict each other at one place."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from tests.linting import lint_file
from trtlint.engine.rulebook import load_builtin
from trtlint.target.target import Target

RULES = ("ACC102", "ACC103", "PERF103", "PERF104")

CHANNELS_FIRST = """
< ir_version: 8, opset_import: ["" : 17] >
unet (float[1,384,256] qkv) => (float[2,64,256] o)
< int64[3] heads = {2, 64, 256}, float root = {0.35355339} >
{
  q0, k0, v0 = Split <axis = 1> (qkv)
  q1 = Mul (q0, root)
  k1 = Mul (k0, root)
  q = Reshape (q1, heads)
  k = Reshape (k1, heads)
  v = Reshape (v0, heads)
  scores = Einsum <equation = "bct,bcs->bts"> (q, k)
  p = Softmax <axis = -1> (scores)
  o = Einsum <equation = "bts,bcs->bct"> (p, v)
}
"""
SMALL_HEADS = """
< ir_version: 8, opset_import: ["" : 17] >
heads (float[1,2,16,4] q, float[1,2,4,16] k, float[1,2,16,4] v) => (float[1,2,16,4] o)
< float root = {0.70710678} >
{
  q1 = Mul (q, root)
  k1 = Mul (k, root)
  s = MatMul (q1, k1)
  p = Softmax <axis = -1> (s)
  o = MatMul (p, v)
}
"""
AFTER = SMALL_HEADS.replace("s = MatMul (q1, k1)", "t = MatMul (q, k)\n  s = Mul (t, root)").replace(
    "  q1 = Mul (q, root)\n  k1 = Mul (k, root)\n", ""
)


def findings(folder: Path, text: str, version: str) -> dict[str, str]:
    onnx.save(onnx.parser.parse_model(text), folder / "a.onnx")
    rules = [load_builtin().rule(key) for key in RULES]
    (report,) = lint_file(
        folder / "a.onnx", [Target(version=version, gpu="L4", asked=frozenset({"fp16"}))], rules
    )
    return {finding.rule: finding.message for finding in report.findings}


@pytest.mark.parametrize("version", ["8.6", "10.0", "10.6", "10.7", "10.8"])
def test_a_block_with_wrong_results_is_not_called_unfused(tmp_path: Path, version: str) -> None:
    for text in (CHANNELS_FIRST, SMALL_HEADS):
        found = findings(tmp_path, text, version)
        assert not ({"ACC102", "ACC103"} & found.keys() and "PERF104" in found)


def test_the_error_of_10_7_does_not_contradict_the_limits_of_the_fused_kernel(tmp_path: Path) -> None:
    assert "cannot use the fused kernel" in findings(tmp_path, SMALL_HEADS, "10.6")["PERF104"]
    assert "fuse" not in findings(tmp_path, SMALL_HEADS, "10.7")["ACC102"]


def test_no_rule_recommends_the_form_that_10_7_computes_incorrectly(tmp_path: Path) -> None:
    (message,) = (text for rule, text in findings(tmp_path, AFTER, "10.7").items() if rule == "PERF103")
    assert "both" not in message
