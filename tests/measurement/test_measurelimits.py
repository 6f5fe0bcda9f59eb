"""Tests of measurement limits, and of early errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from trtlint.cli import run
from trtlint.measurement.measure import MeasurementRequest, limits_for, usual_limits
from trtlint.measurement.measuring import measured
from trtlint.measurement.rewriting import rewrite
from trtlint.measurement.session import RehearsalSession
from trtlint.measurement.trialmodel import load_trial_model
from trtlint.model.load import load
from trtlint.process.spawn import Limits, machine_memory

pytest.importorskip("onnxruntime")

GIGABYTE = 1 << 30


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    onnx.save(product(4), "model.onnx")
    np.savez("x.npz", x=np.ones((2, 4), np.float32))
    return tmp_path


def product(size: int) -> onnx.ModelProto:
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")],
        "g",
        [helper.make_tensor_value_info("x", 1, ["N", size])],
        [helper.make_tensor_value_info("y", 1, ["N", size])],
        [numpy_helper.from_array(np.ones((size, size), np.float32), "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.isolated
@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--seconds", "0.001", "measuring exceeded the time limit of 0.001 s; raise it with --seconds"),
        ("--memory", "1M", "measuring exceeded the memory limit of 0.00098 GB; raise it with --memory"),
    ],
)
def test_past_a_limit_there_is_one_line_with_the_remedy(
    option: str, value: str, said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["measure", "model.onnx", option, value]) == 3
    assert capsys.readouterr().err == f"error: model.onnx: {said}\n"


def test_limits_grow_with_the_model_and_end() -> None:
    small, large, huge, holes = (usual_limits(size) for size in (0, GIGABYTE, 64 * GIGABYTE, 1 << 60))
    most = machine_memory() * 3 // 4
    assert small.seconds == 600
    assert large.seconds == 600 + 256
    assert huge == holes
    assert small.memory == min(8 * GIGABYTE, most)
    assert large.memory == min(16 * GIGABYTE, most)
    assert huge.memory <= most


def test_external_data_count(folder: Path) -> None:
    onnx.save(product(64), "big.onnx", save_as_external_data=True, location="big.data", size_threshold=0)
    whole = Path("big.onnx").stat().st_size + Path("big.data").stat().st_size
    model = load(Path("big.onnx"))
    assert limits_for(model) == usual_limits(whole)
    assert limits_for(model, seconds=1.0, memory=2) == Limits(1.0, 2)


def test_inputs_that_nothing_reads_are_not_measured(folder: Path) -> None:
    model = product(4)
    model.graph.input.extend(helper.make_tensor_value_info(f"unread_{index}", 1, [1]) for index in range(50))
    onnx.save(model, "unread.onnx")
    found = measured(MeasurementRequest("unread.onnx", "unread.onnx"), lambda _: None)
    assert [site.tensor for site in found.sites] == ["x", "y"]


def test_the_runtime_plans_no_memory(folder: Path) -> None:
    """The time of memory planning grows with the square of the number of tensors."""
    session = RehearsalSession(rewrite(load_trial_model(Path("model.onnx"))))
    assert session._session.get_session_options().enable_mem_pattern is False


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("/dev/null", "this is a device; only a regular file is replaced"),
        ("model.onnx", "model.onnx is read in this run"),
        ("x.npz", "x.npz is read in this run"),
        ("nowhere/ranges.json", "there is no folder nowhere"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_the_work(
    output: str,
    said: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object) -> None:
        pytest.fail("the work has begun")

    monkeypatch.setattr("trtlint.commands.measure.measure", fail)
    assert run(["measure", "model.onnx", "--inputs", "x.npz", "-o", output]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("option", [["-o", "w"], ["--output", "json:w"]])
def test_external_data_are_not_replaced(
    option: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = onnx.load("model.onnx")
    onnx.save(given, "large.onnx", save_as_external_data=True, size_threshold=0, location="w")
    before = Path("w").read_bytes()
    monkeypatch.delattr("trtlint.commands.measure.measure")
    assert run(["measure", "large.onnx", *option]) == 2
    assert "w is read in this run; write to another file" in capsys.readouterr().err
    assert Path("w").read_bytes() == before


def test_inputs_that_are_not_there_are_refused_before_the_work(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr("trtlint.commands.measure.measure")
    assert run(["measure", "model.onnx", "--inputs", "nowhere.npz"]) == 2
    assert "nowhere.npz: No such file or directory" in capsys.readouterr().err
