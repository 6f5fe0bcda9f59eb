"""Tests of attention in an engine."""

from __future__ import annotations

import pytest

from tests.facts.builds import facts_of_build
from trtlint.facts.of_build.engine_attention import EngineAttention

MODEL = """
< ir_version: 8, opset_import: ["" : 17] >
g (float16[1,2,128,64] q, float16[1,2,64,128] kt, float16[1,2,128,64] v) => (float16[1,2,128,64] o)
{
  [qk] scores = MatMul (q, kt)
  [softmax] p = Softmax <axis = -1> (scores)
  [pv] o = MatMul (p, v)
}
"""
APART = """{"Layers": [
  {"Name": "qk_myl0_1", "LayerType": "gemm", "Metadata": "[ONNX Layer: qk]"},
  {"Name": "__myl_MaxrSubExpSumDiv_myl0_2", "LayerType": "kgen", "Metadata": "[ONNX Layer: softmax]"},
  {"Name": "pv_myl0_3", "LayerType": "gemm", "Metadata": "[ONNX Layer: pv]"}]}"""
PROFILE = """[{"count": 10},
  {"name": "qk_myl0_1", "timeMs": 10, "averageMs": 1.0, "percentage": 25},
  {"name": "__myl_MaxrSubExpSumDiv_myl0_2", "timeMs": 20, "averageMs": 2.0, "percentage": 50},
  {"name": "pv_myl0_3", "timeMs": 10, "averageMs": 1.0, "percentage": 25}]"""


def attentions(layers: str, profile: str | None = None) -> list[EngineAttention]:
    facts = facts_of_build(layers=layers, profile=profile, model=MODEL)
    return [fact for fact in facts.of("engine_attention") if isinstance(fact, EngineAttention)]


def test_products_and_softmax_in_layers_of_their_own() -> None:
    (fact,) = attentions(APART)
    assert not fact.fused
    assert fact.layers == ("qk_myl0_1", "__myl_MaxrSubExpSumDiv_myl0_2", "pv_myl0_3")
    assert (fact.attention.head_size, fact.ms, fact.share) == (64, None, None)


def test_the_time_of_the_block() -> None:
    (fact,) = attentions(APART, PROFILE)
    assert (fact.ms, fact.share) == (4.0, 1.0)


def test_one_kernel() -> None:
    (fact,) = attentions(
        '{"Layers": [{"Name": "_gemm_mha_v2_myl0_1", "LayerType": "kgen",'
        ' "Metadata": "[ONNX Layer: pv][ONNX Layer: softmax][ONNX Layer: qk]"}]}'
    )
    assert fact.fused
    assert fact.layers == ("_gemm_mha_v2_myl0_1",)


@pytest.mark.parametrize(
    "layers",
    [
        '{"Layers": ["{ForeignNode[qk...pv]}"]}',  # an island of which no kernel is listed
        '{"Layers": [{"Name": "qk", "LayerType": "gemm"}, {"Name": "pv", "LayerType": "gemm"}]}',
        '{"Layers": []}',
    ],
)
def test_what_the_engine_does_not_tell(layers: str) -> None:
    assert attentions(layers) == []


def test_without_an_engine_there_is_nothing_to_tell() -> None:
    assert facts_of_build(log="[V] Parsing node: qk [MatMul]\n", model=MODEL).of("engine_attention") == ()
