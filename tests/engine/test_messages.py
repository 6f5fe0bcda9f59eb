"""Tests of messages that depend on the sizes in a model, or on the release."""

from __future__ import annotations

import json

import pytest

from tests.facts.builds import facts_of_build
from tests.graphs import facts_of
from trtlint.engine.evaluate import evaluate
from trtlint.engine.rulebook import load_builtin
from trtlint.target.target import Target

ATTENTION = """
< ir_version: 8, opset_import: ["" : 17] >
unfused ({type}[1,2,128,{size}] q, {type}[1,2,{size},128] kt, {type}[1,2,128,{size}] v)
  => ({type}[1,2,128,{size}] o)
{{
  [qk] scores = MatMul (q, kt)
  [softmax] p = Softmax <axis = -1> (scores)
  [pv] o = MatMul (p, v)
}}
"""
LAYERS = json.dumps(
    {
        "Layers": [
            {
                "Name": f"{node}_myl0_{number}",
                "LayerType": "kgen",
                "Inputs": [],
                "Outputs": [],
                "Metadata": f"[ONNX Layer: {node}]",
            }
            for number, node in enumerate(("qk", "softmax", "pv"))
        ]
    }
)
WARP = """
< ir_version: 8, opset_import: ["" : 17] >
warp (float16[1,3,{height},{width}] x, float16[1,8,8,2] grid) => (float16[A,B,C,D] y)
{{ y = GridSample (x, grid) }}
"""
RTX = Target(product="tensorrt-rtx", version="1.7.1")


def trt(version: str) -> Target:
    return Target(version=version)


@pytest.mark.parametrize(
    ("type_", "size", "target", "reason"),
    [
        ("float16", 512, RTX, "its head size is at most 8 or above 256"),
        ("float16", 8, trt("11.2"), "its head size is at most 8 or above 256"),
        ("float16", 20, trt("10.8"), "its head size is not a multiple of 8 from 16 to 256"),
        ("float16", 20, trt("11.2"), "the attention meets the known conditions"),
        ("float16", 20, RTX, "the attention meets the known conditions"),
        ("float", 20, RTX, "the attention runs in FP32"),
        ("float", 64, trt("11.2"), "the attention runs in FP32"),
        ("float", 64, trt("11.3"), "the attention meets the known conditions"),
    ],
)
def test_unfused_attention_has_a_reason_of_its_release(
    type_: str, size: int, target: Target, reason: str
) -> None:
    facts = facts_of_build(layers=LAYERS, model=ATTENTION.format(type=type_, size=size))
    (finding,) = evaluate([load_builtin().rule("ENG101")], facts, target).findings
    assert reason in finding.message
    padding = any("Pad the head size" in advice for advice in finding.advice)
    assert padding == ("head size is" in reason)


@pytest.mark.parametrize(("height", "width"), [("1024", "W"), ("H", "1024"), ("1024", "64"), ("512", "1024")])
def test_a_sampled_image_is_described_by_its_largest_known_size(height: str, width: str) -> None:
    facts = facts_of(WARP.format(height=height, width=width))
    (finding,) = evaluate([load_builtin().rule("ACC113")], facts, Target()).findings
    assert "with 1024 pixels in one dimension, a coordinate is off by up to 0.12 pixels" in finding.message
