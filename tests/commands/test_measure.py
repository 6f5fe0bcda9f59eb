"""End-to-end tests of ``trtlint measure``."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import onnx
import pytest
from syrupy.assertion import SnapshotAssertion

from fuzzing.seeds import MEASUREMENTS
from tests import schemas
from tests.measurement.test_measuring import NORM
from trtlint.cli import run

pytest.importorskip("onnxruntime")

MEASURED = MEASUREMENTS[0].decode()
"""A measurement file of a model outside this test."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a norm, and inputs with and without overflow."""
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(NORM), "norm.onnx")
    numbers = np.random.default_rng(0).standard_normal((2, 16, 64)).astype(np.float32)
    np.savez("large.npz", x=numbers * 300)
    np.savez("small.npz", x=numbers)
    return tmp_path


def measured(*arguments: str) -> dict[str, Any]:
    """Return the JSON of a measurement."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert run(["measure", *arguments, "--format", "json"]) in (0, 1)
    data: dict[str, Any] = json.loads(out.getvalue())
    jsonschema.validate(data, schemas.load("trtlint.measure/1"))
    return data


def test_the_json_says_where_it_begins_what_it_does_and_what_to_keep(folder: Path) -> None:
    data = measured("norm.onnx", "--inputs", "large.npz")
    (origin,) = [site for site in data["sites"] if site["origin"]]
    assert (origin["node"], origin["op"], origin["fp16"]) == ("Pow_2", "Pow", "overflow")
    (output,) = data["outputs"]
    assert (output["name"], output["error_fp16"], output["error_unclamped"]) == ("y", 1.0, None)
    assert output["finite_fp32"]
    assert output["error"] == data["error"]
    assert data["error"]["rounded"] == data["error"]["accumulated"] == 1.0
    assert data["error"]["fused"] < 1e-3
    assert data["verdict"] == "depends"
    assert data["build"] is None
    assert data["types"] == []
    assert data["keep_fp32"] == ["Pow_2", "ReduceMean_3", "Add_4", "Sqrt_5"]
    assert data["kept"]["verified"]
    assert data["inputs"]["files"] == ["large.npz"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--inputs", "large.npz"], 1),
        (["--inputs", "small.npz"], 0),
        (["--inputs", "large.npz", "--type", "bf16", "--bound", "0.1"], 0),
        (["--inputs", "large.npz", "--no-rehearse"], 1),
        (["--inputs", "small.npz", "--no-rehearse"], 0),
        (["--inputs", "nowhere.npz"], 2),
        (["--inputs", "norm.onnx"], 2),
        (["--data-loader-script", "nowhere.py"], 2),
        (["--trt", "99"], 2),
        (["-o", "nowhere/ranges.json"], 2),
        (["-o", "."], 2),
    ],
)
def test_exit_codes(
    arguments: list[str], code: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["measure", "norm.onnx", *arguments]) == code
    said = capsys.readouterr()
    assert (code < 2) == (said.err == "")
    assert said.err.count("\n") <= 1


def test_a_model_that_cannot_be_run_is_unreadable(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = NORM.replace("Sqrt (shifted)", "com.example.Sqrt (shifted)").replace(
        '["" : 18]', '["" : 18, "com.example" : 1]'
    )
    onnx.save(onnx.parser.parse_model(text), "custom.onnx")
    assert run(["measure", "custom.onnx"]) == 3
    assert "custom.onnx: ONNX Runtime cannot load the model: " in capsys.readouterr().err
    assert run(["measure", "small.npz"]) == 3


STORED = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[2,2] x) => (float[2,2] y)
{ [stored] w = Constant <value = float[2,2] {LARGE, 0, 0, 1}> () [mm] y = MatMul (x, w) }
"""


