"""Tests of redundant quantizers: dropped where this is exact, otherwise kept."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tests.fixes.fixing import computed, fixed, ops
from trtlint.cli import run
from trtlint.examples.models import model_of_text
from trtlint.fixes.rewrites._quantizers import StoredQuantizer
from trtlint.fixes.rewrites.drop_second_quantizer import _survive

HEAD = '< ir_version: 9, opset_import: ["" : 19] >'
TARGET = ("--rtx", "1.7", "--gpu", "L4", "--select", "QNT120", "--verify")
RNG = np.random.default_rng(5)


def pairs(second: str = "", first: str = "", kind: str = "float", zeros: str = "int8 z = {0}") -> str:
    """Return two quantizer pairs in a row, with optional changes of the scale ``s`` and zero point ``z``."""
    second, first = second or "s, z", first or "s, z"
    return f"""{HEAD} g ({kind}[2,4] x) => ({kind}[2,4] y)
    < {kind} s = {{0.1}}, {kind} t = {{0.13}}, {zeros} >
    {{
      q = QuantizeLinear (x, {first})  d = DequantizeLinear (q, {first})
      e = QuantizeLinear (d, {second})  y = DequantizeLinear (e, {second})
    }}"""


def model_of(text: str, folder: Path) -> onnx.ModelProto:
    """Return a model with 16-bit numbers. The parser of ONNX text reads them as bits."""
    path = folder / "source.onnx"
    model_of_text(text, path, checked=True)
    return onnx.load(path)


def bits(model: onnx.ModelProto | None, x: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> bytes:
    """Return the bits of the result."""
    assert model is not None
    onnx.checker.check_model(model, full_check=True)
    return computed(model, {"x": x})[0].tobytes()


@pytest.mark.parametrize("zeros", ["int8 z = {0}", "int8 z = {-7}", "uint8 z = {128}", "uint8 z = {3}"])
@pytest.mark.parametrize("kind", ["float", "float16"])
def test_a_second_pair_with_the_same_parameters_is_dropped(kind: str, zeros: str, tmp_path: Path) -> None:
    before, after = fixed(tmp_path, model_of(pairs(kind=kind, zeros=zeros), tmp_path), *TARGET)
    assert ops(after) == ["QuantizeLinear", "DequantizeLinear"]
    x = (RNG.normal(size=(2, 4)) * 20).astype(np.float32 if kind == "float" else np.float16)
    assert bits(before, x) == bits(after, x)


def test_a_scale_for_each_channel(tmp_path: Path) -> None:
    text = pairs(zeros="int8[4] z = {0, 1, 2, 3}").replace(
        "float s = {0.1}", "float[4] s = {0.1, 0.2, 0.3, 7}"
    )
    text = text.replace("QuantizeLinear (", "QuantizeLinear <axis = 1> (")
    text = text.replace("e = QuantizeLinear <axis = 1>", "e = QuantizeLinear <axis = -1>")
    before, after = fixed(tmp_path, text, *TARGET)
    assert ops(after) == ["QuantizeLinear", "DequantizeLinear"]
    x = (RNG.normal(size=(2, 4)) * 20).astype(np.float32)
    assert bits(before, x) == bits(after, x)


def test_stored_integers_and_three_pairs(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(f"""{HEAD} g (float[4] x) => (float[4] y)
    < float s = {{0.1}}, int8 z = {{3}} >
    {{
      d = DequantizeLinear (w, s, z)  e = QuantizeLinear (d, s, z)  f = DequantizeLinear (e, s, z)
      h = QuantizeLinear (f, s, z)  i = DequantizeLinear (h, s, z)  y = Mul (x, i)
    }}""")
    stored = np.array([-128, 127, 0, 5], np.int8)
    model.graph.initializer.append(numpy_helper.from_array(stored, "w"))
    before, after = fixed(tmp_path, model, *TARGET)
    assert ops(after) == ["DequantizeLinear", "Mul"]
    x = RNG.normal(size=4).astype(np.float32)
    assert bits(before, x) == bits(after, x)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            pairs(zeros="int8 z = {0}, int8 w = {2}", first="s, w"),
            "axes differ, so the tensor is rounded twice",
        ),
        (pairs().replace("=> (float[2,4] y)", "=> (float[2,4] y, int8[2,4] e)"), "is an output"),
        (pairs().replace("{0.1}", "{1e37}"), "with the same scale changes some numbers"),
        (pairs().replace("{0.1}", "{0}"), "with the same scale changes some numbers"),
    ],
)
def test_what_is_left(text: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, after = fixed(tmp_path, text, *TARGET)
    assert after is None
    assert why in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "scale", "zero", "whole"),
    [
        (np.float32, 0.1, 0, True),
        (np.float16, 0.1, 0, True),
        (np.float16, 300, 0, False),
        (ml_dtypes.bfloat16, 0.125, 0, True),
        (ml_dtypes.bfloat16, 0.1, 0, False),
    ],
)
def test_every_number_is_tried(kind: type[np.generic], scale: float, zero: int, whole: bool) -> None:
    """Each BF16 rounding can cost half a step of the 8-bit significand. Some FP16 numbers overflow."""
    read = StoredQuantizer(Mock(), Mock(), np.array(scale, kind), np.array(zero), None, 2)
    assert _survive(np.arange(256.0), read, np.dtype(kind)) is whole


def test_a_pair_of_another_scale_that_is_dropped_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The proof is independent of the rewrite's condition: numbers show a scale error of 30 %."""
    monkeypatch.setattr("trtlint.fixes.rewrites.drop_second_quantizer._unequal", lambda *_: "")
    text = pairs(zeros="int8 z = {0}, int8 w = {2}", first="s, w")
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    run(["fix", str(path), *TARGET, "--isolated"])
    assert "drop-second-quantizer: the proof failed" in capsys.readouterr().out
