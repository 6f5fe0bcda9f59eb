"""Tests of Casts between two float types."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.fixes.fixing import computed, fixed, ops
from tests.fixes.proposing import proposed, small, spelled
from trtlint.facts.base import Fact
from trtlint.fixes.patch import Bound, Patch

HEAD = '< ir_version: 8, opset_import: ["" : 17] >'
X = {"x": np.random.default_rng(1).normal(size=(1, 64)).astype(np.float32)}


def test_parameters_of_a_norm_are_widened(tmp_path: Path) -> None:
    text = (
        f"{HEAD} g (float[1,64] x, float16[64] w) => (float[1,64] y)"
        "{ y = LayerNormalization <axis = -1> (x, w) }"
    )
    _, after = fixed(tmp_path, text)
    assert ops(after) == ["Cast", "LayerNormalization"]
    assert after is not None
    onnx.checker.check_model(after, full_check=True)
    feeds: dict[str, np.ndarray[Any, Any]] = {**X, "w": np.full(64, 1.5, np.float16)}
    wide = X["x"].astype(np.float64)
    norm = (wide - wide.mean()) / np.sqrt(wide.var() + 1e-5) * 1.5
    np.testing.assert_allclose(computed(after, feeds)[0], norm, rtol=1e-5)


def test_products_keep_the_type_of_their_weights_and_outputs_theirs(tmp_path: Path) -> None:
    text = (
        f"{HEAD} g (float[1,64] x) => (float16[1,64] y, float16[1,64] z)"
        "{ h = MatMul (x, w)  y = Relu (h)  s = Add (x, h)  z = Identity (s) }"
    )
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.full((64, 64), 0.5, np.float16), "w"))
    _, after = fixed(tmp_path, model)
    assert after is not None
    onnx.checker.check_model(after, full_check=True)
    assert [info.type.tensor_type.elem_type for info in after.graph.output] == [10, 10]
    given, wide = computed(after, X)
    assert given.dtype == wide.dtype == np.float16
    product = X["x"].astype(np.float16).astype(np.float64).sum() * 0.5
    np.testing.assert_allclose(given.astype(np.float64), max(product, 0), rtol=2e-2)
    np.testing.assert_allclose(wide.astype(np.float64), X["x"] + product, rtol=2e-2, atol=2e-2)


MIXED = """
  n = Cast <to = 1> (a)
  y = LayerNormalization <axis = -1> (n, gain)
