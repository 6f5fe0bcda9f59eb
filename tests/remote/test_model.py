"""Tests of remote models on the command line: the same findings from a few of the bytes."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest

import trtlint
from tests.rangeserver import serving
from tests.sparse import transformer
from trtlint.cli import run
from trtlint.errors import SettingError
from trtlint.model.errors import ModelError
from trtlint.remote.addresses import parse
from trtlint.remote.file import RemoteError
from trtlint.remote.model import RemoteModel, RemoteTensors

pytest.importorskip("aiohttp")
pytest.importorskip("fsspec")

TARGET = trtlint.Target(version="10.7", asked=frozenset({"fp16"}))
OPTIONS = ("--trt", "10.7", "--fp16", "--isolated", "--format", "json")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "encoder.onnx"
    assert transformer(path) > 300_000_000
    return path


def models(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    assert run([*arguments, *OPTIONS]) == code
    return json.loads(capsys.readouterr().out)["models"]


def test_a_large_model_costs_two_hundredths_of_its_bytes_at_most(large: Path) -> None:
    with serving(large.parent) as served:
        (found,) = trtlint.lint(f"{served.url}/encoder.onnx", TARGET).models
    (local,) = trtlint.lint(large, TARGET).models
    assert "ACC101" in [finding.rule for finding in local.findings]
    assert found.findings == local.findings
    assert found.path == f"{served.url}/encoder.onnx"
    assert served.given <= 0.02 * large.stat().st_size
    assert served.requests < 100


@pytest.mark.slow
def test_real_models(exported: Path, tmp_path: Path) -> None:
    for path in sorted(exported.glob("*.onnx"))[::100]:
        with serving(path.parent) as served:
            (found,) = trtlint.lint(f"{served.url}/{path.name}", TARGET).models
        (local,) = trtlint.lint(path, TARGET).models
        assert (found.findings, found.errors) == (local.findings, local.errors)


@pytest.mark.slow
def test_what_was_found_is_kept_by_the_version(
    large: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(large.parent) as served:
        address = f"{served.url}/encoder.onnx"
        (first,) = models(capsys, address)
        requests = served.requests
        assert models(capsys, address) == [first]
        assert served.requests == requests + 1
        served.etag = '"2"'
        models(capsys, address)
        assert served.requests > requests + 10
        served.etag = ""
        requests = served.requests
        models(capsys, address)
        models(capsys, address)
        assert served.requests > requests + 20


def test_one_that_cannot_be_read_costs_no_other(
    large: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    here = tmp_path / "m.onnx"
    text = '< ir_version: 8, opset_import: ["" : 17] > g (float[1] x) => (float[1] y) { y = Abs(x) }'
    onnx.save(onnx.parser.parse_model(text), here)
    with serving(large.parent) as served:
        local, missing, found = models(
            capsys, f"{served.url}/missing.onnx", f"{served.url}/encoder.onnx", str(here), code=3
        )
    assert local["errors"] == found["errors"] == []
    assert missing["errors"][0]["message"] == "cannot be read: the server returned 404 Not Found"
    assert missing["path"].endswith("/missing.onnx")


@pytest.mark.parametrize("content", [b"", b"x", b"<!doctype html>", b"\x08\x08:\xff\xff\xff\xff\x7f"])
def test_what_is_no_model(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "m.onnx").write_bytes(content)
    with serving(tmp_path) as served, pytest.raises(ModelError):
        RemoteModel(parse(f"{served.url}/m.onnx")).read()


def test_files_that_a_model_names_are_not_asked_for(tmp_path: Path) -> None:
    tensor = onnx.TensorProto(name="w", data_type=1, dims=[64, 64], data_location=onnx.TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="http://127.0.0.1:1/w.bin")
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info("x", 1, [1, 64])],
        [onnx.helper.make_tensor_value_info("y", 1, [1, 64])],
        [tensor],
    )
    onnx.save(onnx.helper.make_model(graph), tmp_path / "m.onnx")
    with serving(tmp_path) as served:
        (report,) = trtlint.lint(f"{served.url}/m.onnx", TARGET).models
        assert served.requests == 2
    assert report.errors == ()
    assert any("of a remote model are not read" in note for note in report.notes)


def test_what_needs_the_model_here(large: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = "https://example.com/m.onnx"
    for arguments in (
        ["fix", address],
        [address, "--dry-parse"],
        ["upgrade", address, "--from", "10.0"],
        ["measure", address],
        ["facts", address],
        ["skeleton", address],
        ["suppress", address, "ACC101", "--reason", "r", "-o", "x.onnx"],
    ):
        assert run(arguments) == 2
        assert "is a remote model; download the file first" in capsys.readouterr().err


def test_addresses_that_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["http://example.com/m.onnx"]) == 2
    assert "use https://" in capsys.readouterr().err
    with pytest.raises(SettingError):
        trtlint.lint("ftp://example.com/m.onnx")


def test_addresses_in_formats_for_machines(large: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(large.parent) as served:
        address = f"{served.url}/encoder.onnx"
        for name in ("sarif", "gitlab", "junit", "rdjson", "github", "markdown", "concise"):
            assert run([address, *OPTIONS[:-1], name]) in (0, 1)
            assert address in capsys.readouterr().out, name


def tensors(size: int, data: Any = b"") -> RemoteTensors:
    """Return the tensors of a remote model of this size."""
    file: Any = SimpleNamespace(size=size, address=parse("https://a.example/m.onnx?secret=1"))
    return RemoteTensors(file, data)


class Bytes:
    """A file that repeats one message and counts the read bytes."""

    def __init__(self, *, fails: bool = False) -> None:
        self.read = 0
        self._fails = fails

    def __getitem__(self, key: slice) -> bytes:
        if self._fails:
            raise RemoteError("no such file")
        self.read += key.stop - key.start
        return onnx.numpy_helper.from_array(np.arange(3)).SerializeToString()


TOO_LARGE = "values of large tensors such as 'w' are not read from remote models"


@pytest.mark.parametrize(
    ("size", "limit"),
    [(1, 1 << 20), (100 << 20, 1 << 20), (200 << 20, 2 << 20), (1000, 1 << 20)],
)
def test_a_hundredth_of_a_file_is_read_for_values(size: int, limit: int) -> None:
    left = onnx.TensorProto(name="w", data_type=7, dims=[3])
    for lengths, notes in (([limit], []), ([limit - 1, 1], []), ([limit + 1], [TOO_LARGE])):
        data = Bytes()
        found = tensors(size, data)
        for length in lengths:
            array = found._left(left, 5, length)
            assert notes or (array is not None and array.tolist() == [0, 1, 2])
        assert (found.notes, data.read) == (notes, 0 if notes else limit)
        if not notes:
            assert found._left(left, 5, 1) is None
            assert found._left(left, 5, None) is not None
        assert found.notes == [TOO_LARGE]


def test_values_that_cannot_be_fetched() -> None:
    found = tensors(100, Bytes(fails=True))
    assert found._left(onnx.TensorProto(name="w"), 0, 10) is None
    assert found.notes == ["the values of 'w' are unknown: no such file"]


def test_tensors_of_remote_models_have_no_place_here() -> None:
    found = tensors(100)
    tensor = onnx.TensorProto(name="w", data_location=onnx.TensorProto.EXTERNAL)
    found.place(tensor)
    found.file_of("w.bin")
    assert found.notes == ["external data 'w.bin' of a remote model are not read: their values are unknown"]
    assert found.path == Path("https://a.example/m.onnx")


@pytest.mark.parametrize("ranges", [True, False])
def test_an_empty_file(tmp_path: Path, ranges: bool) -> None:
    """With range requests, a server refuses the first byte of an empty file."""
    (tmp_path / "m.onnx").touch()
    with serving(tmp_path, ranges=ranges) as served:
        (found,) = trtlint.lint(f"{served.url}/m.onnx", TARGET).models
    assert ["the file is empty" in problem.message for problem in found.errors] == [True]
