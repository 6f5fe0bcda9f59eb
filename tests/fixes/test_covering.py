"""Tests of rewrites that resolve the findings about nodes to keep in FP32."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from trtlint.case import Case
from trtlint.engine.finding import Finding
from trtlint.engine.rulebook import load_builtin
from trtlint.engine.ruleset import RuleSet
from trtlint.fixes.fixing import FixedModel, fix_file
from trtlint.fixes.source import read_source
from trtlint.target.target import Target

TARGETS = [Target(version="10.0", asked=frozenset({"fp16"})), Target(version="11.4")]

NORM = """
< ir_version: 8, opset_import: ["" : 17] >
norm (float16[1,64,32,32] x, float16[1,64,32,32] r) => (float16[1,64,32,32] y, float16[1,64,32,32] z)
< float16 two = {16384}, float16 eps = {5145}, float16[1] gain = {15872} >
{
  [sum] s = Add (x, r)
  [mu] mu = ReduceMean <axes = [1], keepdims = 1> (s)
  [difference] d = Sub (s, mu)
  [square] sq = Pow (d, two)
  [mean] var = ReduceMean <axes = [1], keepdims = 1> (sq)
  [shift] shifted = Add (var, eps)
  [root] rooted = Sqrt (shifted)
  [divide] y = Div (d, rooted)
  [scale] scaled = Mul (r, r)
  [out] z = Mul (scaled, gain)
}
"""
STATISTICS = ("square", "mean", "shift", "root")


def fixed(folder: Path, target: Target, *keep: str) -> FixedModel:
    path = folder / "norm.onnx"
    onnx.save(onnx.parser.parse_model(NORM), path)
    return fix_file(
        read_source(path),
        Case(path, (target,), RuleSet(load_builtin().entries)),
        keep=keep,
    )


def acc101(fixed: FixedModel) -> list[Finding]:
    return [finding for finding in fixed.outcome.after.findings if finding.rule == "ACC101"]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.version)
def test_a_rewrite_that_covers_the_nodes_comes_first(target: Target, tmp_path: Path) -> None:
    found = fixed(tmp_path, target, *STATISTICS)
    assert [(each.rule, each.fix) for each in found.outcome.applied] == [("ACC101", "widen-norm")]
    assert not found.outcome.refused
    assert not acc101(found)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.version)
def test_other_nodes_are_still_kept(target: Target, tmp_path: Path) -> None:
    found = fixed(tmp_path, target, *STATISTICS, "scale")
    applied = [(each.fix, each.place) for each in found.outcome.applied]
    assert applied == [("widen-norm", "mean"), ("keep-fp32", "scale")]
    assert not found.outcome.refused
    assert not acc101(found)


def test_a_group_beyond_a_norm_stays_one_group(tmp_path: Path) -> None:
    """The sum also overflows, so a Cast to FP16 between the sum and the norm would break it."""
    found = fixed(tmp_path, TARGETS[1], "sum", "mu", "difference", *STATISTICS)
    assert {each.fix for each in found.outcome.applied} == {"keep-fp32"}
    assert not found.outcome.refused
    types = onnx.shape_inference.infer_shapes(found.outcome.after.proto).graph.value_info
    narrow = {each.name for each in types if each.type.tensor_type.elem_type == onnx.TensorProto.FLOAT16}
    assert narrow == {"scaled", "d", "rooted"}


def test_unknown_nodes_are_refused(tmp_path: Path) -> None:
    found = fixed(tmp_path, TARGETS[0], *STATISTICS, "missing")
    assert [(each.place, each.reason) for each in found.outcome.refused] == [
        ("missing", "the model has no operator with this path")
    ]
