"""Tests of the elements of integer outputs that a conversion changes."""

# ruff: noqa: E501 - a case in one line is read at once

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from msgspec.structs import replace

from tests.conversion.models import saved
from trtlint.conversion.changes import _changed, changed_shares
from trtlint.conversion.result import ConversionCheck
from trtlint.conversion.run import run
from trtlint.conversion.session import ConversionRequest
from trtlint.measurement.formats import FP16
from trtlint.measurement.inputs import Inputs
from trtlint.measurement.narrowing import Narrowing
from trtlint.measurement.rewriting import rewrite
from trtlint.measurement.trial import Trial
from trtlint.measurement.trialmodel import load_trial_model

pytest.importorskip("onnxruntime")

HEAD = '< ir_version: 8, opset_import: ["" : 17] > g (float[4,8] x) => '
STORED = "< float half = {0.5}, float wide = {1000000}, int64[1] two = {2} >"
ARGMAX = f"{HEAD} (int64[4] y) {STORED} {{ a = MatMul(x, w) [am] y = ArgMax <axis = 1, keepdims = 0> (a) }}"
TOPK = f"{HEAD} (int64[4,2] y) {STORED} {{ a = MatMul(x, w) [top] v, y = TopK(a, two) }}"
WIDE = (
    f"{HEAD} (int64[4,1] y) {STORED} {{ a = MatMul(x, w) b = Mul(a, wide) [am] y = ArgMax <axis = 1> (b) }}"
)
INPUT = f"{HEAD} (bool[4,8] y) {STORED} {{ a = MatMul(x, w) [more] y = Greater(a, x) }}"
FLOOR = f"{HEAD} (int64[4,8] y) {STORED} {{ a = MatMul(x, w) b = Mul(a, wide) y = Cast <to = 7> (b) }}"
SHAPE = f"{HEAD} (int64[2] y) {STORED} {{ a = MatMul(x, w) y = Shape(a) }}"
INFINITE = f"{HEAD} (bool[4,8] y) {STORED} {{ a = MatMul(x, w) b = Log(a) y = Greater(a, b) }}"
TWO = f"""{HEAD} (int64[4] y, bool[4,8] z) {STORED}
{{ a = MatMul(x, w) z = Less(a, half) [am] y = ArgMax <axis = 1, keepdims = 0> (a) }}"""
NMS = """< ir_version: 8, opset_import: ["" : 17] > g (float[1,16,8] x) => (int64[n,3] y)
< int64 most = {5}, float iou = {0.5}, float low = {0.1}, int64[2] parts = {4, 4} >
{ a = MatMul(x, w) p = Sigmoid(a) b, s = Split <axis = 2> (p, parts) t = Transpose <perm = [0, 2, 1]> (s)
  [nms] y = NonMaxSuppression(b, t, most, iou, low) }"""


def rehearsal(folder: Path, text: str, shape: tuple[int, ...] = (4, 8), **settings: float) -> ConversionCheck:
    path = saved(text, folder / "m.onnx")
    np.savez(folder / "x.npz", x=np.random.default_rng(3).standard_normal(shape).astype(np.float32))
    request = ConversionRequest(path, inputs=Inputs((str(folder / "x.npz"),)), **settings)  # type: ignore[arg-type]
    found, _ = run(request, folder / "out.onnx")
    (check,) = (proof for proof in found.proofs if proof.name == "rehearsal")
    return check


@pytest.mark.parametrize(
    ("text", "shape", "errors", "reason"),
    [
        (ARGMAX, (4, 8), ["a"], "the tensor a, from which ArgMax (am) computes y"),
        (TOPK, (4, 8), ["a"], "the tensor a, from which TopK (top) computes y"),
        (NMS, (1, 16, 8), ["b", "t"], "the tensors b and t, from which NonMaxSuppression (nms) computes y"),
        (WIDE, (4, 8), ["b"], "the tensor b, from which ArgMax (am) computes y"),
    ],
)
def test_the_tensors_before_integer_outputs_prove_a_conversion(
    tmp_path: Path, text: str, shape: tuple[int, ...], errors: list[str], reason: str
) -> None:
    found = rehearsal(tmp_path, text, shape)
    assert found.verdict == "proven"
    assert found.text.startswith("the largest error of any compared tensor is 0.000")
    assert found.text.endswith(f"; y has an integer type, so trtlint compares {reason}")
    assert sorted(found.figures["errors"]) == errors
    assert found.figures["changed"] == {"y": 0.0}


def test_tensors_that_do_not_decide_the_outputs_prove_nothing(tmp_path: Path) -> None:
    found = rehearsal(tmp_path, INPUT)
    assert found.verdict == "unproven"
    assert found.text.endswith("; the outputs also depend on values that trtlint does not compare")


