"""Tests of models rewritten for ONNX's reference evaluator."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser
from onnx.reference import ReferenceEvaluator

from trtlint.compare.reference import has_scan_outputs, more_ops, with_initial_conditions

LOOP = """< ir_version: 10, opset_import: ["" : 17] > g (float[2] x, int64 n, bool c) => (float[2] y%s)
{ s = Sqrt (x)  a = Abs (x)  y%s = Loop (n, %s) <body = b (int64 i, bool go, float[2] v)
  => (bool on, float[2] w%s) { on = Identity (go)  w = Add (v, v) %s }> }"""
LAST = (", float[N,2] rows", ", rows", ", float[2] row", "row = Neg (v)")


def loop(condition: str, *, stacked: bool = False) -> onnx.ModelProto:
    """Return a model with a loop that doubles its state."""
    out, name, inner, body = LAST if stacked else ("", "", "", "")
    return parser.parse_model(LOOP % (out, name, f"{condition}, x", inner, body))


def test_a_loop_without_a_condition_begins() -> None:
    before = loop('""')
    after = with_initial_conditions(before)
    assert [list(node.input) for node in after.graph.node] == [["x"], ["x"], ["n", "trtlint/true", "x"]]
    assert [list(node.input) for node in before.graph.node][2] == ["n", "", "x"]
    (true,) = after.graph.initializer
    assert bool(onnx.numpy_helper.to_array(true)) is True
    feeds = {"x": np.ones(2, np.float32), "n": np.array(3), "c": np.array(False)}
    found: list[Any] = list(ReferenceEvaluator(after).run(None, feeds))
    assert [each.tolist() for each in found] == [[8.0, 8.0]]


def test_a_loop_with_a_condition_stays() -> None:
    proto = loop("c")
    assert with_initial_conditions(proto) is proto
    short = loop("c")
    del short.graph.node[2].input[1:]
    assert list(with_initial_conditions(short).graph.node[2].input) == ["n", "trtlint/true"]


@pytest.mark.parametrize("stacked", [False, True])
def test_loops_that_stack(stacked: bool) -> None:
    proto = loop("c", stacked=stacked)
    assert has_scan_outputs(proto) is stacked
    proto.graph.node[2].op_type = "Zip"
    assert has_scan_outputs(proto) is False


def evaluated(text: str, *arrays: Any, opset: int = 23) -> list[Any]:
    """Compute a model with the replacements of the reference's operators."""
    proto = parser.parse_model(f'< ir_version: 10, opset_import: ["" : {opset}] > g {text}')
    feeds = dict(zip((info.name for info in proto.graph.input), arrays, strict=True))
    found: list[Any] = list(ReferenceEvaluator(proto, new_ops=list(more_ops())).run(None, feeds))
    return found


@pytest.mark.parametrize(("opset", "count"), [(18, 2), (21, 4)])
def test_group_normalization(opset: int, count: int) -> None:
    """Gain and bias are per group before opset 21, and per channel from then on."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 4, 3)).astype(np.float32)
    gain, bias = (rng.normal(size=count).astype(np.float32) for _ in range(2))
    text = f"""(float[2,4,3] x, float[{count}] g, float[{count}] b) => (float[2,4,3] y)
    {{ y = GroupNormalization <num_groups = 2, epsilon = 0.5> (x, g, b) }}"""
    (found,) = evaluated(text, x, gain, bias, opset=opset)
    apart = x.reshape(2, 2, 6)
    normed = (apart - apart.mean(-1, keepdims=True)) / np.sqrt(apart.var(-1, keepdims=True) + 0.5)
    wide = [np.repeat(each, 4 // count).reshape(4, 1) for each in (gain, bias)]
    np.testing.assert_allclose(found, normed.reshape(2, 4, 3) * wide[0] + wide[1], rtol=1e-4, atol=1e-5)


def test_statistics_of_half_precision_are_wide() -> None:
    x = np.array([[[300.0, -300.0, 300.0, 300.0]]], np.float16)
    one = np.ones(1, np.float16)
    text = """(float16[1,1,4] x, float16[1] g, float16[1] b) => (float16[1,1,4] y)
    { y = GroupNormalization <num_groups = 1%s> (x, g, b) }"""
    (found,) = evaluated(text % "", x, one, one, opset=21)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found[0, 0], [1.577, -0.732, 1.577, 1.577], atol=2e-3)
    with np.errstate(over="ignore"):
        (narrow,) = evaluated(text % ", stash_type = 10", x, one, one, opset=21)
    assert not np.allclose(narrow[0, 0].astype(np.float32), found[0, 0].astype(np.float32), atol=1e-2)


def test_a_causal_mask_of_one_row_is_for_all_queries() -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(1, 1, 3, 4)).astype(np.float32) for _ in range(3))
    text = """(float[1,1,3,4] q, float[1,1,3,4] k, float[1,1,3,4] v, bool[%d,3] m) => (float[1,1,3,4] y)
    { y = Attention <is_causal = 1> (q, k, v, m) }"""
    row = np.array([[True, False, True]])
    one = evaluated(text % 1, q, k, v, row)[0]
    three = evaluated(text % 3, q, k, v, np.repeat(row, 3, axis=0))[0]
    np.testing.assert_allclose(one, three, rtol=1e-6)


def test_capped_scores() -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(1, 1, 3, 4)).astype(np.float32) * 3 for _ in range(3))
    text = """(float[1,1,3,4] q, float[1,1,3,4] k, float[1,1,3,4] v) => (float[1,1,3,4] y, float[1,1,3,3] s)
    { y, , , s = Attention <softcap = 1.0, scale = 1.0%s> (q, k, v) }"""
    raw = np.einsum("bhqd,bhkd->bhqk", q, k)
    np.testing.assert_allclose(evaluated(text % "", q, k, v)[1], raw, rtol=1e-4, atol=1e-4)
    capped = evaluated(text % ", qk_matmul_output_mode = 1", q, k, v)[1]
    assert not np.allclose(capped, raw, atol=1e-2)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather_elements(axis: int) -> None:
    """The evaluator itself rejects a negative axis, and an axis of more than 32 elements."""
    x = np.arange(200, dtype=np.float32).reshape(5, 40)
    indices = np.array([[4, -1, 0], [1, 2, 3]])
    text = f"(float[5,40] x, int64[2,3] i) => (float[2,3] y) {{ y = GatherElements <axis = {axis}> (x, i) }}"
    (found,) = evaluated(text, x, indices)
    expected = [
        [
            x[indices[row, column], column] if axis == 0 else x[row, indices[row, column]]
            for column in range(3)
        ]
        for row in range(2)
    ]
    np.testing.assert_array_equal(found, expected)
