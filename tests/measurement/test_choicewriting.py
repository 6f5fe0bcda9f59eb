"""Tests of simulations that set the choice of TopK and NonMaxSuppression."""

# ruff: noqa: E501 - a graph in one line is read at once

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from trtlint.measurement.choosing import input_of
from trtlint.measurement.formats import FP16
from trtlint.measurement.narrowing import Narrowing
from trtlint.measurement.rewriting import rewrite
from trtlint.measurement.trial import Trial
from trtlint.measurement.trialmodel import load_trial_model

pytest.importorskip("onnxruntime")

HEAD = '< ir_version: 8, opset_import: ["" : 17] > g '
STORED = "< int64[1] k = {3}, int64[1] one = {1}, int64[1] none = {0}, float wide = {40000}, float[1] half = {0.5}, float zero = {0} >"
CLOSE = 0.5 + np.arange(-4, 4, dtype=np.float32) * 1e-5
"""Numbers that are equal in FP16."""
SMALL = np.arange(1, 9, dtype=np.float32)


def trial_of(folder: Path, body: str, outputs: str, by_reference: bool, **feeds: Any) -> Trial:
    inputs = ", ".join(f"float[{','.join(map(str, each.shape))}] {name}" for name, each in feeds.items())
    text = f"{HEAD} ({inputs}) => ({outputs}) {STORED} {{ {body} }}"
    onnx.save(onnx.parser.parse_model(text), folder / "m.onnx")
    return Trial(load_trial_model(folder / "m.onnx"), [feeds], by_reference=by_reference)


TOP = "[top] v, i = TopK {} y = Gather (x, i)"
FILTER = "m = Greater (x, half) nz = NonZero (m) p = Squeeze (nz) q = Gather (x, p)"


@pytest.mark.parametrize("by_reference", [False, True])
@pytest.mark.parametrize(
    ("body", "x", "right"),
    [
        (TOP.format("(x, k)"), CLOSE, True),
        (TOP.format("<largest = 0, sorted = 0, axis = 0> (x, k)"), CLOSE, True),
        (TOP.format("(x, none)"), CLOSE, True),
        (f"t = Mul (x, wide) {TOP.format('(t, k)')}", SMALL, False),  # infinity
        (f"t = Mul (x, wide) u = Neg (t) {TOP.format('<largest = 0> (u, k)')}", SMALL, False),
        (f"t = Mul (x, wide) u = Mul (t, zero) w = Add (u, x) {TOP.format('(w, k)')}", SMALL, False),  # NaN
        (f"{FILTER} n = Shape (q) {TOP.format('(q, n)')}", CLOSE, False),  # FP16 filters other elements
        (f"t = Mul (x, wide) c = Cast <to = 7> (t) {TOP.format('(c, k)')}", SMALL / 8, True),  # integers
    ],
)  # fmt: skip
def test_top_k_uses_the_choice_of_fp32_if_it_can(
    body: str, x: np.ndarray[Any, Any], right: bool, by_reference: bool, tmp_path: Path
) -> None:
    found = trial_of(tmp_path, body, "float[n] y", by_reference, x=x)
    error = found.rehearse(Narrowing(FP16)).errors["y"]
    assert (error is not None and error < 0.001) is right


BOXES = """f = Constant <value_float = %s> () s = Mul (c, f)
[nms] i = NonMaxSuppression (b, s, k, half, half) y = Gather <axis = 1> (b, i)"""


@pytest.mark.parametrize("by_reference", [False, True])
@pytest.mark.parametrize(
    ("scores", "factor", "right"), [(CLOSE, 1.0, True), (CLOSE, 0.5, True), (SMALL, 40000.0, False)]
)
def test_boxes_of_fp32(
    scores: np.ndarray[Any, Any], factor: float, right: bool, by_reference: bool, tmp_path: Path
) -> None:
    boxes = np.arange(8, dtype=np.float32)[None, :, None] + np.array([0, 0, 0.9, 0.9], np.float32)
    found = trial_of(
        tmp_path, BOXES % factor, "float[1,n,3,4] y", by_reference, b=boxes, c=scores[None, None]
    )
    error = found.rehearse(Narrowing(FP16)).errors["y"]
    assert (error is not None and error < 0.001) is right


def test_inputs_of_non_max_suppression_are_not_rounded(tmp_path: Path) -> None:
    """ONNX has only FP32 inputs: https://onnx.ai/onnx/operators/onnx__NonMaxSuppression.html."""
    text = f"""{HEAD} (float[1,6,4] b, float[1,1,6] c, float t) => (float[1,n,3,4] y) {STORED}
{{ [nms] i = NonMaxSuppression (b, c, k, t, half) y = Gather <axis = 1> (b, i) }}"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    found = rewrite(load_trial_model(tmp_path / "m.onnx"), Narrowing(FP16), fixed=["i"])
    graph = onnx.ModelProto.FromString(found.data).graph
    (own,) = (node for node in graph.node if node.op_type == "NonMaxSuppression")
    assert list(own.input) == ["b", "c", "k", "t", "half"]
    assert input_of("i") in [each.name for each in graph.input]