def test_a_tensor_that_is_not_finite_in_fp32_proves_nothing(tmp_path: Path) -> None:
    found = rehearsal(tmp_path, INFINITE)
    assert found.verdict == "unproven"
    assert list(found.figures["errors"]) == ["a"]
    assert "; not compared, because FP32 gives infinity or NaN: b" in found.text


def test_tensors_that_are_not_finite_are_named_once(tmp_path: Path) -> None:
    text = INFINITE.replace("Greater(a, b)", "Greater(b, half)")
    found = rehearsal(tmp_path, text)
    assert found.verdict == "unproven"
    assert found.text == (
        "every compared tensor contains infinity or NaN in FP32; y has a boolean type, so trtlint compares "
        "the tensor b, from which Greater (Greater_2) computes y"
    )


def test_a_tensor_is_compared_in_the_type_in_which_it_is_read(tmp_path: Path) -> None:
    source = load_trial_model(saved(TWO, tmp_path / "m.onnx"))
    body = TWO[: TWO.index("z = Less")]
    argmax = "[am] y = ArgMax <axis = 1, keepdims = 0>"
    cast = f"{body} z = Less(a, half) a16 = Cast <to = 10> (a) {argmax} (a16) }}"
    swapped = f"{body} a16 = Cast <to = 10> (a) h = Cast <to = 10> (half) z = Less(a16, h) {argmax} (a) }}"
    for text, read in ((TWO, "a"), (cast, "a16"), (swapped, "a16")):
        model = replace(load_trial_model(saved(text, tmp_path / "n.onnx")), compared=source.compared)
        found = rewrite(model, Narrowing(FP16) if model.typed else None, probed=False)
        assert (found.outputs, found.fetched) == (("a",), {"a": read})


def test_outputs_that_change_are_counted(tmp_path: Path) -> None:
    found = rehearsal(tmp_path, FLOOR)
    assert found.verdict == "unproven"
    assert found.figures["errors"]["b"] < 0.01
    assert found.text.endswith("% of the elements of output y differ, which is more than the tolerance")


def test_a_shape_is_not_compared(tmp_path: Path) -> None:
    found = rehearsal(tmp_path, SHAPE)
    assert found.verdict == "unproven"
    assert found.text == "the model has no float output, and the rehearsal compares only float outputs"


def test_a_tolerance_below_the_rounding_of_the_tensor_fails_or_keeps_it(tmp_path: Path) -> None:
    found = rehearsal(tmp_path, ARGMAX, tolerance=1e-6)
    assert found.verdict == "proven"
    types = {node.op_type for node in onnx.load(tmp_path / "out.onnx").graph.node}
    assert types == {"MatMul", "ArgMax"}


def test_the_share_of_each_output(tmp_path: Path) -> None:
    trial = Trial(load_trial_model(saved(TWO, tmp_path / "m.onnx")), [{"x": np.ones((4, 8), np.float32)}] * 2)
    other = TWO.replace("{0.5}", "{-1000}")
    changed = rewrite(load_trial_model(saved(other, tmp_path / "n.onnx")), probed=False)
    share = np.count_nonzero(trial.ranged.outputs[0]["a"] < 0.5) / 32
    assert changed_shares(trial, changed) == {"y": 0.0, "z": share}


# FP16 rounds all scores to 1, so it chooses other labels, with almost the same scores.
CLOSE = "a = MatMul(x, w) b = Mul(a, small) p = Add(b, one)"
LABELS = """< ir_version: 8, opset_import: ["" : %d] > g (float[4,8] x) => (float%s p, int64%s y)
< float small = {0.00001}, float one = {1}, int64[1] k = {8} > { %s }"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (LABELS % (17, "[4,8]", "[4]", f"{CLOSE} y = ArgMax <axis = 1, keepdims = 0> (p)"), "% of the elements of output y differ, which is more than the tolerance"),
        (LABELS % (17, "[4,8]", "[4,8]", f"{CLOSE} v, y = TopK (p, k)"), "% at the same position"),
        (LABELS % (10, "[4,8]", "[4,8]", f"{CLOSE} v, y = TopK (p, k)"), "% of the elements of output y differ, which is more than the tolerance"),
    ],
)  # fmt: skip
def test_labels_beside_scores(text: str, reason: str, tmp_path: Path) -> None:
    found = rehearsal(tmp_path, text)
    assert found.verdict == "unproven"
    assert found.text.endswith(reason)
    assert found.figures["error"] < 0.001


@pytest.mark.parametrize(
    ("right", "found", "changed"),
    [([1, 2], [1, 2], 0), ([1, 2], [1, 3], 1), ([1, 2], [1, 2, 3], 3), ([[1], [2]], [1, 2], 2), ([], [], 0)],
)
def test_an_output_of_another_shape_changes_entirely(
    right: list[int], found: list[int], changed: int
) -> None:
    assert _changed(np.array(right), np.array(found)) == changed
