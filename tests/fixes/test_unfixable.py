"""Tests of the reasons why findings have no rewrite."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from tests.fixes.fixing import fixed
from trtlint.examples.models import model_of_text

HEAD = '< ir_version: 10, opset_import: ["" : 17, "ai.onnx.ml" : 3, "house" : 1] > g '
CASES = {
    "an operator of nobody's": (
        "(float[2] x) => (float[2] y) { y = house.Fold (x) }",
        "ONNX does not define this operator, and the file does not describe its computation",
    ),
    "trees": (
        """(float[2,2] x) => (float[2,1] y) { y = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 1,
            nodes_modes = ["LEAF"], nodes_nodeids = [0], nodes_treeids = [0], nodes_featureids = [0],
            nodes_falsenodeids = [0], nodes_truenodeids = [0], nodes_values = [0.0], target_ids = [0],
            target_nodeids = [0], target_treeids = [0], target_weights = [1.0]> (x) }""",
        "each row takes a different path through the trees, and no operator of TensorRT computes this",
    ),
    "chance": (
        "(float[2] x) => (float[2] y) { y = Bernoulli (x) }",
        "the results of the operator are random, and no equivalent operator exists",
    ),
    "a wrong file": (
        "(float[2,3] x, float[3,3] z) => (float[A,B] y) { y = Concat <axis = 1> (x, z) }",
        "the file is invalid, and other runtimes reject it too; export the model again",
    ),
    "a value from around a loop": (
        """(float[2] x, bool c) => (float[2] y) < int64 n = {3}, bool t = {1} > { y = If (c) <
            then_branch = a () => (float[2] p) { p = Loop (n, t, x) <
              body = b (int64 i, bool go, float[2] v) => (bool again, float[2] w) {
                again = Identity (go)
                w = If (c) <then_branch = d () => (float[2] q) { q = Neg (v) },
                            else_branch = e () => (float[2] r) { r = Abs (v) }> }> },
            else_branch = f () => (float[2] s) { s = Relu (x) }> }""",
        "the outer Loop would have to carry the value that the inner operator reads, "
        "and trtlint has no rewrite for this",
    ),
}


@pytest.mark.parametrize(("text", "why"), CASES.values(), ids=CASES)
def test_a_cause_is_named(text: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "source.onnx"
    model_of_text(HEAD + text, path, checked=False)
    assert fixed(tmp_path, onnx.load(path))[1] is None
    assert why in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            """(float[1,1,4,4] x, float[1,2,2,2] i) => (float[1,1,2,2] y) {
                y = GridSample <mode = "cubic"> (x, i) }""",
            "no other operator can replace cubic sampling; export with opset 16 to 19",
        ),
        (
            """(float[1,16,1] x) => (float[A,B,C,D] y)
            <int64 s = {4}, int64 f = {8}, float[4] w = {1, 1, 1, 1}> { y = STFT (x, s, w, f) }""",
            "ONNX Runtime rejects such a window, so the results of a rewrite cannot be compared",
        ),
    ],
    ids=["cubic", "window"],
)
def test_a_difference_without_a_rewrite_says_why(
    text: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "source.onnx"
    model_of_text(HEAD.replace('"" : 17', '"" : 20') + text, path, checked=False)
    assert fixed(tmp_path, onnx.load(path), "--trt", "10.7")[1] is None
    assert why in capsys.readouterr().out
