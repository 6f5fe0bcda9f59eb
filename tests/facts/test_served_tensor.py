"""Tests of Triton's tensors against the model, from the configuration file to the finding."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx
import pytest

import trtlint
from tests.graphs import facts_of, model_of
from trtlint.buildcommand.triton import parse_config
from trtlint.cli import run
from trtlint.facts.facts import Facts
from trtlint.facts.of_command.served_tensor import ServedTensorFact

NORM = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[N,16,64] x) => (float[N,16,64] y)
< float two = {2}, float eps = {0.000001} >
{ s = Pow(x, two) m = ReduceMean<axes=[-1], keepdims=1>(s) a = Add(m, eps) r = Sqrt(a) y = Div(x, r) }
"""
CONFIG = """
platform: "onnxruntime_onnx"
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 16, 64 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 16, 64 ] } ]
optimization { execution_accelerators { gpu_execution_accelerator : [ {
  name : "tensorrt"
  parameters { key: "precision_mode" value: "FP16" }
} ] } }
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a Triton model repository with one model."""
    folder = tmp_path / "repository" / "norm"
    (folder / "1").mkdir(parents=True)
    onnx.save(onnx.parser.parse_model(NORM), folder / "1" / "model.onnx")
    (folder / "config.pbtxt").write_text(CONFIG, encoding="utf-8")
    return folder.parent


class Cli:
    """Runs the command line."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def models(self, *arguments: str, code: int = 0) -> Any:
        assert run([*arguments, "--format", "json", "--isolated"]) == code
        return json.loads(self._capsys.readouterr().out)["models"]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capsys)


def rules(cli: Cli, *arguments: str, code: int = 0) -> list[str]:
    (model,) = cli.models(*arguments, code=code)
    return [finding["rule"] for finding in model["findings"]]


def served(config: str, model: str = NORM) -> list[ServedTensorFact]:
    facts = Facts(model_of(model), command=parse_config(config))
    return [fact for fact in facts.of("served_tensor") if isinstance(fact, ServedTensorFact)]


@pytest.mark.slow
@pytest.mark.parametrize("version", ["10.0", "10.8", "10.16"])
def test_the_accelerator_settles_the_precision(cli: Cli, repository: Path, version: str) -> None:
    assert rules(cli, str(repository), "--trt", version) == ["ACC101"]
    config = str(repository / "norm" / "config.pbtxt")
    model = str(repository / "norm" / "1" / "model.onnx")
    assert rules(cli, model, "--trt", version, "--build", config) == ["ACC101"]
    (report,) = trtlint.lint(repository, trtlint.Target(version=version)).models
    assert [finding.rule for finding in report.findings] == ["ACC101"]


def test_without_the_accelerator_nothing_is_known_of_the_precision(cli: Cli, repository: Path) -> None:
    config = repository / "norm" / "config.pbtxt"
    config.write_text(CONFIG.replace('"FP16"', '"FP32"'), encoding="utf-8")
    assert rules(cli, str(repository), "--trt", "10.8") == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "rule", "says"),
    [
        ("dims: [ 16, 64 ] } ]\noutput", "dims: [ 16, 32 ] } ]\noutput", "TRI103", "-1x16x32"),
        ("dims: [ 16, 64 ] } ]\noutput", "dims: [ 8, 16, 64 ] } ]\noutput", "TRI103", "-1x8x16x64"),
        ('"x" data_type: TYPE_FP32', '"x" data_type: TYPE_FP16', "TRI102", "TYPE_FP16"),
        ('"y" data_type: TYPE_FP32', '"y" data_type: TYPE_INT64', "TRI102", "TYPE_INT64"),
        ('"x"', '"images"', "TRI101", "images"),
        ('"FP16"', '"fp16"', "TRI106", "fp16"),
    ],
)
def test_what_is_served_wrongly_is_named(
    cli: Cli, repository: Path, old: str, new: str, rule: str, says: str
) -> None:
    config = repository / "norm" / "config.pbtxt"
    config.write_text(CONFIG.replace(old, new, 1), encoding="utf-8")
    (report,) = trtlint.lint(repository, trtlint.Target(version="10.8")).models
    messages = {finding.rule: finding.message for finding in report.findings}
    assert says in messages[rule]
    assert rule in rules(cli, str(repository), "--trt", "10.8", code=1)


def test_a_configuration_that_cannot_be_read_costs_its_model_alone(cli: Cli, repository: Path) -> None:
    other = repository / "other" / "1"
    other.mkdir(parents=True)
    onnx.save(onnx.parser.parse_model(NORM), other / "model.onnx")
    (repository / "norm" / "config.pbtxt").write_text("max_batch_size: many", encoding="utf-8")
    norm, fine = cli.models(str(repository), code=2)
    assert "config.pbtxt:1: not a Triton configuration" in norm["errors"][0]["message"]
    assert fine["errors"] == []


def test_sizes_that_the_model_leaves_open() -> None:
    (x, _) = served(CONFIG, NORM.replace("float[N,16,64] x", "float[N,L,64] x"))
    assert (x.rank_fits, x.sizes_fit, x.batch_fits, x.declared) == (True, True, True, "NxLx64")
    (x, _) = served(CONFIG.replace("[ 16, 64 ]", "[ -1, 64 ]", 1))
    assert x.sizes_fit is False
    (_, y) = served(
        CONFIG.replace('"y" data_type: TYPE_FP32 dims: [ 16', '"y" data_type: TYPE_FP32 dims: [ -1')
    )
    assert y.sizes_fit is True


def test_a_batch_that_the_model_fixes() -> None:
    (x, _) = served(CONFIG, NORM.replace("N,", "1,"))
    assert (x.batch_fits, x.max_batch_size) == (False, 8)
    (x, _) = served(CONFIG.replace("onnxruntime_onnx", "tensorrt_plan"), NORM.replace("N,", "1,"))
    assert x.batch_fits is None


def test_ragged_inputs_and_other_commands_are_not_compared() -> None:
    (x, _) = served(CONFIG.replace("dims: [ 16, 64 ]", "dims: [ 1 ] allow_ragged_batch: true", 1))
    assert (x.rank_fits, x.sizes_fit) == (None, None)
    assert facts_of(NORM).of("served_tensor") == ()


def test_integers_of_an_engine_are_left_open() -> None:
    model = NORM.replace("x) =>", "x, int64[N,1] ids) =>")
    more = CONFIG.replace("} ]\noutput", '}, { name: "ids" data_type: TYPE_INT32 dims: 1 } ]\noutput')
    assert served(more, model)[1].type_fits is False
    assert served(more.replace("onnxruntime_onnx", "tensorrt_plan"), model)[1].type_fits is None


def test_inputs_that_are_not_served() -> None:
    model = NORM.replace("x) =>", "x, int64[N,1] ids) =>")
    assert [(fact.name, fact.named) for fact in served(CONFIG, model)] == [
        ("x", True),
        ("y", True),
        ("ids", False),
    ]
    assert [fact.role for fact in served('output { name: "y" }', model)] == ["output"]
