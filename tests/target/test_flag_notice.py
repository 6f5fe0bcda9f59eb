"""Tests of notices about precision flags that a release lacks."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from trtlint.cli import run
from trtlint.target.flags import Flag
from trtlint.target.target import Target

NOTE = "TensorRT 11.0 and newer takes the types from the model and ignores the flags --fp16"


def test_flags_of_releases() -> None:
    asked: frozenset[Flag] = frozenset({"fp16"})
    assert Target(version="11.4", asked=asked).flag_notice == NOTE
    assert Target(version="10.7", asked=asked).flag_notice is None
    assert Target(asked=asked).flag_notice is None
    assert Target(version="11.4").flag_notice is None
    assert Target(version="11.4", refused=asked).flag_notice is None
    notice = Target(product="tensorrt-rtx", version="1.4", asked=frozenset({"fp16", "best"})).flag_notice
    assert notice == "TensorRT-RTX takes the types from the model and ignores the flags --best, --fp16"


def test_a_note_is_printed_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) { y = Relu (x) }'
    onnx.save(onnx.parser.parse_model(text), "m.onnx")
    run(["m.onnx", "--isolated", "--trt", "10.16..11.4", "--fp16"])
    assert capsys.readouterr().out.count(NOTE) == 1
    run(["m.onnx", "--isolated", "--trt", "11.4", "--build", "trtexec --onnx=m.onnx --fp16"])
    out = capsys.readouterr().out
    assert "PORT106" in out
    assert NOTE not in out
