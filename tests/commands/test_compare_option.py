"""Tests of ``trtlint --compare``: output and exit codes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import numpy as np
import onnx
import pytest
from onnx import parser

from tests.dry_build.rtx import NEEDS_WHEELS, VERSION
from tests.schemas import load
from trtlint.cli import run

pytestmark = NEEDS_WHEELS
HEAD = '< ir_version: 8, opset_import: ["" : 17] > '
TRIANGLE = HEAD + "g (float[3,3] x) => (float[3,3] y) { [cut] y = Trilu(x) }"
PLAIN = HEAD + "g (float[3] x) => (float[3] y) { [first] y = Relu(x) }"
OPTIONS = ("--isolated", "--select", "DRY", "--rtx", ".".join(VERSION.split(".")[:2]) or "1.7")


def write(folder: Path, text: str) -> Path:
    """Write a model."""
    path = folder / "model.onnx"
    onnx.save(parser.parse_model(text), path)
    return path


def test_a_difference_is_an_error_at_its_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = write(tmp_path, TRIANGLE)
    assert run([str(model), "--dry-parse", "--compare", "--format", "concise", *OPTIONS]) == 1
    out = capsys.readouterr().out
    assert f"cut: error[DRY104] the network from the parser of TensorRT-RTX {VERSION} computes" in out
    assert "for y[" in out
    assert "but ONNX defines 0" in out
    assert "1 tensor differs; compared 1 of 1 tensors by name (1 set of random inputs)" in out


def test_a_network_that_agrees_has_no_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([str(write(tmp_path, PLAIN)), "--compare", *OPTIONS]) == 0
    out = capsys.readouterr().out
    assert "DRY104" not in out
    assert f"comparison with ONNX, TensorRT-RTX {VERSION}: no tensor differs; compared 1 of 1" in out


def test_json_has_both_values_and_follows_its_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([str(write(tmp_path, TRIANGLE)), "--compare", "--format", "json", *OPTIONS]) == 1
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, load(document["schema"]))
    found = document["models"][0]["dry_build"]["comparison"]
    (first,) = found["differences"]
    assert (found["release"], found["outcome"], found["share"]) == (VERSION, "differs", 1.0)
    assert (first["op"], first["node"], first["tensor"]) == ("Trilu", "cut", "y")
    assert first["worst"] > 0
    assert first["got"] != first["expected"]


def test_the_page_shows_the_difference(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run([str(write(tmp_path, TRIANGLE)), "--compare", "--output", f"html:{page}", *OPTIONS]) == 1
    text = page.read_text(encoding="utf-8")
    assert "DRY104" in text
    assert "1 tensor differs; compared 1 of 1 tensors by name" in text


def test_inputs_of_the_user_are_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "zeros.npz", x=np.zeros((3, 3), np.float32))
    model = str(write(tmp_path, TRIANGLE))
    assert run([model, f"--compare={tmp_path / 'zeros.npz'}", *OPTIONS]) == 0
    assert "(1 set of inputs)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--compare=missing.npz",), "--compare: missing.npz: No such file or directory"),
        (("--compare=damaged.npz",), "--compare: damaged.npz: not an .npz file of arrays"),
        (("--compare=probe", "--compare=damaged.npz"), "omit one of the two"),
        (("--compare", "--no-dry-build"), "--no-dry-build cannot be used with --compare"),
    ],
)
def test_options_that_cannot_be_used_are_refused(
    options: tuple[str, ...],
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("damaged.npz").write_bytes(b"PK\x03\x04 and no end")
    assert run([str(write(tmp_path, PLAIN)), *options]) == 2
    assert said in capsys.readouterr().err


def test_a_fix_compares_the_networks_of_both_models(tmp_path: Path) -> None:
    from trtlint.fixes.verification import network
    from trtlint.measurement.inputs import Inputs

    good, bad = tmp_path / "good", tmp_path / "bad"
    good.mkdir(), bad.mkdir()
    before, after = write(good, PLAIN), write(bad, TRIANGLE)
    worse = network(before, after, Inputs())
    better = network(after, before, Inputs())
    assert worse is not None
    assert better is not None
    assert (worse.check, worse.good, better.good) == ("network", False, True)
    assert "1 of 1 compared tensors differ from ONNX (the first is y); 0 before" in worse.words


def test_external_data_that_are_no_file_are_not_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proto = onnx.parser.parse_model(
        '< ir_version: 8, opset_import: ["" : 17] > g (float[2] x) => (float[2] y) { y = Add (x, w) }'
    )
    tensor = proto.graph.initializer.add(name="w", data_type=onnx.TensorProto.FLOAT, dims=[2])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="pipe")
    os.mkfifo(tmp_path / "pipe")
    onnx.save(proto, tmp_path / "model.onnx")
    run([str(tmp_path / "model.onnx"), "--compare", *OPTIONS])
    assert "the external data pipe of the model cannot be read" in capsys.readouterr().out


def test_the_finding_names_the_release_that_was_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(write(tmp_path, TRIANGLE))
    for options in (OPTIONS, ("--isolated", "--select", "DRY", "--trt", "10.10")):
        assert run([model, "--compare", "--format", "json", *options]) == 1
        (found,) = json.loads(capsys.readouterr().out)["models"][0]["findings"]
        assert found["applies"] == f"TensorRT-RTX {VERSION}, the only release that was compared"


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"z": np.ones((3, 3), np.float32)}, "no input 'x'; the file has arrays that are not inputs: 'z'"),
        ({"x": np.array([{}, 3], dtype=object)}, "array 'x' holds Python objects"),
        ({"x": np.ones((2, 3), np.float32)}, "input 'x'"),
    ],
    ids=["wrong name", "objects", "wrong shape"],
)
def test_inputs_that_do_not_fit_end_with_an_error(
    arrays: dict[str, np.ndarray], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "batch.npz"
    np.savez(file, **arrays)  # type: ignore[arg-type, unused-ignore]
    assert run([str(write(tmp_path, PLAIN.replace("float[3]", "float[3,3]"))), f"--compare={file}"]) == 2
    lines = [line for line in capsys.readouterr().out.splitlines() if "error: " in line]
    assert len(lines) == 1
    assert f"{file}: {said}" in lines[0]


@pytest.mark.parametrize(
    ("value", "code", "said"),
    [
        ("true", 1, "1 set of random inputs"),
        ("false", 0, ""),
        ('"probe"', 1, "sets of probing inputs"),
        ('"zeros.npz"', 0, "1 set of inputs"),
        ('["zeros.npz", "more"]', 1, "2 sets of inputs"),
    ],
)
def test_the_configuration_can_ask_for_it(
    value: str,
    code: int,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    elsewhere, more = tmp_path / "elsewhere", tmp_path / "more"
    elsewhere.mkdir(), more.mkdir()
    np.savez(tmp_path / "zeros.npz", x=np.zeros((3, 3), np.float32))
    np.savez(more / "ones.npz", x=np.ones((3, 3), np.float32))
    configuration = tmp_path / "trtlint.toml"
    configuration.write_text(f"compare = {value}\n", encoding="utf-8")
    model = write(tmp_path, TRIANGLE)
    monkeypatch.chdir(elsewhere)  # files are looked for beside the configuration
    assert run([str(model), "--config", str(configuration), *OPTIONS[1:]]) == code
    out = capsys.readouterr().out
    assert said in out
    assert ("comparison with ONNX" in out) == bool(said)


def test_a_file_that_the_configuration_names_must_be_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configuration = tmp_path / "trtlint.toml"
    configuration.write_text("compare = 'none.npz'\n", encoding="utf-8")
    assert run([str(write(tmp_path, PLAIN)), "--config", str(configuration)]) == 2
    err = capsys.readouterr().err
    assert "trtlint.toml: compare: " in err
    assert "none.npz: No such file or directory" in err
