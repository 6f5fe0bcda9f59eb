"""Tests of upgrades of several models: the decision, rules and models, then exceptions."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import onnx
import pytest
from onnx import parser

from tests.inprocess import printed

_SAFE = """< ir_version: 8, opset_import: ["" : 13] >
safe (float[1,8] x) => (float[1,8] y) { y = Relu (x) }"""
_FIXABLE = """< ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1] >
gelu (float[1,64] x, float[64] b) => (float[1,64] y) { y = com.microsoft.BiasGelu (x, b) }"""
_OPEN = """< ir_version: 8, opset_import: ["" : 17] >
draw (float[2,4] x) => (float[2,4] y) { y = Bernoulli (x) }"""

_NORM = """
< ir_version: 8, opset_import: ["" : 17] >
norm (float[N,8,64] x) => (float[N,8,64] o)
< float two = {2}, float epsilon = {1e-6} >
{
  m = ReduceMean <axes = [-1], keepdims = 1> (x)
  d = Sub (x, m)
  s = Pow (d, two)
  v = ReduceMean <axes = [-1], keepdims = 1> (s)
  e = Add (v, epsilon)
  r = Sqrt (e)
  o = Div (d, r)
}
"""


@pytest.fixture
def models(tmp_path: Path) -> Path:
    for name, text in {"safe": _SAFE, "gelu": _FIXABLE, "draw": _OPEN}.items():
        onnx.save(parser.parse_model(text), tmp_path / f"{name}.onnx")
    return tmp_path


def _upgrade(models: Path, *options: str) -> list[str]:
    words = ("upgrade", ".", "--from", "10.9", "--to", "11.4", "--isolated", *options)
    return printed(models, *words).out.splitlines()


def test_the_decision_comes_first(models: Path) -> None:
    lines = [line.strip() for line in _upgrade(models)]
    assert lines[0] == "upgrade: 3 models from TensorRT 10.9 to 11.4"
    assert lines[1].startswith("version: TensorRT 11.4 (the newest)")
    assert "unchanged: 1 of 3 models" in lines
    assert "after trtlint fix: 2 of 3 models (gelu.onnx)" in lines
    assert lines.index("Rules and models") < lines.index("Exceptions") < lines.index("In short")
    assert "draw.onnx: error[BLD201] (already on 10.9)" in lines


def test_what_a_flag_causes_is_said_once_and_colours_no_model(models: Path) -> None:
    out = _upgrade(models, "--fp16")
    assert sum("PORT101" in line for line in out) == 1
    lines = [line.strip() for line in out]
    # Without a conversion, TensorRT 11 builds these models in FP32.
    assert "unchanged: 0 of 3 models" in lines
    assert "after trtlint fix and convert: 2 of 3 models (gelu.onnx)" in lines
    (line,) = [line for line in lines if line.startswith("convert needed to keep FP16: ")]
    assert line.startswith("convert needed to keep FP16: 3 of 3 models (")
    assert not [line for line in _upgrade(models) if "convert" in line]


def test_a_command_at_which_trtexec_stops_is_in_the_decision(models: Path) -> None:
    out = [line.strip() for line in _upgrade(models, "--build", "trtexec --onnx=m.onnx --fp16")]
    (line,) = [line for line in out if line.startswith("the build command must change: ")]
    assert line.startswith("the build command must change: PORT106: TensorRT 11 removed --fp16")
    kept = "convert needed to keep FP16: 3 of 3 models (draw.onnx, gelu.onnx, safe.onnx)"
    assert f"{kept}; without convert, these models run in FP32" in out
    (advice,) = [line for line in out if line.startswith("do: Remove --fp16, and use")]
    assert "trtlint convert --to fp16" in advice


def test_only_the_last_known_version_is_the_newest(models: Path) -> None:
    words = ("upgrade", ".", "--from", "10.9", "--to", "11.2", "--isolated")
    out = printed(models, *words).out
    assert "version: TensorRT 11.2 (the newest of the range)" in out
    assert "(the newest)" not in out


def test_one_model_keeps_its_own_report(models: Path) -> None:
    (models / "safe.onnx").unlink()
    (models / "draw.onnx").unlink()
    out = "\n".join(_upgrade(models))
    assert "safest version: " in out
    assert "Rules and models" not in out


@pytest.mark.parametrize("format_", ["markdown", "html"])
def test_pages_have_the_decision(models: Path, format_: str) -> None:
    out = "\n".join(_upgrade(models, "--format", format_))
    assert out.index("unchanged") < out.index("Rules and models") < out.rindex("Exceptions")
    assert "1 of 3 models" in out


@pytest.mark.slow
def test_many_models_are_few_lines(models: Path) -> None:
    for number in range(40):
        (models / f"copy{number}.onnx").write_bytes((models / "gelu.onnx").read_bytes())
    out = _upgrade(models)
    assert len(out) < 60
    assert [line for line in out if "models: copy0.onnx, ..." in line], out[-12:]


def test_findings_of_the_current_release_are_marked(models: Path) -> None:
    lines = [line.strip() for line in _upgrade(models)]
    assert "draw.onnx: error[BLD201] (already on 10.9)" in lines
    assert "the code must change: PORT127 weak-typing-api-removed" in lines
    assert any("already on 10.9; trtlint fix: gelu.onnx" in line for line in lines)
    (line,) = [line for line in lines if line.startswith("needs changes: ")]
    assert (
        line
        == "needs changes: 1 model, 1 of these models with the same findings already on 10.9: see Exceptions"
    )


@pytest.mark.parametrize("format_", ["text", "markdown", "html"])
def test_one_model_marks_what_is_wrong_already(models: Path, format_: str) -> None:
    words = ("upgrade", "gelu.onnx", "--from", "10.9", "--to", "11.4", "--isolated", "--format", format_)
    assert "all versions, already on 10.9" in printed(models, *words).out


def test_json_marks_what_is_wrong_already(models: Path) -> None:
    words = ("upgrade", "gelu.onnx", "--from", "10.9", "--to", "11.4", "--isolated", "--format", "json")
    (model,) = json.loads(printed(models, *words).out)["models"]
    marks = {each["finding"]["rule"]: each["already"] for each in model["findings"]}
    assert marks["BLD217"] is True
    assert marks["PORT127"] is False


def test_the_command_of_a_fix_can_be_pasted(models: Path) -> None:
    (models / "gelu.onnx").rename(models / "my gelu.onnx")
    target = ("--gpu", "RTX 4090", "--fp16")
    words = ("upgrade", "my gelu.onnx", "--from", "10.9", "--to", "10.16", "--isolated", *target)
    text = printed(models, *words).out
    asked = "trtlint fix 'my gelu.onnx' --select BLD217 --trt 10.16 --gpu 'RTX 4090' --fp16"
    assert f"fix: {asked}" in text
    assert asked in printed(models, *words, "--format", "markdown").out
    (model,) = json.loads(printed(models, *words, "--format", "json").out)["models"]
    assert asked in [each.get("fix") for each in model["findings"]]
    command = shlex.split(asked)[1:]
    assert printed(models, *command, "--dry-run", "--isolated").code == 0


def test_the_decision_names_the_command_that_fixes_the_models(models: Path) -> None:
    (line,) = [line.strip() for line in _upgrade(models, "--gpu", "L4") if "fix them with" in line]
    assert line == "fix them with: trtlint fix gelu.onnx --trt 11.4 --gpu L4"


def test_hidden_findings_of_several_models_are_counted(models: Path) -> None:
    onnx.save(parser.parse_model(_NORM), models / "norm.onnx")
    (line,) = [line for line in _upgrade(models) if "hidden" in line]
    assert "conditional finding hidden: give --fp16 or --no-fp16 (1)" in line
    shown = _upgrade(models, "--show-conditional")
    assert "  warning[ACC101] fp16-decomposed-norm (--fp16): 1 model" in shown
    assert not [line for line in shown if "hidden" in line]