@pytest.mark.parametrize(
    ("weight", "number", "tensor", "rules"),
    [("0.001", 7e4, "x", ["NUM107"]), ("70000.0", 0.5, "stored", [])],
)
def test_the_text_names_the_tensor_beyond_the_range(
    weight: str,
    number: float,
    tensor: str,
    rules: list[str],
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    onnx.save(onnx.parser.parse_model(STORED.replace("LARGE", weight)), "stored.onnx")
    np.savez("in.npz", x=np.array([[number, 0], [0.1, 0]], np.float32))
    assert run(["measure", "stored.onnx", "--inputs", "in.npz"]) == 1
    said = capsys.readouterr().out
    assert [
        line.split()[0] for line in said.splitlines() if line.startswith("  ") and "elements overf" in line
    ] == [tensor]
    assert re.findall(r"^error\[(\w+)\]", said, re.MULTILINE) == rules
    assert "keep in FP32: 1 node, found" in said
    if rules:
        assert run(["measure", "stored.onnx", "--inputs", "in.npz", "--no-rehearse"]) == 1


PRODUCT = """
< ir_version: 8, opset_import: ["" : 17] >
product (float[4,64] x) => (float[4,64] y, float[4,64] z)
{
  [square] s = Mul (x, x)
  [root] y = Sqrt (s)
  [wave] z = Sin (x)
}
"""


def test_the_text(folder: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    onnx.save(onnx.parser.parse_model(PRODUCT), "product.onnx")
    np.savez("large.npz", x=np.linspace(-400, 700, 256, dtype=np.float32).reshape(4, 64))
    arguments = ["--inputs", "large.npz", "--output", "ranges.json"]
    assert run(["measure", "product.onnx", *arguments]) == 1
    assert capsys.readouterr().out == snapshot
    assert json.loads(Path("ranges.json").read_text(encoding="ascii"))["schema"] == "trtlint.measure/1"


def test_advice_is_for_the_version(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["measure", "norm.onnx", "--inputs", "large.npz", "--trt", "10.7"])
    old = capsys.readouterr().out
    assert "--precisionConstraints=obey --layerPrecisions=node_of_square:fp32,node_of_variance:fp32" in old
    assert "trtlint convert" not in old
    run(["measure", "norm.onnx", "--inputs", "large.npz", "--trt", "11.0"])
    new = capsys.readouterr().out
    assert "--layerPrecisions" not in new
    assert "trtlint convert norm.onnx --to fp16 --inputs large.npz" in new


def test_made_up_inputs_are_warned_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["measure", "norm.onnx"]) == 0
    assert "warning: the inputs are generated, so the errors prove little" in capsys.readouterr().out


def test_without_onnx_runtime_it_says_how_to_get_it(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trtlint.measurement.measure.find_spec", lambda _: None)
    assert run(["measure", "norm.onnx"]) == 2
    assert 'pip install "onnxruntime>=' in capsys.readouterr().err


def test_ranges_are_for_the_model_that_they_are_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["measure", "norm.onnx", "--inputs", "large.npz", "--output", "ranges.json"])
    capsys.readouterr()
    lint = ["--trt", "10.7", "--fp16", "--format", "concise", "--ranges", "ranges.json"]
    assert run(["norm.onnx", *lint]) == 0
    said = capsys.readouterr().out
    assert "warning[NUM102]" in said  # it depends on what the build fuses
    assert "warning[ACC101]" in said
    onnx.save(onnx.parser.parse_model(NORM.replace("0.00001", "0.0001")), "norm.onnx")
    assert run(["norm.onnx", *lint]) == 2
    assert "ranges.json: this is a measurement of another model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not JSON"),
        ("[]", "it names no schema"),
        ('{"schema": "trtlint.report/1"}', "its schema is 'trtlint.report/1'"),
        ('{"schema": "trtlint.measure/1"}', "not a measurement (KeyError"),
        (MEASURED.replace('"type": "fp16"', '"type": "fp8"'), "type is 'fp8'"),
        (MEASURED.replace('"batches": 3', '"batches": 1e999'), "not JSON (Number out of range"),
        (MEASURED.replace("70000.0", "1" + "0" * 400), "Number out of range - at `$.sites[0].max_abs`"),
        ('{"schema": "' + "s" * 5_000 + '"}', "its schema is 'sss"),
        ('{"schema": "' + r"\n" * 5_000 + '"}', r"its schema is '\n\n"),
    ],
    ids=["cut", "list", "report", "empty", "type", "infinite", "large", "long", "lines"],
)
def test_what_is_no_measurement_is_refused(
    content: str, said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("ranges.json").write_text(content, encoding="ascii")
    assert run(["norm.onnx", "--ranges", "ranges.json"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("trtlint: ranges.json: ")
    assert said in err
    assert len(err) < 1_200


@pytest.mark.skipif(os.name == "nt", reason="such files are POSIX's")
def test_a_pipe_is_no_measurement_and_not_waited_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo("ranges.json")
    assert run(["norm.onnx", "--ranges", "ranges.json"]) == 2
    assert "ranges.json: this is a pipe, not a regular file" in capsys.readouterr().err
