"""Tests of the commands in a measurement report, and of their results."""

from __future__ import annotations

import importlib.util
import json
import shlex
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import onnx
import pytest

from trtlint.cli import run
from trtlint.measurement.band import Band, TypeBand
from trtlint.measurement.measurement import (
    KeptNodes,
    MeasuredOutput,
    MeasuredTensor,
    Measurement,
    UnusableMeasurementError,
)
from trtlint.policy.options import TargetOptions
from trtlint.report.measureadvice import advice, applies_to, conversion, misfit, to_keep
from trtlint.target.target import Target

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
"""Casts keep the statistics in FP32, but not the division."""
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


KEPT = KeptNodes(("a", "b"), 0.001, 5, True, 10, 2, 0)
MANY = KeptNodes(tuple(f"n{at}" for at in range(20)), 0.001, 5, True, 30, 4, 3)
GOOD, BAD = Band(0.001, 0.001, 0.001), Band(0.001, 0.5, 0.001)
OLD, NEW = Target(version="10.7.0"), Target(version="11.0.0")
HALF_TYPED, FLAGS = (
    Target(version="10.7.0", asked=frozenset({"fp16"})),
    Target(version="10.7.0", asked=frozenset({"bf16"})),
)
RTX = Target(product="tensorrt-rtx", version="1.4.0", asked=frozenset({"fp16"}))


def result(type_: str = "fp16", kept: KeptNodes | None = KEPT, **more: Any) -> Measurement:
    """Return a measurement."""
    given: dict[str, Any] = {"files": ("x y.npz", "z.json"), "typed": False, "sites": (), "types": (), **more}
    outputs = (MeasuredOutput("y", 0.5, band=Band(0.5, 0.5, 0.5)),)
    return Measurement(
        "m 1.onnx",
        "",
        given["files"],
        "",
        1,
        type_,
        given["typed"],
        given.get("rehearsed", True),
        0.01,
        given["sites"],
        outputs,
        (),
        kept,
        (),
        types=given["types"],
    )


def commands(found: Measurement, *targets: Target, **more: Any) -> list[tuple[str, str]]:
    """Return the advice as texts and commands."""
    return [(each.text, each.command) for each in advice(found, targets, more.pop("layers", {}), **more)]


TRTEXEC = (
    "before TensorRT 11, keep these layers in FP32 with",
    "trtexec --onnx='m 1.onnx' --fp16 --precisionConstraints=obey --layerPrecisions=a:fp32,b:fp32",
)
POLYGRAPHY = (
    "or with Polygraphy",
    "polygraphy convert 'm 1.onnx' --fp16 --precision-constraints obey --layer-precisions a:float32 "
    "b:float32 -o model.engine",
)
CONVERT = (
    "TensorRT 11 uses the types in the model; trtlint convert writes a model that keeps these nodes in FP32",
    "trtlint convert 'm 1.onnx' --to fp16 --inputs 'x y.npz'",
)
BRAIN = (
    "or use BF16 in place of FP16: BF16 has the range of FP32 and 8 bits of precision; measure BF16 with",
    "trtlint measure 'm 1.onnx' --inputs 'x y.npz' --type bf16",
)
INSTEAD = (BRAIN[0].removeprefix("or "), BRAIN[1])
TYPED = "the model already has 16-bit types; to run these nodes in FP32"


def test_advice_depends_on_the_targets() -> None:
    assert commands(result(), OLD) == [TRTEXEC, POLYGRAPHY, BRAIN]
    assert commands(result(), NEW) == [CONVERT, BRAIN]
    assert commands(result(), RTX) == [CONVERT, BRAIN]
    assert commands(result(), Target()) == [TRTEXEC, POLYGRAPHY, CONVERT, BRAIN]
    assert commands(result(), NEW, OLD) == [TRTEXEC, POLYGRAPHY, CONVERT, BRAIN]


def test_advice_names_layers_and_no_constants() -> None:
    constant = MeasuredTensor("b", "Constant", "t", 1.0, None, None, "ok", False, True)
    computed = MeasuredTensor("a", "Exp", "t", 1.0, None, None, "ok", False, True)
    found = result(type_="bf16", sites=(constant, computed))
    assert commands(found, OLD, layers={"a": "layer a"}) == [
        (
            TRTEXEC[0],
            "trtexec --onnx='m 1.onnx' --bf16 --precisionConstraints=obey --layerPrecisions='layer a:fp32'",
        ),
        (
            POLYGRAPHY[0],
            "polygraphy convert 'm 1.onnx' --bf16 --precision-constraints obey --layer-precisions "
            "'layer a:float32' -o model.engine",
        ),
    ]


@pytest.mark.parametrize("name", ["a,b", "it's"])
def test_names_that_trtexec_splits_are_in_no_trtexec_command(name: str) -> None:
    (text, command), (_, polygraphy), *_ = commands(result(), OLD, layers={"a": name})
    assert text.startswith(f"trtexec cannot keep the layer {name} in FP32")
    assert command == CONVERT[1]
    assert f"{name}:float32" in shlex.split(polygraphy)