"""
SPLIT = f"""
{HEAD} g (float16[1,4,128,64] q, float16[1,4,64,128] k, float16[1,4,128,64] v, float16[64] gain)
  => (float[1,4,128,64] y)
{{
  wide = Constant <value_float = 0.3535> ()
  root = Cast <to = 10> (wide)
  one = Mul (q, root)
  other = Mul (k, root)
  scores = MatMul (one, other)
  probabilities = Softmax <axis = -1> (scores)
  a = MatMul (probabilities, v)
  {MIXED}
}}
"""


def test_what_else_is_fixed_for_a_weakly_typed_target_can_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, after = fixed(tmp_path, SPLIT, "--trt", "10.7", "--fp16")
    out = capsys.readouterr().out
    assert "error[ACC102] scale-on-query" in out
    assert "  fixed    unify-types: inserts Casts where operators read two types at LayerNorm" in out
    assert ops(after) == ["Mul", "MatMul", "Softmax", "MatMul", "Cast", "Cast", "LayerNormalization"]
    assert after is not None
    onnx.checker.check_model(after, full_check=True)


def test_a_weakly_typed_target_has_no_need_of_it(tmp_path: Path) -> None:
    text = f"{HEAD} g (float16[1,64] a, float16[64] gain) => (float[1,64] y) {{ {MIXED} }}"
    assert fixed(tmp_path, text, "--trt", "10.7", "--fp16")[1] is None


WEIGHTS = "<float16[2,2] w = {1, 2, 3, 4}>"
RANGE = "magnitudes of at most 65504 in tensors that become f16"
KNOWN = "the types already match"


@pytest.mark.parametrize(
    ("text", "written", "retyped", "narrowed"),
    [
        (
            "(float[2] a, float16[2] b) => (float[2] y) { y = Add (a, b) }",
            "b: 1  Add reads cast at 1",
            "",
            "",
        ),
        (
            "(float16[2] a, float[2] b) => (float[2] y) { y = Add (a, b) }",
            "a: 1  Add reads cast at 0",
            "y",
            "",
        ),
        (
            "(float16[2] a, double[2] b, float[2] c) => (double[2] y) { y = Sum (a, b, c) }",
            "a: 11  c: 11  Sum reads cast at 0  Sum reads cast_2 at 2",
            "y",
            "",
        ),
        (
            "(float16[2] a, bfloat16[2] b) => (bfloat16[2] y) { y = Mul (a, b) }",
            "a: 16  Mul reads cast at 0",
            "y",
            "",
        ),
        (
            "(bfloat16[2] a, float[2] b) => (float[2] y) { y = Mul (a, b) }",
            "a: 1  Mul reads cast at 0",
            "y",
            "",
        ),
        (
            "(float[2] a, double[2] b) => (double[2] y) { y = Mul (a, b) }",
            "a: 11  Mul reads cast at 0",
            "y",
            "",
        ),
        ("(float[2] a, float[2] b) => (float[2] y) { y = Add (a, b) }", KNOWN, "", ""),
        ("(float[2] a, int64[2] b) => (float[2] y) { y = Add (a, b) }", KNOWN, "", ""),
        (
            "(float[2] a, float16[2] b) => (float[2] y) { y = Sum (a, b, b) }",
            "b: 1  Sum reads cast at 1  Sum reads cast at 2",
            "",
            "",
        ),
        (
            "(float[2] a, float16[2] b) => (float16[2] y) { y = Add (a, b) }",
            "b: 1  y = Add (a, cast)  y: 10",
            "y",
            "",
        ),
        (
            "(float[2] a, float16[2] b, float16[2] c) => (float16[2] z)"
            " { y = Add (b, a)  w = Relu (y)  z = Mul (w, c) }",
            "b: 1  c: 1  z = Mul (w, cast_2)  z: 10  Add reads cast at 0",
            "y w",
            "",
        ),
        (
            "(float[2] a, float16[2] b, float16[2] c) => (float[2] z)"
            " { y = Add (b, a)  w = Relu (y)  z = Mul (w, c) }",
            "b: 1  c: 1  Add reads cast at 0  Mul reads cast_2 at 1",
            "y w z",
            "",
        ),
        (
            "(float[2] a, float16[2] b, float16[2] c) => (float[2] z)"
            " { y = Add (b, a)  w = Relu (c)  z = Mul (y, w) }",
            "b: 1  w: 1  Add reads cast at 0  Mul reads cast_2 at 1",
            "y z",
            "",
        ),
        (
            "(float[2] a, float16[2] b) => (float16[2] z) { y = Add (b, a)  z = Cast <to = 10> (y) }",
            "b: 1  Add reads cast at 0",
            "y",
            "",
        ),
        (
            "(float[2] a, float16[2] b) => (float16[2] z) { y = Add (b, a)  z = com.microsoft.Gelu (y) }",
            "the type change affects Gelu, whose types are not known",
            "",
            "",
        ),
        (
            "(float[2] a, float16[2] b) => (float[2] y, float16[2] z)"
            " { y = Add (a, b)  z = com.microsoft.Gelu (b) }",
            "b: 1  Add reads cast at 1",
            "",
            "",
        ),
        (
            "(bool[2] m, float[2] a, float16[2] b) => (float[2] y) { y = Where (m, a, b) }",
            "b: 1  Where reads cast at 2",
            "",
            "",
        ),
        ("(float[2] a, float16 l) => (float[2] y) { y = Clip (a, l) }", "l: 1  Clip reads cast at 1", "", ""),
        (
            "(float[1,4] x, float16[4] w, float16[4] b) => (float[1,4] y)"
            " { y = LayerNormalization (x, w, b) }",
            "w: 1  b: 1  LayerNormalization reads cast at 1  LayerNormalization reads cast_2 at 2",
            "",
            "",
        ),
        (
            "(float[2,2] a, float16[2,2] b) => (float[2,2] y) { y = MatMul (a, b) }",
            "b: 1  MatMul reads cast at 1",
            "",
            "",
        ),
        (
            f"(float[2,2] a) => (float16[2,2] y) {WEIGHTS} {{ y = MatMul (a, w) }}",
            "a: 10  MatMul reads cast at 0",
            "y",
            "a",
        ),
        (
            "(float16[2,2] a) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}> { y = MatMul (a, w) }",
            "a: 1  MatMul reads cast at 0",
            "y",
            "",
        ),
        (
            f"(float[2,2] a, float[2] c) => (float16[2,2] y) {WEIGHTS} {{ y = Gemm <transB = 1> (a, w, c) }}",
            "a: 10  c: 10  Gemm reads cast at 0  Gemm reads cast_2 at 2",
            "y",
            "a c",
        ),
        (
            "(double[2,2] a) => (float16[2,2] y) <float[2,2] w = {1, 2, 3, 4}, float16[2] c = {1, 2}>"
            " { y = Gemm (a, w, c) }",
            "a: 10  w: 10  Gemm reads cast at 0  Gemm reads cast_2 at 1",
            "y",
            "a w",
        ),
        (
            f"(float[2,2] a) => (float[2,2] y) {WEIGHTS} {{ y = MatMul (a, w) }}",
            "a: 10  y = MatMul (cast, w)  y: 1",
            "",
            "a",
        ),
    ],
)
def test_casts_and_nothing_else_are_inserted(text: str, written: str, retyped: str, narrowed: str) -> None:
    model = small(text)
    found = proposed("unify-types", Fact(node=model.graph.nodes[0]), model)
    # Each Cast appears as its input and type.
    assert re.sub(r"\w+ = Cast <to = (\d+)> \((\w+)\)", r"\2: \1", spelled(found)) == written
    if isinstance(found, Patch):
        assert found.retyped == tuple(retyped.split())
        assert found.bounds == tuple(Bound(name, -65504.0, 65504.0) for name in narrowed.split())
        assert found.condition == (RANGE if narrowed else "")


def test_a_result_of_the_declared_type_gets_no_cast(tmp_path: Path) -> None:
    text = f"{HEAD} g (float16[1,64] a, float[1,64] x) => (float[1,64] y) {{ y = Add (a, x) }}"
    _, after = fixed(tmp_path, text)
    assert after is not None
    assert ops(after) == ["Cast", "Add"]
    onnx.checker.check_model(after, full_check=True)


def test_the_narrowest_of_two_types_is_the_condition() -> None:
    model = small(
        "(float16[2,2] h, float[2,2] a) => (bfloat16[2,2] u, float16[2,2] z)"
        " <bfloat16[2,2] v = {1, 2, 3, 4}, float16[2,2] w = {1, 2, 3, 4}>"
        " { y = Add (h, a)  u = MatMul (y, v)  z = MatMul (y, w) }"
    )
    found = proposed("unify-types", Fact(node=model.graph.nodes[0]), model)
    assert isinstance(found, Patch)
    largest = 3.3895314e38
    assert found.bounds == (Bound("y", -largest, largest), Bound("y", -65504.0, 65504.0))
    assert found.condition == RANGE
