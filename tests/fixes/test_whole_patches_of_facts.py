"""Tests of complete patches of several operators: new nodes and proof settings."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.fixes.proposing import proposed, small, whole
from trtlint.facts.base import Fact, Step
from trtlint.facts.facts import Facts

FP16 = """(float16[2,8] x, float16[2,8] z, float[2,8] w, float16[2,1] u) => (float16[A] y)
< float16 eps = {168}, float16 two = {16384}, float16 one = {15360}, float wide = {0.001},
  double far = {1e-6}, int64[1] last = {-1}, float16[8] g = {1, 2, 3, 4, 5, 6, 7, 8},
  float[2,2] table = {1, 2, 3, 4} > { %s }"""
SQUARES = "q = Mul (x, x)  s = ReduceSum <keepdims = 1> (q, last)"
MEAN = "m = ReduceMean <axes = [-1]> (x)  c = Sub (x, m)  s = Mul (c, c)  v = ReduceMean <axes = [-1]> (s)"
HEADS = """(float[2,4,6,D] q, float[2,4,6,D] k, float[2,4,6,D] v) => (float[A] y)
< float s = {0.125}, float[4,1,1] each = {1, 2, 3, 4}, float huge = {1e30}, float nil = {0} > {
  size = Shape <start = 3> (q)  n = Cast <to = 1> (size)  t = Sqrt (n)  t16 = Cast <to = 10> (t)
  kt = Transpose <perm = [0, 1, 3, 2]> (k)  %s  y = MatMul (p, v) }"""
TWICE = """(float[2,4] x, uint8[2,4] q, float[2,4] o, bool yes) => (float[A] n%s)
< float s = {0.5}, float r = {0.25}, float[4] ss = {1, 2, 3, 4}, uint8[4] zz = {1, 2, 3, 4}, uint8 z = {3},
  int8 z8 = {3}, uint8 zero = {0} > { %s }"""
MASK = """(float[2,4] x, bool[2,4] keep, bool c, int64[2] shape) => (float[A] y)
< float low = {-1e9}, float[4] several = {0, -1e9, 1e6, -7} > { %s }"""
BRANCH = "If (yes) < then_branch = t () => (float[2,4] d)"
OTHER = "else_branch = e () => (float[2,4] f) { f = Abs (x) }"
CASES: dict[str, tuple[tuple[int, str, str], ...]] = {
    "add-epsilon": tuple(
        (17, "division", text)
        for text in (
            FP16 % f"{SQUARES}  r = Sqrt (s)  y = Div (x, r)",
            FP16 % f"{SQUARES}  r = Sqrt (s)  i = Reciprocal (r)  y = Mul (x, i)",
            FP16.replace("float16[", "float[").replace("float16 ", "float ")
            % f"{SQUARES}  r = Sqrt (s)  y = Div (x, r)",
            FP16.replace("float16", "bfloat16") % f"{SQUARES}  r = Sqrt (s)  y = Div (x, r)",
            "(int64[2,8] x) => (int64[A] y) { r = ReduceL1 <axes = [1]> (x)  y = Div (x, r) }",
        )
    ),
    "widen-norm": tuple(
        (17, "normalization", FP16 % body)
        for body in (
            f"{MEAN}  e = Add (v, eps)  r = Sqrt (e)  y = Div (c, r)",
            f"{MEAN}  e = Add (v, eps)  q = Sqrt (e)  r = Reciprocal (q)  y = Mul (c, r)",
            f"{MEAN}  e = Add (v, eps)  r = Sqrt (e)  d = Div (c, r)  h = Mul (d, g)  y = Add (h, g)",
            "m = ReduceMean <axes = [-1]> (x)  c = Sub (x, m)  k = Cast <to = 1> (c)  s = Mul (k, k)"
            "  v = ReduceMean <axes = [-1]> (s)  e = Add (v, wide)  r = Sqrt (e)  o = Cast <to = 10> (r)"
            "  y = Div (c, o)",
            f"{MEAN}  k = Cast <to = 11> (v)  e = Add (k, far)  r = Sqrt (e)  o = Cast <to = 10> (r)"
            "  y = Div (c, o)",
            f"{MEAN}  k = Cast <to = 1> (v)  e = Add (k, wide)  d = Cast <to = 11> (e)  r = Sqrt (d)"
            "  o = Cast <to = 10> (r)  y = Div (c, o)",
            "m = ReduceMean <axes = [-1]> (w)  c = Sub (w, m)  s = Mul (c, c)"
            "  v = ReduceMean <axes = [-1]> (s)"
            "  e = Add (v, wide)  r = Sqrt (e)  d = Div (c, r)  y = Cast <to = 10> (d)",
        )
    ),
    "widen-chain": tuple(
        (17, kind, FP16 % body)
        for kind, body in (
            ("sum_of_squares", f"{SQUARES}  r = Sqrt (s)  y = Div (x, r)"),
            (
                "sum_of_squares",
                f"{SQUARES}  e = Add (s, eps)  r = Sqrt (e)  i = Reciprocal (r)  y = Mul (x, i)",
            ),
            ("sum_of_squares", f"{SQUARES}  y = Div (s, two)"),
            ("sum_of_squares", f"{SQUARES}  y = Add (s, eps)"),
            ("sum_of_squares", f"{SQUARES}  r = Sqrt (s)  y = Div (z, r)"),
            ("sum_of_squares", f"{SQUARES}  r = Sqrt (s)  y = Div (x, r)  n = Neg (r)"),
            ("sum_of_squares", f"{SQUARES}  r = Sqrt (s)  k = Clip (r, eps)  y = Div (x, k)"),
            ("sum_of_squares", f"{SQUARES}  y = Sqrt (s)  d = Div (x, y)"),
            ("node", "a = Mul (x, two)  b = Add (a, one)  y = Sin (b)"),
            ("node", "y = Cos (x)"),
            ("node", "a = Cast <to = 10> (w)  y = Cos (a)"),
            ("node", "a = Cast <to = 10> (w)  b = Mul (a, two)  y = Cos (b)"),
            ("node", "a = Relu (x)  b = Mul (a, two)  y = Cos (b)"),
        )
    ),
    "scale-on-query": tuple(
        (17, "attention", HEADS % body)
        for body in (
            "a = MatMul (q, kt)  b = Div (a, t)  p = Softmax <axis = -1> (b)",
            "a = MatMul (q, kt)  b = Mul (a, t)  p = Softmax <axis = -1> (b)",
            "c = Mul (q, t)  a = MatMul (c, kt)  b = Div (a, t)  p = Softmax <axis = -1> (b)",
            "c = Div (q, t)  d = Div (kt, t)  a = MatMul (c, d)  p = Softmax <axis = -1> (a)",
            "a = MatMul (q, kt)  b = Mul (a, each)  p = Softmax <axis = -1> (b)",
            "a = MatMul (q, kt)  m = Cast <to = 10> (a)  b = Div (m, t16)  c = Cast <to = 1> (b)"
            "  p = Softmax <axis = -1> (c)",
            "a = MatMul (q, kt)  b = Mul (a, huge)  c = Mul (b, huge)  p = Softmax <axis = -1> (c)",
            "a = MatMul (q, kt)  b = Div (a, huge)  c = Div (b, huge)  p = Softmax <axis = -1> (c)",
            "a = MatMul (q, kt)  p = Softmax <axis = -1> (a)",
            "a = MatMul (q, kt)  b = Mul (a, s)  p = Softmax <axis = -1> (b)",
            "a = MatMul (q, kt)  b = Div (a, s)  p = Softmax <axis = -1> (b)",
            "a = MatMul (q, kt)  b = Mul (a, nil)  p = Softmax <axis = -1> (b)",
            "c = Mul (q, s)  a = MatMul (c, kt)  p = Softmax <axis = -1> (a)",
            "c = Mul (s, kt)  a = MatMul (q, c)  p = Softmax <axis = -1> (a)",
            "c = Mul (q, s)  a = MatMul (c, kt)  p = Softmax <axis = -1> (a)  o = Neg (c)",
            "a = MatMul (q, kt)  r = Add (a, s)  b = Mul (r, s)  p = Softmax <axis = -1> (b)",
            "a = MatMul (q, kt)  r = Identity (a)  b = Mul (r, s)  p = Softmax <axis = -1> (b)",
            "a = MatMul (q, kt)  b = Mul (a, s)  p = Softmax <axis = -1> (b)  o = Neg (b)",
        )
    ),
    "clamp-mask": tuple(
        (17, "constant", MASK % body)
        for body in (
            "a = Add (x, low)  y = Softmax (a)",
            "a = Where (keep, x, low)  y = Softmax (a)",
            "f = Cast <to = 1> (keep)  m = Mul (f, low)  a = Add (x, m)  y = Softmax (a)",
            "a = Add (x, several)  y = Softmax (a)",
            "m = ConstantOfShape <value = float[1] {-1e9}> (shape)  a = Add (x, m)  y = Softmax (a)",
            "m = ConstantOfShape (shape)  a = Add (x, m)  y = Softmax (a)",
            "y = If (c) < then_branch = t () => (float[2,4] d) { a = Add (x, low)  d = Softmax (a) },"
            " else_branch = e () => (float[2,4] f) { f = Abs (x) } >",
        )
    ),
    "cast-table": tuple(
        (17, "chain", FP16.replace("{ %s }", "{ i = Cast <to = 7> (z)  %s }") % body)
        for body in (
            "r = Gather (table, i)  y = Cast <to = 10> (r)",
            "r = Gather <axis = 1> (table, i)  y = Cast <to = 10> (r)",
            "r = Gather (table, i)  y = Cast <to = 10> (r)  o = Neg (r)",
            "r = Gather (w, i)  y = Cast <to = 10> (r)",
        )
    ),
    "drop-second-quantizer": tuple(
        (
            17,
            "y",
            TWICE % (more, body.replace(" D ", " DequantizeLinear ").replace(" Q ", " QuantizeLinear ")),
        )
        for more, body in (
            ("", "b = D (q, s, z)  y = Q (b, s, z)  n = D (y, s, z)"),
            ("", "a = Q (x, s, z)  b = D (a, s, z)  y = Q (b, s, z)  n = D (y, s, z)"),
            ("", "b = D (q, ss, zz)  y = Q (b, ss, zz)  n = D (y, ss, zz)"),
            ("", "b = D <axis = 1> (q, ss, zz)  y = Q <axis = -1> (b, ss, zz)  n = D (y, ss, zz)"),
            ("", "b = D (q, s, z)  y = Q (b, s, z8)  n = D (y, s)"),
            ("", "b = D (q, s, z)  y = Q (b, r, z)  n = D (y, s)"),
            ("", "b = D (q, s, z)  y = Q (b, s)  n = D (y, s)"),
            ("", "b = D (q, s)  y = Q (b, s, zero)  n = D (y, s)"),
            ("", "b = Neg (x)  y = Q (b, s, z)  n = D (y, s)"),
            ("", "b = my.DequantizeLinear (q, s)  y = Q (b, s)  n = D (y, s)"),
            (", uint8[A] y", "b = D (q, s)  y = Q (b, s)  n = D (y, s)"),
            ("", "n = D (q, s)  y = Q (n, s)"),
            ("", f"b = D (q, s)  n = {BRANCH} {{ y = Q (b, s)  d = D (y, s) }}, {OTHER} >"),
            ("", f"b = D (q, s)  y = Q (b, s)  n = {BRANCH} {{ d = D (y, s) }}, {OTHER} >"),
            ("", f"a = Q (x, s)  n = {BRANCH} {{ b = D (a, s)  y = Q (b, s)  d = D (y, s) }}, {OTHER} >"),
        )
    ),
}


def facts_of(kind: str, facts: Facts) -> list[Fact]:
    """Return the facts of a kind, or of the node with a given result."""
    if kind == "node":
        return [Fact(node=facts.model.graph.nodes[-1])]
    if kind == "chain":
        return [Fact(chain=tuple(Step(node, "operator") for node in facts.model.graph.nodes[1:]))]
    named = [node for node in facts.model.graph.nodes if node.outputs[0].name == kind]
    return [Fact(node=node) for node in named] or list(facts.of(kind))


@pytest.mark.parametrize("rewrite", CASES)
def test_patches_of_several_operators(rewrite: str, snapshot: SnapshotAssertion) -> None:
    found = {}
    for opset, kind, text in CASES[rewrite]:
        model = small(text, opset)
        patches = [whole(proposed(rewrite, fact, model)) for fact in facts_of(kind, Facts(model))]
        label = " ".join(text.partition("> {")[2].split()) or text
        found[f"{opset} {text.partition('[')[0]}: {label}"] = patches
    assert found == snapshot
