"""Tests of the reasons that ENG101 gives for attention without a fused kernel."""

from __future__ import annotations

import json

import pytest

from tests.facts.builds import facts_of_build
from trtlint.engine.evaluate import evaluate
from trtlint.engine.rulebook import load_builtin
from trtlint.target.target import Target

MODEL = """
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
def test_the_reason_is_a_condition_of_the_release(type_: str, size: int, target: Target, reason: str) -> None:
    facts = facts_of_build(layers=LAYERS, model=MODEL.format(type=type_, size=size))
    (finding,) = evaluate([load_builtin().rule("ENG101")], facts, target).findings
    assert reason in finding.message
    padding = any("Pad the head size" in advice for advice in finding.advice)
    assert padding == ("head size is" in reason)
