"""Tests of Torch-TensorRT scripts and programs on the command line and in Python."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

import trtlint
from tests.torch_tensorrt.test_program import document, node, write
from trtlint.buildcommand.pasted import IMPORTS
from trtlint.cli import run
from trtlint.torch_tensorrt.calls import _FUNCTIONS

SCRIPT = """\
import torch
import torch_tensorrt

model = make().half().eval().cuda()
inputs = [torch.randn((1, 3, 224, 224)).cuda().half()]
enabled_precisions = {torch.half}
first = torch_tensorrt.compile(model, ir="torch_compile", enabled_precisions=enabled_precisions)
compile_spec = {
    "inputs": inputs,
    "enabled_precisions": enabled_precisions,
    "ir": "dynamo",
}
second = torch_tensorrt.compile(model, **compile_spec)
"""
"""As torch_compile_resnet_example.py of 2.10.0 has it, whose last call raises:
https://github.com/pytorch/TensorRT/issues/4070"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with a script and a program."""
    monkeypatch.chdir(tmp_path)
    Path("build.py").write_text(SCRIPT)
    write(
        Path("net.pt2"), document(node("aten.relu.default", "relu"), node("aten.cumprod.default", "cumprod"))
    )
    return tmp_path


def findings(capsys: pytest.CaptureFixture[str], *words: str) -> list[tuple[str, str]]:
    """Return the rules with findings and their places."""
    run([*words, "--format", "json", "--isolated", "--no-cache"])
    out = json.loads(capsys.readouterr().out)
    schema = resources.files("trtlint.report").joinpath("schema/trtlint.report-1.json")
    jsonschema.validate(out, json.loads(schema.read_text(encoding="utf-8")))
    return [
        (finding["rule"], site["node"])
        for model in out["models"]
        for finding in model["findings"]
        for site in finding["sites"]
    ]


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("2.9", []),
        ("2.10", [("TTR101", "build.py:13"), ("TTR102", "build.py:7")]),
        ("2.12.1", [("TTR101", "build.py:13"), ("TTR102", "build.py:7")]),
        ("2.13", [("TTR102", "build.py:7"), ("TTR102", "build.py:13")]),
    ],
)
def test_the_line_of_a_thread(
    capsys: pytest.CaptureFixture[str], release: str, expected: list[tuple[str, str]]
) -> None:
    assert sorted(findings(capsys, "build.py", "--torch-tensorrt", release)) == sorted(expected)


def test_the_release_gives_the_target(capsys: pytest.CaptureFixture[str]) -> None:
    run(["build.py", "--torch-tensorrt", "2.10", "--isolated"])
    out = capsys.readouterr().out
    assert "for TensorRT 10.14.1" in out
    assert "--> build.py:13" in out
    assert "exported from" not in out
    run(["build.py", "--torch-tensorrt", "2.10", "--trt", "10.13", "--isolated"])
    assert "for TensorRT 10.13" in capsys.readouterr().out


def test_the_line_is_that_of_an_annotation(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["build.py", "--torch-tensorrt", "2.10", "--isolated", "--format", "github"]) == 1
    assert "::error file=build.py,line=13," in capsys.readouterr().out


def test_a_call_given_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    call = "torch_tensorrt.compile(m, ir='dynamo', enabled_precisions={torch.float16}, min_block_size=1)"
    assert findings(capsys, "--build", call, "--torch-tensorrt", "2.13") == [
        ("TTR102", "torch_tensorrt.compile")
    ]
    run(["--build", call, "--torch-tensorrt", "2.13"])
    assert "torch_tensorrt.compile(m, ir='dynamo', min_block_size=1)" in capsys.readouterr().out


@pytest.mark.parametrize(
    "function",
    [
        *(each for each in _FUNCTIONS if each.startswith("torch_tensorrt.") and ".ts." not in each),
        *(f"{name}.compile" for name, module in IMPORTS.items() if name != module),
    ],
)
def test_each_function_may_be_called_in_a_text(capsys: pytest.CaptureFixture[str], function: str) -> None:
    call = f"{function}(m, ir='dynamo', nonsense=1)"
    found = findings(capsys, "--build", call, "--torch-tensorrt", "2.13")
    assert ("TTR105", f"{function}(nonsense=)") in found


@pytest.mark.parametrize("function", ["compile", "convert_method_to_trt_engine"])
def test_a_call_of_torchscript_in_a_text_is_listed(capsys: pytest.CaptureFixture[str], function: str) -> None:
    call = f"torch_tensorrt.ts.{function}(m, inputs=[x])"
    assert run(["--build", call, "--torch-tensorrt", "2.13", "--isolated"]) == 0
    assert "the call in line 1 was not checked" in capsys.readouterr().out


def test_the_options_of_torch_compile_in_a_text(capsys: pytest.CaptureFixture[str]) -> None:
    call = "torch.compile(m, backend='torch_tensorrt', options={'nonsense': 1})"
    assert findings(capsys, "--build", call, "--torch-tensorrt", "2.13") == [
        ("TTR105", "torch.compile(nonsense=)")
    ]


