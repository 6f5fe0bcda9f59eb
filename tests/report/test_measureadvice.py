"""Commands that a measurement prints, and their results."""

from __future__ import annotations

import importlib.util
import json
import shlex
from pathlib import Path

import numpy as np
import onnx
import pytest

from trtlint.cli import run
from trtlint.policy.options import TargetOptions

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is None, reason="onnxruntime is not installed"
)

HALF = """
< ir_version: 8, opset_import: ["" : 17] >
norm (float16[2,64,16] x) => (float16[2,64,16] y)
< float16 two = {16384}, float16 eps = {5145} >
{
  mu = ReduceMean <axes = [1]> (x)
  d = Sub (x, mu)
  [square] squared = Pow (d, two)
  [mean] variance = ReduceMean <axes = [1]> (squared)
  [shift] shifted = Add (variance, eps)
  [root] rooted = Sqrt (shifted)
  y = Div (d, rooted)
}
"""
WIDE = """
< ir_version: 8, opset_import: ["" : 17] >
norm (float16[2,64,16] x) => (float16[2,64,16] y)
< float two = {2}, float eps = {0.001} >
{
  mu = ReduceMean <axes = [1]> (x)
  d = Sub (x, mu)
  wide = Cast <to = 1> (d)
  squared = Pow (wide, two)
  variance = ReduceMean <axes = [1]> (squared)
  shifted = Add (variance, eps)
  rooted = Sqrt (shifted)
  narrow = Cast <to = 10> (rooted)
  y = Div (d, narrow)
}
"""
"""The statistics are in FP32 by Casts, and the division is not."""
WEAK = ["--trt", "10.0", "--fp16"]
NOTE = "respects Casts to FP32 only in a strongly typed build"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(HALF), "half.onnx")
    onnx.save(onnx.parser.parse_model(WIDE), "wide.onnx")
    numbers = np.random.default_rng(0).standard_normal((2, 64, 16)) * 300
    np.savez("large.npz", x=numbers.astype(np.float16))
    np.savez("small.npz", x=(numbers / 300).astype(np.float16))
    return tmp_path


def measured(capsys: pytest.CaptureFixture[str], model: str, *options: str, inputs: str = "large.npz") -> str:
    run(["measure", model, "--inputs", inputs, "-o", "ranges.json", *options])
    return capsys.readouterr().out


def rules_of(capsys: pytest.CaptureFixture[str], model: str, *options: str) -> dict[str, tuple[str, str]]:
    """Lint a model and return the severity and the evidence by rule."""
    run([model, "--isolated", "--format", "json", *options])
    (report,) = json.loads(capsys.readouterr().out)["models"]
    return {each["rule"]: (each["severity"], each.get("standing", "open")) for each in report["findings"]}


@pytest.mark.parametrize("target", [[*WEAK, "--gpu", "L4"], ["--trt", "11.4"]], ids=["10.0", "11.4"])
def test_the_printed_command_makes_a_model_without_the_finding(
    target: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "ACC101" in rules_of(capsys, "half.onnx", *target)
    out = measured(capsys, "half.onnx", *target)
    (command,) = [line.strip() for line in out.splitlines() if "trtlint fix" in line]
    arguments = shlex.split(command)[1:]
    assert set(target) <= set(arguments)
    assert run([*arguments, "--isolated"]) == 0
    capsys.readouterr()
    assert "ACC101" not in rules_of(capsys, "half.fixed.onnx", *target)


def test_no_layer_precisions_are_promised_for_a_model_with_16_bit_types(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "--layerPrecisions" not in measured(capsys, "half.onnx", *WEAK)


def test_casts_hold_in_a_strongly_typed_build_only(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert NOTE in measured(capsys, "half.onnx", *WEAK)
    fine = measured(capsys, "wide.onnx", *WEAK)
    assert "FP16: fine" in fine
    assert NOTE in fine
    assert "--stronglyTyped" in fine
    for target in (["--trt", "11.4"], ["--trt", "10.0", "--strongly-typed"], ["--rtx", "1.4"]):
        assert NOTE not in measured(capsys, "wide.onnx", *target)


def test_values_beyond_fp16_in_fp32_nodes_do_not_refute(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured(capsys, "wide.onnx", *WEAK)
    ranges = ["--ranges", "ranges.json"]
    assert rules_of(capsys, "wide.onnx", *WEAK, *ranges)["ACC101"] == ("warning", "open")
    measured(capsys, "wide.onnx", *WEAK, inputs="small.npz")
    assert rules_of(capsys, "wide.onnx", *WEAK, *ranges)["ACC101"] == ("note", "refuted")


def test_target_options_as_arguments() -> None:
    flags = (("fp16", True), ("tf32", False))
    options = TargetOptions(("10.0", "11.4"), ("1.4",), "L4", flags, ("A", "B"))  # type: ignore[arg-type]
    assert shlex.join(options.arguments) == (
        "--trt 10.0 --trt 11.4 --rtx 1.4 --gpu L4 --fp16 --no-tf32 --plugins A,B"
    )
    assert TargetOptions().arguments == ()


def test_a_comparison_on_a_cpu_names_the_measurement_of_fp16(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--isolated", "--verify", "--inputs", "large.npz", *WEAK]
    assert run(["fix", "half.onnx", *options]) == 0
    out = capsys.readouterr().out
    assert "on a CPU, ONNX Runtime computes most FP16 operators in FP32" in out
    assert "trtlint measure half.fixed.onnx --inputs FILE.npz" in out
    assert run(["fix", "half.onnx", "--isolated", *WEAK]) == 0
    assert "trtlint measure" not in capsys.readouterr().out
