"""Tests of masks beyond FP16 rewritten as a selection: empty rows, single keys, low scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from msgspec.structs import replace

from tests.fixes.fixing import Feeds, assert_same, fixed
from tests.fixes.proving import prove
from trtlint.cli import run
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.constant import Constant
from trtlint.fixes import proposer
from trtlint.fixes.patch import Bound, Patch
from trtlint.model.load import Model, load

HEAD = '< ir_version: 8, opset_import: ["" : 17] >'
INPUTS = "(float[B,H,S,4] q, float[B,H,4,K] k, bool[B,1,S,K] keep)"
STORED = "< float zero = {0}, float one = {1}, float low = {-3.4e38}, float less = {-1e9} >"
ADDED = "s = MatMul (q, k)  m = Where (keep, zero, low)  x = Add (s, m)  p = Softmax <axis = -1> (x)"
KEPT = "s = MatMul (q, k)  x = Where (keep, s, less)  p = Softmax <axis = -1> (x)"
DROPPED = "s = MatMul (q, k)  d = Not (keep)  x = Where (d, less, s)  p = Softmax <axis = -1> (x)"
MULTIPLIED = """s = MatMul (q, k)  f = Cast <to = 1> (keep)  d = Sub (one, f)  m = Mul (d, low)
  x = Add (m, s)  p = Softmax <axis = -1> (x)"""
NESTED = """s = MatMul (q, k)  n = Where (keep, zero, low)  d = Not (keep)  m = Where (d, low, n)
  x = Add (s, m)  p = Softmax <axis = 3> (x)"""
TWO_LAYERS = (
    f"""{ADDED}  t = MatMul (p, p2)  u = MatMul (t, k)  z = Add (m, u)  r = Softmax <axis = -1> (z)"""
)
MODELS = {
    "added": ADDED,
    "selected": KEPT,
    "dropped": DROPPED,
    "multiplied": MULTIPLIED,
    "nested": NESTED,
}


def text(body: str, inputs: str = INPUTS, out: str = "float[B,H,S,K] p") -> str:
    """Return a model with a mask."""
    return f"{HEAD} g {inputs} => ({out}) {STORED} {{ {body} }}"


def masked(keys: int, scale: float) -> Feeds:
    """Return inputs with five queries: one without a key, one with a single key, one with all keys."""
    rng = np.random.default_rng(7)
    keep = rng.integers(0, 2, (2, 1, 5, keys)).astype(bool)
    keep[:, :, 0] = False
    keep[:, :, 1] = False
    keep[:, :, 1, -1:] = True
    keep[:, :, 2] = True
    query, key = rng.normal(size=(2, 3, 5, 4)), np.abs(rng.normal(size=(2, 3, 4, keys)))
    query = -np.abs(query) * scale if scale > 1 else query
    return {"q": query.astype(np.float32), "k": key.astype(np.float32), "keep": keep}


def patch_of(model: Model, rewrite: str) -> Patch:
    """Return the proposed rewrite for the constant beyond FP16."""
    found = [fact for fact in Facts(model).of("constant") if isinstance(fact, Constant)]
    (fact,) = (fact for fact in found if fact.softmax is not None and (fact.values.low or 0) < -65504)
    patch = proposer(rewrite)(fact, model)
    assert isinstance(patch, Patch), patch
    return patch


@pytest.mark.parametrize("keys", [6, 1, 0])
@pytest.mark.parametrize("scale", [1.0, 1e5])
@pytest.mark.parametrize("name", MODELS)
def test_results_stay(name: str, scale: float, keys: int, tmp_path: Path) -> None:
    before, after = fixed(tmp_path, text(MODELS[name]), "--trt", "10.7", "--fp16")
    assert_same(before, after, masked(keys, scale))


def test_the_scores_that_are_an_output_stay(tmp_path: Path) -> None:
    both = "float[B,H,S,K] p, float[B,H,S,K] x"
    before, after = fixed(tmp_path, text(KEPT, out=both), "--trt", "10.7", "--fp16")
    assert_same(before, after, masked(1, 1.0))


def test_one_mask_of_several_layers_is_proven_layer_by_layer(tmp_path: Path) -> None:
    inputs = INPUTS.replace("bool", "float[B,H,K,4] p2, bool")
    source = text(TWO_LAYERS, inputs, "float[B,H,S,K] r")
    before, after = fixed(tmp_path, source, "--trt", "10.7", "--fp16", "--verify")
    feeds = masked(6, 1.0) | {"p2": np.ones((2, 3, 6, 4), np.float32)}
    assert_same(before, after, feeds)
    assert after is not None
    assert sum(node.op_type == "ReduceMax" for node in after.graph.node) == 1
    model = load(tmp_path / "model.onnx")
    patch = patch_of(model, "select-mask")
    assert [prove(model, part).equal for part in patch.parts] == [True] * len(patch.parts)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (
            ADDED.replace("low)", "less)"),
            "in a fully masked row, scores can still differ after -1e+09 is added to them, "
            "but the rewrite makes them equal",
        ),
        (
            ADDED.replace("x = Add (s, m)", "y = Where (keep, s, less)  x = Add (y, m)"),
            "the scores are masked more than once",
        ),
        (ADDED.replace("Softmax", "LogSoftmax"), "LogSoftmax reads the masked scores"),
        (
            KEPT.replace("s = MatMul (q, k)", "t = MatMul (q, k)  s = Add (t, bias)"),
            "the scores depend on the input bias, which may contain -inf from a mask",
        ),
        (ADDED.replace("x = Add", "n = Neg (m)  x = Sub").replace("(s, m)", "(s, n)"), "Neg is between"),
    ],
)
def test_what_would_differ_is_refused(
    body: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = INPUTS.replace(") ", ")").replace("keep)", "keep, float[B,1,S,K] bias)")
    _, after = fixed(tmp_path, text(body, inputs), "--trt", "10.7", "--fp16")
    assert after is None
    assert f"select-mask: {why}" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["added", "selected"])
def test_a_clamped_constant_is_caught_by_the_proof(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(text(MODELS[name])), path)
    model = load(path)
    patch = replace(patch_of(model, "clamp-mask"), keeps_a_key=False)
    patch = replace(patch, finite=("s",))  # -inf among the scores is not what catches it
    assert prove(model, patch).equal is False
    assert prove(model, patch_of(model, "select-mask")).equal is True


def test_clamping_is_a_choice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = text("x = Where (keep, q, less)  p = Softmax (x)", "(float[B,1,S,K] q, bool[B,1,S,K] keep)")
    options = ("--trt", "10.7", "--fp16")
    assert fixed(tmp_path, source, *options)[1] is None
    assert (
        "clamp-mask: this rewrite intentionally changes results; --unsafe applies such rewrites"
        in capsys.readouterr().out
    )
    assert fixed(tmp_path, source, *options, "--unsafe")[1] is not None


@pytest.mark.slow
def test_left_padding_of_an_exported_decoder(shared: Path, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    source, out = shared / "data/exported/llama_eager__ts__op17__fp32.onnx", tmp_path / "fixed.onnx"
    run(["fix", str(source), "--isolated", "--trt", "10.7", "--fp16", "-o", str(out)])
    keep = np.array([[0, 0, 1, 1, 1, 1]] * 2, np.int64)
    feeds = {"in0": np.arange(12, dtype=np.int64).reshape(2, 6), "in1": keep}
    before, after = (runtime.InferenceSession(str(path)).run(None, feeds)[0] for path in (source, out))
    np.testing.assert_allclose(after, before, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "low", "high", "words"),
    [
        ("selected", -5e8, np.inf, "scores above -5e+08"),
        ("added", -1e13, 1e13, "scores of at most 1e+13 in magnitude"),
    ],
)
def test_the_proof_names_its_bound(name: str, low: float, high: float, words: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(text(MODELS[name])), path)
    model = load(path)
    patch = patch_of(model, "select-mask")
    proof = prove(model, patch)
    assert proof.equal is True
    assert proof.words.endswith(f" in FP64, for {words}")
    assert proof.bounds == (Bound("s", low, high),)
    assert proof.document["bounds"] == [{"tensor": "s", "low": low, "high": None if high > 1e30 else high}]
    wider = replace(patch, bounds=(Bound("s", -3e38, high),))
    assert prove(model, wider).equal is False  # numbers up to the bound are computed


@pytest.mark.parametrize(("factor", "kept"), [("float[B,1,S,K] soft", False), ("int64[B,1,S,K] soft", True)])
def test_a_mask_multiplied_with_fractions_is_refused(
    factor: str, kept: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = """s = MatMul (q, k)  f = Cast <to = 1> (soft)  m = Mul (f, low)
      x = Add (m, s)  p = Softmax <axis = -1> (x)"""
    inputs = INPUTS.replace("bool[B,1,S,K] keep", factor)
    before, after = fixed(tmp_path, text(body, inputs), "--trt", "10.7", "--fp16")
    if not kept:
        assert after is None
        assert "select-mask: the mask is multiplied by f, which may contain small" in capsys.readouterr().out
        return
    feeds = masked(6, 1.0)
    assert_same(before, after, {**feeds, "soft": 1 - feeds.pop("keep").astype(np.int64)})


def test_a_clamped_constant_names_what_it_takes_for_granted(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(text(ADDED)), path)
    model = load(path)
    words = prove(model, patch_of(model, "clamp-mask")).words
    assert words.endswith(", for rows with at least one allowed key, and scores far above -60000")
