"""Tests of build commands for a converted model."""

from __future__ import annotations

import pytest

from tests.graphs import model_of
from trtlint.buildcommand import read_commands
from trtlint.conversion.buildline import build_line, unbuildable, with_shapes
from trtlint.target.target import Target

WEAK = "trtexec --onnx={model} --stronglyTyped"
STRONG = "trtexec --onnx={model}"
RTX = "tensorrt_rtx --onnx={model}"


@pytest.mark.parametrize(
    ("targets", "command"),
    [
        ([], WEAK),
        ([Target()], WEAK),
        ([Target(product="tensorrt")], WEAK),
        ([Target(product="tensorrt", version="10.16")], WEAK),
        ([Target(product="tensorrt", version="11.0")], STRONG),
        ([Target(product="tensorrt", version="11.3")], STRONG),
        ([Target(product="tensorrt-rtx")], RTX),
        ([Target(product="tensorrt-rtx", version="1.3")], RTX),
        ([Target(product="tensorrt", version="11.0"), Target(product="tensorrt-rtx")], STRONG),
    ],
)
def test_the_command_is_for_the_first_target(targets: list[Target], command: str) -> None:
    assert build_line(targets) == command


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ("--fp16 --saveEngine=m.engine", " --saveEngine=m.engine"),
        ("--minShapes=x:1x2 --maxShapes=x:8x2 --best", " --minShapes=x:1x2 --maxShapes=x:8x2"),
        ("--bf16 --precisionConstraints=obey --layerPrecisions=a:fp32 --noTF32", " --noTF32"),
        ("--stronglyTyped --inputIOFormats=fp16:chw", ""),
        ("'--shapes=a b:1x2'", " '--shapes=a b:1x2'"),
    ],
)
def test_options_of_the_build_command_that_set_no_types_stay(options: str, kept: str) -> None:
    (command,) = read_commands(f"trtexec --onnx=m.onnx {options}")
    assert build_line([Target(version="10.16")], command) == WEAK + kept
    assert build_line([Target(version="11.0")], command) == STRONG + kept


def test_dynamic_inputs_get_shapes() -> None:
    text = """< ir_version: 8, opset_import: ["" : 17] >
    g (float[N,2] x, float[2] fixed, float[K] k) => (float[N,2] y) { y = Neg (x) }"""
    inputs = model_of(text).graph.inputs
    shapes = " ".join(f"--{which}Shapes=x:Nx2,k:K" for which in ("min", "opt", "max"))
    assert with_shapes(STRONG, inputs) == f"{STRONG} {shapes}"
    assert with_shapes(STRONG, inputs[1:2]) == STRONG
    assert with_shapes("", inputs) == ""
    for given in (f"{STRONG} --minShapes=x:1x2", f"{STRONG} --shapes=x:1x2"):
        assert with_shapes(given, inputs) == given


@pytest.mark.parametrize(
    ("type_", "target", "reason"),
    [
        ("fp16", Target(), ""),
        ("fp16", Target(version="8.6"), "TensorRT 8.6 has no strongly typed networks"),
        ("bf16", Target(version="8.6"), "TensorRT 8.6 has neither strongly typed networks nor BF16"),
        ("bf16", Target(version="9.0"), ""),
        ("bf16", Target(version="11.0"), ""),
        ("bf16", Target(sm=75), "TensorRT (any version), SM 7.5: this GPU does not compute in BF16"),
        ("fp16", Target(sm=75), ""),
        ("bf16", Target(sm=80), ""),
        ("bf16", Target(product="tensorrt-rtx", version="1.3"), ""),
    ],
)
def test_targets_that_cannot_build_the_model(type_: str, target: Target, reason: str) -> None:
    found = unbuildable(type_, [Target(version="10.16"), target])
    assert found.startswith(reason)
    assert bool(found) == bool(reason)
