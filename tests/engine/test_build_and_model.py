"""Tests of model rules together with log rules: one finding per problem."""

from __future__ import annotations

import pytest

from tests.facts.builds import facts_of_build
from trtlint.engine.evaluate import evaluate
from trtlint.engine.finding import Finding
from trtlint.engine.rulebook import load_builtin
from trtlint.target.target import Target

HEAD = '< ir_version: 11, opset_import: ["" : 23] >'
ATTENTION = f"""{HEAD}
g (float[1,4,16,64] q, float[1,4,16,64] k, float[1,4,16,64] v) => (float[1,4,16,64] y)
{{ [attn] y = Attention (q, k, v) }}
"""
SUM = f"{HEAD} g (float[N,4] x, float[N,4] y) => (float[N,4] z) {{ [sum] z = Add (x, y) }}"
NO_KERNEL = """\
[V] =============== Computing costs for {ForeignNode[attn_Q...attn]}
[E] IBuilder::buildSerializedNetwork: Error Code 1: Myelin (MyelinCheckException: a.cpp:59: \
CHECK(composite_op->is_decomposable()) failed. Attention operation was not supported by a dedicated kernel.)
"""
CONTRADICTION = """\
[E] IBuilder::buildSerializedNetwork: Error Code 4: API Usage Error (N: Input dimensions with \
this name have different constant values or have contradictory IOptimizationProfile kMIN/kMAX constraints.)
"""
RUN = "&&&& {} TensorRT.trtexec [TensorRT v100500] # trtexec --onnx=m.onnx\n"


def findings(model: str, log: str, target: Target, *rules: str) -> dict[str, Finding]:
    book = load_builtin()
    facts = facts_of_build(log=log, model=model)
    asked = [book.rule(rule) for rule in rules]
    return {finding.rule: finding for finding in evaluate(asked, facts, target).findings}


@pytest.mark.slow
def test_an_attention_without_kernel_is_one_finding() -> None:
    rtx = Target(product="tensorrt-rtx", version="1.7.1")
    assert list(findings(ATTENTION, NO_KERNEL, rtx, "BLD213", "LOG107")) == ["BLD213"]
    assert list(findings(ATTENTION, NO_KERNEL, rtx, "LOG107")) == ["LOG107"]


def test_a_contradictory_profile_names_dimension_and_inputs() -> None:
    found = findings(SUM, CONTRADICTION, Target(), "LOG135")["LOG135"]
    assert "dimension N must have one size everywhere, in x, y" in found.message


@pytest.mark.slow
@pytest.mark.parametrize(("end", "standing"), [("PASSED", "refuted"), ("FAILED", "open")])
def test_an_engine_built_for_a_gpu_refutes_that_there_is_none(end: str, standing: str) -> None:
    log = RUN.format("RUNNING") + (
        "[11/21/2026-22:40:42] [I] === Device Information ===\n"
        "[11/21/2026-22:40:42] [I] Compute Capability: 7.0\n"
    )
    target = Target(version="10.5", sm=70)
    found = findings(SUM, log + RUN.format(end), target, "PORT115")["PORT115"]
    assert found.standing == standing
