"""Tests of the fix page: blocks before and after, and escaped names."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from tests.conftest import REPOSITORY
from tests.report.test_html import Parsed, harmless
from trtlint.cli import run

VIT = REPOSITORY / "examples/vit.onnx"


def fixed(folder: Path, model: Path, *options: str) -> Parsed:
    """Return the page of a model that was fixed for TensorRT 10.7."""
    out, page = folder / "fixed.onnx", folder / "fixed.html"
    run(["fix", str(model), "-o", str(out), "--trt", "10.7", "--isolated", "--html", str(page), *options])
    text = page.read_text(encoding="utf-8")
    harmless(text)
    return Parsed(text)


def test_blocks_before_and_after(tmp_path: Path) -> None:
    parsed = fixed(tmp_path, VIT, "--select", "ACC102")
    assert {
        "Before",
        "After",
        "goes",
        "new",
        "moves the whole attention scale to Q",
    } <= set(parsed.texts)
    assert parsed.elements["svg"] == 2
    assert "1 → 0" in parsed.texts
    ids = parsed.values("id")
    assert len(ids) == len(set(ids))


def test_what_goes_with_a_norm_is_drawn(tmp_path: Path) -> None:
    parsed = fixed(tmp_path, REPOSITORY / "examples/nafnet.onnx")
    assert parsed.texts.count("goes") > 5
    assert "Proof: " not in "".join(parsed.texts)


def test_a_page_without_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parsed = fixed(tmp_path, VIT, "--dry-run")
    assert any("not written" in text for text in parsed.texts)
    assert not (tmp_path / "fixed.onnx").exists()


def test_names_of_strangers(tmp_path: Path) -> None:
    proto = onnx.load(VIT)
    for node in proto.graph.node:
        if node.op_type == "Mul":
            node.name = f"<img src=x onerror=alert(1)>{node.name}"
    onnx.save(proto, tmp_path / "<b>.onnx")
    parsed = fixed(tmp_path, tmp_path / "<b>.onnx")
    assert any("onerror" in text for text in parsed.texts)


def test_the_page_replaces_no_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "vit.onnx"
    copy.write_bytes(VIT.read_bytes())
    assert run(["fix", str(copy), "--trt", "10.7", "--isolated", "--html", str(copy)]) == 2
    assert "cannot write html to" in capsys.readouterr().err
    assert copy.read_bytes() == VIT.read_bytes()


def test_a_file_that_cannot_be_read_is_on_the_page(tmp_path: Path) -> None:
    (tmp_path / "broken.onnx").write_bytes(b"\x0a\xff")
    parsed = fixed(tmp_path, tmp_path / "broken.onnx")
    assert any("broken.onnx" in text for text in parsed.texts)