def test_advice_for_a_model_with_16_bit_types() -> None:
    found = result(typed=True)
    again = "trtlint measure 'm 1.onnx' --inputs 'x y.npz' -o ranges.json; "
    fix = "trtlint fix 'm 1.onnx' --trt 10.7 --ranges"
    options = {"options": ("--trt", "10.7")}
    assert commands(found, OLD, **options) == [(TYPED, f"{again}{fix} ranges.json")]
    assert commands(found, OLD, ranges="r 1.json", **options) == [(TYPED, f"{fix} 'r 1.json'")]
    for target, weak in ((HALF_TYPED, True), (FLAGS, True), (NEW, False), (RTX, False)):
        texts = [text for text, _ in commands(found, target)]
        assert texts[:1] == [TYPED]
        assert [NOTE in text for text in texts[1:]] == ([True] if weak else [])


@pytest.mark.parametrize(
    "kept",
    [
        None,
        KeptNodes((), 0.001, 1, True),
        KeptNodes(("a",), 0.1, 1, False),
        KeptNodes(("a",), None, 1, False),
    ],
)
def test_without_nodes_to_keep_only_weak_types_are_named(kept: KeptNodes | None) -> None:
    assert commands(result(kept=kept), OLD, NEW) == []
    ((text, command),) = commands(result(kept=kept, typed=True), NEW, HALF_TYPED)
    assert (NOTE in text, command) == (True, "")
    assert commands(result(kept=kept), HALF_TYPED) == []


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (
            result(kept=MANY),
            [INSTEAD, ("or build the model without FP16; TF32 stays on by default", "")],
        ),
        (
            result(kept=MANY, types=(TypeBand("bf16", GOOD), TypeBand("tf32", BAD))),
            [INSTEAD, ("or build the model without FP16; TF32 stays on by default", "")],
        ),
        (
            result(kept=MANY, types=(TypeBand("bf16", BAD), TypeBand("tf32", GOOD))),
            [("build the model without FP16; TF32 stays on by default", "")],
        ),
        (
            result("bf16", MANY),
            [("build the model without BF16; TF32 stays on by default", "")],
        ),
        (
            result(kept=MANY, typed=True),
            [("export the model in FP32, because its types are FP16", "")],
        ),
    ],
)
def test_advice_if_the_type_does_not_fit(found: Measurement, expected: list[tuple[str, str]]) -> None:
    assert commands(found, OLD, NEW) == expected


def test_bf16_beyond_the_bound_is_not_advised() -> None:
    assert commands(result(types=(TypeBand("bf16", BAD),)), NEW) == [CONVERT]
    assert commands(result(types=(TypeBand("bf16", GOOD),)), NEW) == [CONVERT, BRAIN]


def test_advice_about_tf32() -> None:
    assert commands(result("tf32", None), NEW) == [
        ("TF32 is on by default; build without it", "trtexec --onnx='m 1.onnx' --noTF32")
    ]
    fine = msgspec.structs.replace(result("tf32", None), outputs=(MeasuredOutput("y", 0.001, band=GOOD),))
    assert commands(fine, NEW) == []


@pytest.mark.parametrize(
    ("found", "nodes", "applies"),
    [
        (result(typed=True), ["x", "b"], True),
        (result(typed=True), ["x"], False),
        (result(typed=True), [], False),
        (result(), ["a"], False),
        (result(kept=None, typed=True), ["a"], False),
        (result(kept=KeptNodes(("a",), 0.1, 1, False), typed=True), ["a"], False),
        (result(kept=MANY, typed=True), ["n1"], False),
    ],
)
def test_whether_the_advice_keeps_nodes_in_fp32(found: Measurement, nodes: list[str], applies: bool) -> None:
    assert applies_to(found, nodes) is applies


def test_the_reason_why_a_type_does_not_fit() -> None:
    assert misfit(MANY) == (
        "20 of its 30 nodes, and 3 of its 4 matrix products and convolutions, would have to stay in FP32"
    )
    assert misfit(KeptNodes(("a",), 0.1, 1, True, 1000)) == "1 of its 1,000 nodes would have to stay in FP32"


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (
            result("tf32"),
            "the measurement tested TF32. trtlint fix keeps nodes in FP32 by Casts, but Casts do not turn "
            "off TF32; build with --noTF32",
        ),
        (
            result(rehearsed=False),
            "the measurement ran with --no-rehearse, which finds no nodes to keep; measure again without "
            "--no-rehearse",
        ),
        (result(kept=MANY, typed=True), f"FP16 is unsuitable for this model: {misfit(MANY)}"),
        (
            result(),
            "the model is an FP32 model; to keep nodes in FP32, use trtlint convert 'm 1.onnx' --to fp16 "
            "--inputs 'x y.npz'",
        ),
        (
            result(kept=KeptNodes(("a",), 0.1, 1, False), typed=True),
            "the search found no set of nodes to keep in FP32; measure again with --thorough",
        ),
    ],
)
def test_measurements_without_nodes_to_keep(found: Measurement, message: str) -> None:
    with pytest.raises(UnusableMeasurementError) as caught:
        to_keep(found)
    assert str(caught.value) == message


def test_nodes_to_keep() -> None:
    assert to_keep(result(typed=True)) == ("a", "b")
    assert to_keep(result(kept=None, typed=True)) == ()
    assert conversion(result(files=())) == "trtlint convert 'm 1.onnx' --to fp16"
