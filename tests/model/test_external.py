"""Tests of errors for external data that NVIDIA's parser cannot read."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto

from trtlint.cli import run
from trtlint.model.external import misplaced, place_of, unreadable_values
from trtlint.model.tensors import LEFT

SIZE = 64


def linted(folder: Path, capsys: pytest.CaptureFixture[str], **entries: str) -> tuple[int, str]:
    """Return the exit code and the report of a model with these external data entries."""
    (folder / "w.bin").write_bytes(bytes(SIZE))
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[2,4] x) => (float[2,4] y) { y = MatMul (x, w) }'
    model = onnx.parser.parse_model(text)
    tensor = model.graph.initializer.add(name="w", data_type=1, dims=[4, 4])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    code = run(["lint", str(folder / "model.onnx"), "--trt", "10.8", "--no-cache", "--isolated"])
    return code, capsys.readouterr().out


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        (
            {"location": "w.bin", "offset": "32", "length": "64"},
            "exceeds the external data file: w.bin has 64 bytes",
        ),
        (
            {"location": "w.bin", "offset": "4096", "length": "64"},
            "exceeds the external data file: w.bin has 64 bytes",
        ),
        ({"location": "w.bin", "length": "4096"}, "exceeds the external data file: w.bin has 64 bytes"),
        ({"location": "w.bin", "length": "32"}, "exceeds the external data file: w.bin has 64 bytes"),
        ({"location": "w.bin", "offset": "-4"}, "begins at a negative offset"),
        ({"location": ""}, "names no file"),
        ({"offset": "0"}, "names no file"),
        ({"location": "/w.bin"}, "is at an absolute path"),
        ({"location": "../w.bin"}, "is outside the model's folder"),
        ({"location": "sub/../../w.bin"}, "is outside the model's folder"),
    ],
)
def test_misplaced_external_data_are_an_error(
    entries: dict[str, str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = linted(tmp_path, capsys, **entries)
    assert code == 1
    assert f"the external data of w {why}; the parse fails" in " ".join(said.split())


@pytest.mark.parametrize(
    "entries",
    [
        {"location": "w.bin", "offset": "0", "length": "64"},
        {"location": "w.bin"},
        {"location": "./w.bin"},
        {"location": "sub/../w.bin"},
    ],
)
def test_external_data_that_the_parser_reads_are_none(
    entries: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = linted(tmp_path, capsys, **entries)
    assert code == 0
    assert "BLD206" not in said


@pytest.mark.parametrize("damage", ["missing", "short"])
def test_no_release_is_named_for_missing_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    entries = {"location": "gone.bin"} if damage == "missing" else {"location": "w.bin", "length": "10000"}
    _, said = linted(tmp_path, capsys, **entries)
    assert "error[BLD206]" in said
    assert "accepts this part" not in said


def tensor(**entries: str) -> onnx.TensorProto:
    listed = [onnx.StringStringEntryProto(key=key, value=value) for key, value in entries.items()]
    return onnx.TensorProto(external_data=listed)


@pytest.mark.parametrize(
    ("entries", "place"),
    [
        ({"location": "w"}, ("w", 0, None)),
        ({"location": "w", "offset": "0", "length": "0"}, ("w", 0, 0)),
        ({"location": "w", "offset": "", "length": ""}, ("w", 0, None)),
        ({"location": "w", "offset": "7", "length": "9", "checksum": "x"}, ("w", 7, 9)),
        ({"location": "w", "offset": "-1"}, None),
        ({"location": "w", "length": "-1"}, None),
        ({"location": "w", "offset": "1.5"}, None),
        ({"location": "w", "length": "x"}, None),
        ({"location": ""}, None),
        ({"offset": "1"}, None),
        ({}, None),
    ],
)
def test_the_place_of_external_data(
    entries: dict[str, str], place: tuple[str, int, int | None] | None
) -> None:
    assert place_of(tensor(**entries)) == place


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ({"location": "w"}, ""),
        ({"location": "a/../w", "offset": "-"}, ""),
        ({"location": "..w", "offset": "-x"}, ""),
        ({"location": "w", "offset": "-0"}, "begins at a negative offset"),
        ({"location": "w", "offset": "12"}, ""),
        ({"location": ".."}, "is outside the model's folder"),
        ({"location": "a/../../w"}, "is outside the model's folder"),
        ({"location": "/a"}, "is at an absolute path"),
        ({}, "names no file"),
    ],
)
def test_why_the_parser_does_not_find_external_data(entries: dict[str, str], why: str) -> None:
    assert misplaced(tensor(**entries)) == why


@pytest.mark.parametrize(
    ("location", "named"),
    [("w.data", " file 'w.data'"), (LEFT, ""), (None, "")],
    ids=["file", "left", "none"],
)
def test_values_that_cannot_be_read(location: str | None, named: str) -> None:
    tensor = TensorProto(name="w")
    if location is not None:
        tensor.external_data.add(key="location", value=location)
    message = "the values of tensor 'w' cannot be read: check the external data"
    assert unreadable_values(tensor) == message + named
