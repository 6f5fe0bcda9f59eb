"""Tests of engine layers as evidence for the findings of built-in rules."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.graphs import model_of
from trtlint.buildfiles.layers import layers_from_json
from trtlint.buildfiles.record import FileContents, together
from trtlint.engine.evaluate import evaluate
from trtlint.engine.evidence.build import BuildEvidence
from trtlint.engine.finding import Finding
from trtlint.engine.rulebook import Rulebook, load_builtin
from trtlint.facts.facts import Facts
from trtlint.model.load import load
from trtlint.target.target import Target

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
HEAD = '< ir_version: 8, opset_import: ["" : 17] >'
CONVOLUTION = f"""{HEAD}
g (float[1,8,16,16] x, float[8,8,3,3] w) => (float[1,8,14,14] y)
< float lo = {{-1.0}}, float hi = {{1.0}}, float[8,8,3,3] stored = {{{", ".join(["0.01"] * 576)}}} >
{{ [conv] c = Conv (x, WEIGHT) [clip] y = Clip (c, lo, hi) }}
"""
ATTENTION = f"""{HEAD}
g (float16[1,4,128,D] q, float16[1,4,D,128] k, float16[1,4,128,D] v) => (float16[1,4,128,D] y)
< float16 s = {{14336}} >
{{ BODY [softmax] p = Softmax (z) [pv] y = MatMul (p, v) }}
"""
BOTH = "[sq] qs = Mul (q, s) [sk] ks = Mul (k, s) [qk] z = MatMul (qs, ks)"
SCORES = "[qk] r = MatMul (q, k) [scale] z = Mul (r, s)"
MODELS = {
    "runtime": CONVOLUTION.replace("WEIGHT", "w"),
    "stored": CONVOLUTION.replace("WEIGHT", "stored"),
    "both": ATTENTION.replace("BODY", BOTH).replace("D", "64"),
    "scores": ATTENTION.replace("BODY", SCORES).replace("D", "64"),
    "large": ATTENTION.replace("BODY", SCORES).replace("D", "512"),
}
TF32 = "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x64x16"
FP32 = "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nhwckrsc_nhwc_tilesize128x64x8"
CONV = "CaskConvolution"


@cache
def book() -> Rulebook:
    return load_builtin()


def finding(rule: str, model: str, target: Target, **layer: object) -> Finding:
    """Return the finding of a rule if one engine layer computes the whole model."""
    loaded = load(EXAMPLES / f"{model}.onnx") if model == "nafnet" else model_of(MODELS[model])
    dtype = layer.pop("dtype", "Float")
    tensor = {"Name": "t", "Dimensions": [1], "Format/Datatype": dtype}
    entry = {"Name": " + ".join(node.path for node in loaded.graph.nodes), "Inputs": [tensor], **layer}
    info = layers_from_json({"Layers": [entry], "Bindings": []})
    facts = Facts(loaded, evidence=[BuildEvidence(together([FileContents("layers.json", info)]))])
    (found,) = evaluate([book().rule(rule)], facts, target).findings
    return found


@pytest.mark.parametrize(
    ("rule", "model", "layer", "standing"),
    [
        ("PERF101", "runtime", {"LayerType": CONV, "HasDynamicFilter": 1}, "confirmed"),
        ("PERF101", "runtime", {"LayerType": CONV, "HasDynamicFilter": 0}, "refuted"),
        ("PERF101", "runtime", {"LayerType": CONV}, "open"),
        ("ACC104", "stored", {"LayerType": CONV, "TacticName": TF32}, "confirmed"),
        ("ACC104", "stored", {"LayerType": CONV, "TacticName": FP32}, "refuted"),
        ("ACC104", "stored", {"LayerType": CONV, "dtype": "Half"}, "refuted"),
        ("ACC104", "stored", {"LayerType": "PointWise", "dtype": "Half"}, "open"),
        ("ACC104", "stored", {"LayerType": CONV}, "open"),
        ("ACC102", "both", {"TacticName": "_gemm_mha_v2_0x1", "LayerType": "kgen"}, "confirmed"),
        ("ACC102", "both", {"LayerType": "gemm"}, "refuted"),
        ("PERF103", "scores", {"LayerType": "gemm"}, "confirmed"),
        ("PERF103", "scores", {"TacticName": "_gemm_mha_v2_0x1", "LayerType": "kgen"}, "refuted"),
        ("PERF104", "large", {"LayerType": "gemm"}, "confirmed"),
        ("PERF104", "large", {"TacticName": "_gemm_mha_v2_0x1", "LayerType": "kgen"}, "refuted"),
        ("ACC101", "nafnet", {"LayerType": "Reduce", "dtype": "Float"}, "refuted"),
        ("ACC101", "nafnet", {"LayerType": "Reduce", "dtype": "Half"}, "open"),
    ],
)
def test_what_the_engine_says(rule: str, model: str, layer: dict[str, object], standing: str) -> None:
    version = "10.7" if rule == "ACC102" else "10.9"
    found = finding(rule, model, Target(version=version, gpu="L4"), **layer)
    assert found.standing == standing
    assert (found.severity == "note") or standing != "refuted"
    assert any(words.startswith("layer ") for words in found.said) == (standing != "open")


def test_an_island_whose_kernels_are_not_told_is_no_evidence() -> None:
    loaded = model_of(MODELS["large"])
    ends = loaded.graph.nodes[0].path, loaded.graph.nodes[-1].path
    info = layers_from_json({"Layers": [f"{{ForeignNode[{ends[0]}...{ends[1]}]}}"], "Bindings": []})
    facts = Facts(loaded, evidence=[BuildEvidence(together([FileContents("layers.json", info)]))])
    (found,) = evaluate([book().rule("PERF104")], facts, Target(version="10.9", gpu="L4")).findings
    assert found.standing == "open"
