"""Models elsewhere, from the command line to the server: the same findings for a small part of the bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx
import pytest

import trtlint
from tests.rangeserver import serving
from tests.sparse import transformer
from trtlint.cli import run
from trtlint.model.errors import ModelError
from trtlint.remote.addresses import AddressError, parse
from trtlint.remote.model import RemoteModel

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
    with pytest.raises(AddressError):
        trtlint.lint("ftp://example.com/m.onnx")


def test_addresses_in_formats_for_machines(large: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(large.parent) as served:
        address = f"{served.url}/encoder.onnx"
        for name in ("sarif", "gitlab", "junit", "rdjson", "github", "markdown", "concise"):
            assert run([address, *OPTIONS[:-1], name]) in (0, 1)
            assert address in capsys.readouterr().out, name