def test_a_script_given_as_build(capsys: pytest.CaptureFixture[str]) -> None:
    found = findings(capsys, "--build", "build.py", "--torch-tensorrt", "2.10")
    assert ("TTR101", "build.py:13") in found


def test_a_program_by_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert findings(capsys, "net.pt2", "--torch-tensorrt", "2.13") == [("TTR202", "cumprod")]
    run(["net.pt2", "--torch-tensorrt", "2.13"])
    out = capsys.readouterr().out
    assert "trtlint predicts from a table of operators" in out
    assert "exported from net/model.py:12" in out


def test_no_program_is_loaded_without_consent(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["net.pt2", "--torch-tensorrt", "2.13", "--dry-build", "--isolated"]) == 0
    out = capsys.readouterr().out
    assert "if you trust the file, use --trust-pickle" in out
    assert "TTR202" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["build.py"], "no Torch-TensorRT release is given; add --torch-tensorrt"),
        (["build.py", "--torch-tensorrt", "1.4"], "unknown Torch-TensorRT release '1.4'"),
        (["--build", "torch_tensorrt.compile(m)"], "which trtlint checks for one release"),
        (["--build", "torch_tensorrt.compile(", "--torch-tensorrt", "2.13"], "not valid Python"),
        (["--torch-tensorrt", "2.13"], "no path given"),
        (
            ["model.onnx", "--torch-tensorrt", "2.13"],
            "needs a Python script, a notebook, an exported program",
        ),
        (["model.onnx", "--torch-python", "python"], "--torch-python needs --torch-tensorrt"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    assert run(words) == 2
    assert said in capsys.readouterr().err


def test_files_that_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.py").write_text("def f(:\n")
    Path("bad.pt2").write_bytes(b"no zip")
    for name in ("bad.py", "bad.pt2", "missing.py", "missing.pt2"):
        assert run([name, "--torch-tensorrt", "2.13", "--isolated"]) == 3
        assert name in capsys.readouterr().out


def test_a_script_without_a_call(capsys: pytest.CaptureFixture[str]) -> None:
    Path("none.py").write_text("print(1)\n")
    assert run(["none.py", "--torch-tensorrt", "2.13", "--isolated"]) == 0
    assert (
        "the script contains no call of torch_tensorrt.compile or another compiler function of Torch-TensorRT"
        in capsys.readouterr().out
    )


def test_other_front_ends_are_named_and_left(capsys: pytest.CaptureFixture[str]) -> None:
    Path("ts.py").write_text(
        "import torch, torch_tensorrt as t\n"
        "s = torch.jit.script(net)\n"
        "t.compile(s, inputs=[x], enabled_precisions={torch.half}, truncate_long=True)\n"
        "t.compile(net, ir='fx', enabled_precisions={torch.half})\n"
        "t.compile(net, ir=kind, enabled_precisions={torch.half})\n"
    )
    assert findings(capsys, "ts.py", "--torch-tensorrt", "2.10") == []
    run(["ts.py", "--torch-tensorrt", "2.10"])
    out = capsys.readouterr().out
    assert out.count("not checked") == 3


def test_a_suppression_of_the_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    Path("trtlint.toml").write_text('[[suppress]]\nrule = "TTR101"\nreason = "known"\n')
    assert run(["build.py", "--torch-tensorrt", "2.10"]) == 0
    assert "1 " in capsys.readouterr().out


def test_python() -> None:
    report = trtlint.lint("build.py", torch_tensorrt="2.10")
    assert {finding.rule for model in report.models for finding in model.findings} == {"TTR101", "TTR102"}
    with pytest.raises(trtlint.CheckError, match="TTR101"):
        trtlint.check("build.py", torch_tensorrt="2.10")
    program = trtlint.lint("net.pt2", torch_tensorrt="2.13", gpu="L4")
    assert [finding.rule for finding in program.models[0].findings] == ["TTR202"]
    with pytest.raises(trtlint.SettingError, match="unknown Torch-TensorRT release"):
        trtlint.lint("build.py", torch_tensorrt="3")
    with pytest.raises(trtlint.SettingError, match="needs a Python script"):
        trtlint.lint("model.onnx", torch_tensorrt="2.13")


def test_a_script_beside_the_log_of_another_build(capsys: pytest.CaptureFixture[str]) -> None:
    Path("build.log").write_text("[I] TensorRT version: 10.7.0\n[I] Precision: FP32+FP16\n")
    run(["build.py", "--torch-tensorrt", "2.10", "--log", "build.log", "--format", "json", "--isolated"])
    out = json.loads(capsys.readouterr().out)
    assert [model["path"] for model in out["models"]] == ["build.py", "build.log"]


def test_a_measurement_of_another_model_beside_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    Path("ranges.json").write_text("{}")
    assert run(["build.py", "--torch-tensorrt", "2.10", "--ranges", "ranges.json", "--isolated"]) == 2
    assert "ranges.json" in capsys.readouterr().err
