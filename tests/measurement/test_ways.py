"""Tests of the operands and sums of products."""

from __future__ import annotations

from typing import Any

import pytest

from tests.graphs import model_of
from trtlint.measurement.accumulation import Sum, sum_of
from trtlint.measurement.band import operands
from trtlint.measurement.measuring import _multiplies_in_fp32
from trtlint.measurement.trivial import sentence


@pytest.mark.parametrize(
    ("op", "domain", "ports"),
    [
        ("MatMul", "", {0, 1}),
        ("Conv", "", {0, 1}),
        ("ConvTranspose", "", {0, 1}),
        ("LSTM", "", {0, 1, 2}),
        ("Attention", "", {0, 1, 2}),
        ("Einsum", "", set(range(64))),
        ("Add", "", set()),
        ("MatMul", "my", set()),
    ],
)
def test_operands_of_products(op: str, domain: str, ports: set[int]) -> None:
    assert operands(op, domain) == ports


@pytest.mark.parametrize(
    ("inputs", "text", "expected"),
    [
        ("float[2,8] a, float[8,4] b", "y = MatMul (a, b)", Sum((-1, -2), 8)),
        ("float[2,K] a, float[8,4] b", "y = MatMul (a, b)", Sum((-1, -2), 8)),
        ("float[2,8] a, float[K,4] b", "y = MatMul (a, b)", Sum((-1, -2), 8)),
        ("float[2,K] a, float[K,4] b", "y = MatMul (a, b)", Sum((-1, -2), None)),
        ("float[2,8] a, float[8] b", "y = MatMul (a, b)", None),
        ("float[2,8] a, float[8,4] b", "y = Gemm (a, b)", Sum((1, 0), 8)),
        ("float[8,2] a, float[8,4] b", "y = Gemm <transA = 1> (a, b)", Sum((0, 0), 8)),
        ("float[2,8] a, float[4,8] b", "y = Gemm <transB = 1> (a, b)", Sum((1, 1), 8)),
        ("float[2,K] a, float[4,8] b", "y = Gemm <transB = 1> (a, b)", Sum((1, 1), 8)),
        ("float[2,8] a, float[8,4] b, float[4] c", "y = Gemm (a, b, c)", None),
        ("float[1,6,9,9] a, float[4,6,3,3] b", "y = Conv (a, b)", Sum((1, 1), 6, 9)),
        ("float[1,6,9,9] a, float[6,4,3,2] b", "y = ConvTranspose (a, b)", Sum((1, 0), 6, 6)),
        ("float[1,6,9,9] a, float[6,3,3,3] b", "y = Conv <group = 2> (a, b)", None),
        ("float[1,6,9,9] a, float[4,6,K,3] b", "y = Conv (a, b)", None),
        ("float[2,8] a, float[2,8] b", "y = Add (a, b)", None),
    ],
)
def test_the_sum_of_a_product(inputs: str, text: str, expected: Sum | None) -> None:
    head = '< ir_version: 8, opset_import: ["" : 17] >'
    node = model_of(f"{head} g ({inputs}) => (float[A] y) {{ {text} }}").graph.nodes[0]
    assert sum_of(node.proto, node) == expected


def test_one_sentence_for_several_outputs() -> None:
    assert sentence({"y": "0"}) == "output y is 0"
    assert sentence({"y": "0", "z": "1"}) == "output y is 0, as is 1 more output"
    assert sentence(dict.fromkeys("yzw", "0")) == "output y is 0, as are 2 more outputs"


@pytest.mark.parametrize(
    ("type_", "text", "found"),
    [
        ("float", "y = MatMul (x, x)", True),
        ("float16", "y = MatMul (x, x)", False),
        ("float", "y = Add (x, x)", False),
        ("float16", "c = Cast <to = 1> (x) y = MatMul (c, c)", True),
        ("float", "y = Gemm (x, x)", True),
        ("float16", "c = Cast <to = 1> (x) d = Add (c, c) y = MatMul (x, x)", False),
    ],
)
def test_tf32_rounds_products_of_fp32_alone(type_: str, text: str, found: bool) -> None:
    head = '< ir_version: 8, opset_import: ["" : 17] >'
    model: Any = model_of(f"{head} g ({type_}[4,4] x) => ({type_}[A,B] y) {{ {text} }}")
    assert _multiplies_in_fp32(model) is found
