"""Tests of operations and bytes per operator at the largest shapes of the build."""

from __future__ import annotations

from tests.graphs import model_of
from trtlint.buildcommand.command import command
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.attention import Attention
from trtlint.facts.of_model.cost import Cost


def facts(text: str, *options: str) -> Facts:
    given = command(["--onnx=model.onnx", *options], "trtexec") if options else None
    return Facts(model_of(f'< ir_version: 8, opset_import: ["" : 17] > g {text}'), command=given)


def cost(text: str, *options: str) -> Cost:
    (found,) = facts(text, *options).of("cost")
    assert isinstance(found, Cost)
    return found


def test_a_product() -> None:
    found = cost("(float[4,8] x) => (float[4,16] y) <float[8,16] w = {}> { y = MatMul (x, w) }")
    assert found.flops == 2 * 4 * 8 * 16
    assert (found.read, found.weights, found.written) == (4 * 8 * 4, 8 * 16 * 4, 4 * 16 * 4)
    assert found.intensity == 1024 / (128 + 512 + 256)


def test_a_grouped_convolution() -> None:
    found = cost(
        "(float16[1,8,10,10] x) => (float16[1,12,8,8] y) <float16[12,4,3,3] w = {}>"
        "{ y = Conv <group = 2> (x, w) }"
    )
    assert found.flops == 2 * (12 * 8 * 8) * 4 * 9
    assert (found.read, found.written) == (8 * 100 * 2, 12 * 64 * 2)


def test_a_transposed_convolution() -> None:
    found = cost(
        "(float[1,8,4,4] x) => (float[1,6,8,8] y) <float[8,3,2,2] w = {}>"
        "{ y = ConvTranspose <group = 2, strides = [2,2]> (x, w) }"
    )
    assert found.flops == 2 * (8 * 16) * 3 * 4


def test_dynamic_sizes_are_those_of_the_largest_profile() -> None:
    text = "(float[N,8] x) => (float[N,16] y) <float[8,16] w = {}> { y = MatMul (x, w) }"
    assert cost(text).flops is None
    assert cost(text, "--minShapes=x:1x8", "--optShapes=x:2x8", "--maxShapes=x:4x8").flops == 2 * 4 * 8 * 16
    assert cost(text, "--shapes=other:4x8").flops is None
    profiles = ("--profile=0", "--maxShapes=x:4x8", "--profile=1", "--maxShapes=x:6x8")
    assert cost(text, *profiles).flops == 2 * 6 * 8 * 16


def test_the_scores_of_attention() -> None:
    text = """(float[B,8,L,64] q, float[B,8,64,L] k, float[B,8,L,64] v) => (float[B,8,L,64] y)
    { s = MatMul (q, k) p = Softmax <axis = -1> (s) y = MatMul (p, v) }"""
    shapes = "q:2x8x1024x64,k:2x8x64x1024,v:2x8x1024x64"
    (found,) = facts(text).of("attention")
    assert isinstance(found, Attention)
    assert (found.scores_bytes, found.keys) == (None, None)
    (found,) = facts(text, f"--shapes={shapes}").of("attention")
    assert isinstance(found, Attention)
    assert (found.scores_bytes, found.keys) == (2 * 8 * 1024 * 1024 * 4, 1024)
