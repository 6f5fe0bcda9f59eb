"""Tests of the blocks of products in one FP16 accumulator."""

from __future__ import annotations

import math

import numpy as np
import pytest
from onnx import helper, numpy_helper

from tests.graphs import model_of
from tests.measurement.written import Graph
from trtlint.measurement import accumulation
from trtlint.measurement.accumulation import Sum, accumulated, sum_of
from trtlint.measurement.writing import GraphWriter


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("MatMul (a, b)", Sum((-1, -2), 5)),
        ("MatMul (n, b)", Sum((-1, -2), 5)),
        ("MatMul (a, m)", Sum((-1, -2), 5)),
        ("MatMul (n, m)", Sum((-1, -2), None)),
        ("MatMul (a, v)", None),
        ("MatMul (a, unknown)", None),
        ("MatMul (unknown, b)", Sum((-1, -2), 5)),
        ("own.MatMul (a, b)", None),
        ("Gemm (a, b)", Sum((1, 0), 5)),
        ("Gemm <transA = 1> (a, b)", Sum((0, 0), 2)),
        ("Gemm <transB = 1> (n, b)", Sum((1, 1), 3)),
        ("Gemm <transA = 1, transB = 1> (n, n)", Sum((0, 1), None)),
        ('Gemm (a, b, "")', Sum((1, 0), 5)),
        ("Gemm (a, b, c)", None),
        ("Conv (i, k)", Sum((1, 1), 3, 10)),
        ("Conv <group = 1> (i, k)", Sum((1, 1), 3, 10)),
        ("Conv <group = 2> (i, k)", None),
        ("Conv (i, k, c)", None),
        ("Conv (i, open)", None),
        ("Conv (i, unknown)", None),
        ("Conv (i, b)", None),
        ("ConvTranspose (i, k)", Sum((1, 0), 4, 10)),
        ("Einsum (a, b)", None),
    ],
)
def test_the_sum_of_a_product(call: str, expected: Sum | None) -> None:
    (node,) = model_of(
        f"""< ir_version: 8, opset_import: ["" : 17, "own" : 1] >
        g (float[2,5] a, float[5,3] b, float[3] c, float[N,M] n, float[K,L] m, float[5] v, float[] unknown,
           float[1,3,6,6] i, float[4,3,2,5] k, float[4,3,N,5] open)
        => (float[] y) {{ y = {call} }}"""
    ).graph.nodes
    assert sum_of(node.proto, node) == expected


@pytest.mark.parametrize(
    ("op", "expected"),
    [("MatMul", Sum((-1, -2), None)), ("Gemm", Sum((1, 0), None)), ("Conv", None), ("Mul", None)],
)
def test_the_sum_of_a_part_of_an_operator(op: str, expected: Sum | None) -> None:
    assert sum_of(helper.make_node(op, ["a", "b"], ["y"]), None) == expected


@pytest.mark.parametrize(
    ("length", "terms", "blocks"),
    [
        (16, 1, None),
        (17, 1, (2, 16, None)),
        (128, 1, (8, 16, None)),
        (129, 1, (3, 48, 9 / 3)),
        (512, 1, (4, 128, 32 / 4)),
        (513, 1, (2, 272, 33 / 2)),
        (1, 9, None),
        (4, 25, (4, 1, 7 / 4)),
        (64, 9, (2, 32, 36 / 2)),
        (3, 100, (3, 1, 19 / 3)),
    ],
)
def test_the_blocks_of_a_sum(length: int, terms: int, blocks: tuple[int, int, float | None] | None) -> None:
    product = helper.make_node("MatMul", ["x", "w"], ["y"])
    assert accumulated(product, Sum((-1, -2), length, terms), GraphWriter(9)) is None
    write = GraphWriter(17)
    found = accumulated(product, Sum((-1, -2), length, terms), write)
    constants = {each.name: numpy_helper.to_array(each).tolist() for each in write.scope.initializers}
    if blocks is None:
        assert (found, constants, write.scope.nodes) == (None, {}, [])
        return
    count, size, growth = blocks
    factor = [] if growth is None else [pytest.approx(math.sqrt(growth))]
    assert list(constants.values()) == [count, [size], *factor, True, 0.0]
    (loop,) = write.scope.nodes
    assert (loop.op_type, list(loop.output)) == ("Loop", [found])
    assert [constants[name] for name in loop.input] == [count, True, 0.0]


@pytest.mark.parametrize(("axis", "rank"), [(-1, 3), (-2, 2), (0, 1), (1, 2)])
def test_blocks_of_a_length_that_only_a_run_tells(axis: int, rank: int) -> None:
    graph = Graph(17, x=rank)
    product = helper.make_node("MatMul", ["x", "w"], ["y"])
    names = accumulation._blocks_at_run_time(product, Sum((axis, 0), None), graph)
    for length, count, width, growth in (
        (0, 1, 1, 0.0),
        (1, 1, 16, 1.0),
        (16, 1, 16, 1.0),
        (17, 2, 16, 1.0),
        (128, 8, 16, 1.0),
        (129, 5, 32, 9 / 5),
        (512, 8, 64, 32 / 8),
        (513, 7, 80, 33 / 7),
    ):
        shape = [2] * rank
        shape[axis] = length
        found = [each.item() for each in graph.run(names, x=np.zeros(shape, np.float32))]
        assert found == [count, width, pytest.approx(math.sqrt(growth))]


@pytest.mark.parametrize(
    ("length", "known"), [(40, True), (150, True), (150, False), (600, True), (0, False)]
)
def test_a_sum_is_rounded_after_each_block(length: int, known: bool) -> None:
    generator = np.random.default_rng(0)
    x, w = (generator.random(shape).astype(np.float32) for shape in ((2, length), (length, 3)))
    graph = Graph(17, x=2, w=2)
    product = helper.make_node("MatMul", ["x", "w"], ["y"])
    summed = Sum((-1, -2), length if known else None)
    name = accumulated(product, summed, graph)
    assert name is not None
    (found,) = graph.run((name,), x=x, w=w)
    width = {40: 16, 150: 48 if known else 32, 600: 304, 0: 1}[length]
    count = max(1, -(-length // width))
    growth = math.sqrt(max(1.0, -(-length // 16) / count))
    total = np.zeros((2, 3), np.float32)
    for begin in range(0, length, width):
        exact = total + x[:, begin : begin + width] @ w[begin : begin + width]
        total = exact + (exact.astype(np.float16).astype(np.float32) - exact) * np.float32(growth)
    np.testing.assert_allclose(found, total, atol=0.02 if length == 600 else 4e-3)
    if length:
        assert np.abs(found - x @ w).max() > 1e-3
