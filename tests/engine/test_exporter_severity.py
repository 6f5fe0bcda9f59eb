"""Tests that the same code has the same severity with every exporter."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import onnx
import pytest

from tests.linting import lint_file
from trtlint.engine.rulebook import load_builtin
from trtlint.target.target import Target

ADDED = """
< ir_version: 8, opset_import: ["" : 20] >
g (float[1,8,64,32] q, float[1,8,64,32] k, float[1,8,64,32] v, bool[1,1,64,64] keep) => (float[1,8,64,32] y)
< float zero = {0}, float lowest = {-3.4028234e38} >
{
  mask = Where (keep, zero, lowest)
  kt = Transpose <perm = [0, 1, 3, 2]> (k)
  scores = MatMul (q, kt)
  masked = Add (scores, mask)
  p = Softmax <axis = -1> (masked)
  y = MatMul (p, v)
}
"""
FUSED = """
< ir_version: 11, opset_import: ["" : 23] >
g (float[1,8,64,32] q, float[1,8,64,32] k, float[1,8,64,32] v, bool[1,1,64,64] keep) => (float[1,8,64,32] y)
< float zero = {0}, float lowest = {-3.4028234e38} >
{
  mask = Where (keep, zero, lowest)
  y = Attention (q, k, v, mask)
}
"""
NORM = """
< ir_version: 8, opset_import: ["" : 18] >
g (float[4,8] x) => (float[4,8] y)
< int64[1] axes = {-1} >
{
  n = ReduceL2 (x, axes)
  y = Div (x, n)
}
"""
"""The division that remains of ``x / (x.norm(dim=-1, keepdim=True) + 1e-8)``."""
NODES = {
    "n": "%norm : [num_users=1] = call_function[target=torch.ops.aten.norm.ScalarOpt_dim](args = (%x, 2))",
    "y": "%div : [num_users=1] = call_function[target=torch.ops.aten.div.Tensor](args = (%x, %add))",
}
"""Metadata of torch's exporter."""


def severities(path: Path) -> dict[str, set[str]]:
    """Return the severities of each rule for a file."""
    (report,) = lint_file(path, [Target(version="10.7", asked=frozenset({"fp16"}))], load_builtin())
    found: dict[str, set[str]] = defaultdict(set)
    for finding in report.findings:
        found[finding.rule].add(finding.severity)
    return found


def save(folder: Path, name: str, text: str, nodes: dict[str, str] | None = None) -> Path:
    model = onnx.parser.parse_model(text)
    for node in model.graph.node:
        if nodes is not None and node.output[0] in nodes:
            node.metadata_props.add(key="pkg.torch.onnx.fx_node", value=nodes[node.output[0]])
    path = folder / name
    onnx.save(model, path)
    return path


def test_a_mask_that_attention_adds_is_an_added_mask(tmp_path: Path) -> None:
    for name, text in (("added.onnx", ADDED), ("fused.onnx", FUSED)):
        assert severities(save(tmp_path, name, text))["ACC107"] == {"warning"}, name


def test_a_division_has_one_severity_with_and_without_metadata(tmp_path: Path) -> None:
    for name, nodes in (("plain.onnx", None), ("torch.onnx", NODES)):
        assert severities(save(tmp_path, name, NORM, nodes))["ACC108"] == {"warning"}, name


def test_exports_of_the_same_code_have_the_same_severities(shared: Path) -> None:
    folder = shared / "data" / "exported"
    paths = sorted((*folder.glob("attn_mask_*__fp32.onnx"), *folder.glob("conv_modulated__*.onnx")))
    if not paths:
        pytest.skip(f"no exports at {folder}")
    found: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for path in paths:
        code, _, _, precision = path.stem.split("__")
        for rule, own in severities(path).items():
            found[code, precision, rule] |= own
    assert any(rule == "ACC107" for _, _, rule in found)
    assert {key: own for key, own in found.items() if len(own) > 1} == {}
