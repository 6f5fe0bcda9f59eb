"""Tests of the rewritten nodes for facts of several operators."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.fixes.proposing import proposed, small, spelled
from trtlint.facts.base import Fact, Step
from trtlint.facts.facts import Facts

NORM = """(float16[2,8,16] x, float16[16] fed) => (float16[A] y) < float16 two = {16384}, float16 eps = {168},
  float16[16] g = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, float wide = {0.001},
  float16 small = {3}, int64[1] last = {-1}, int64[1] mid = {1}, float16 one = {15360} > { %s }"""
MEAN, VARIANCE = "m = ReduceMean <axes = [-1]> (x)  c = Sub (x, m)", "v = ReduceMean <axes = [-1]> (s)"
LAYER = f"{MEAN}  s = Pow (c, two)  {VARIANCE}  e = Add (v, eps)  r = Sqrt (e)  n = Div (c, r)"
INVERSE = LAYER.replace("r = Sqrt (e)", "q = Sqrt (e)  r = Reciprocal (q)").replace("Div (c", "Mul (c")
NORMS = (
    f"{LAYER}  h = Mul (n, g)  y = Add (h, g)",
    f"{LAYER}  y = Mul (n, g)",
    f"{LAYER}  y = Mul (n, fed)",
    f"{LAYER}  y = Neg (n)",
    f"{LAYER}  h = Mul (n, g)  y = Add (h, c)",
    f"{LAYER.replace('Pow (c, two)', 'Mul (c, c)')}  y = Mul (n, g)",
    f"{LAYER.replace('axes = [-1]', 'axes = [1]')}  y = Mul (n, g)",
    f"{LAYER.replace('axes = [-1]', 'axes = [-1], keepdims = 0')}  y = Mul (n, g)",
    f"{LAYER.replace('Div (c, r)', 'Div (x, r)')}  y = Mul (n, g)",
    f"{INVERSE}  y = Mul (n, g)",
    f"{LAYER.replace('e = Add (v, eps)', 'e = Identity (v)')}  y = Mul (n, g)",
    "xx = Cast <to = 1> (x)  m = ReduceMean <axes = [-1]> (xx)  c = Sub (xx, m)  s = Mul (c, c)"
    "  v = ReduceMean <axes = [-1]> (s)  e = Add (v, wide)  r = Sqrt (e)  f = Div (c, r)"
    "  n = Cast <to = 10> (f)  y = Mul (n, g)",
    f"s = Pow (x, two)  {VARIANCE}  e = Add (v, eps)  r = Sqrt (e)  n = Div (x, r)  y = Mul (n, g)",
    f"s = Pow (x, two)  {VARIANCE}  e = Add (v, eps)  r = Sqrt (e)  n = Div (x, r)  y = Mul (g, n)",
)
CHAINS = (
    "e = Exp (x)  s = Add (e, one)  y = Log (s)",
    "e = Exp (x)  s = Add (one, e)  y = Log (s)",
    "e = Exp (x)  s = Add (e, two)  y = Log (s)",
    "e = Exp (x)  s = ReduceSum <keepdims = 0> (e, last)  y = Log (s)",
    "e = Exp (x)  s = ReduceSum <keepdims = 1> (e, mid)  y = Log (s)",
    "e = Exp (x)  s = ReduceSum (e)  y = Log (s)",
    "q = Mul (x, x)  s = ReduceSum <keepdims = 1> (q, last)  e = Add (s, eps)  n = Sqrt (e)  y = Div (x, n)",
    "q = Mul (x, x)  s = ReduceSum <keepdims = 1> (q, last)  n = Sqrt (s)  y = Div (x, n)",
    "y = ReduceL2 <axes = [-1]> (x)",
    "d = Sub (one, x)  c = Clip (d, small)  q = Div (x, c)  y = Log (q)",
    "d = Sub (one, x)  q = Div (x, d)  y = Log (q)",
    "q = Div (one, x)  y = Neg (q)",
    "a = Mul (x, two)  c = Cos (a)  y = Sin (a)",
)
HEADS = """(float[2,4,6,%s] q, float[2,4,6,%s] k, float[2,4,6,%s] v, float[2,1,6,6] m) => (float[A] y)
< float s = {0.125}, float eight = {8}, float low = {-1e9}, float one = {1} > {
  t = Transpose <perm = [0, 1, 3, 2]> (k)  %s }"""
ATTENTIONS = (
    "a = MatMul (q, t)  b = Mul (a, s)  p = Softmax <axis = -1> (b)  y = MatMul (p, v)",
    "a = MatMul (q, t)  b = Div (a, eight)  p = Softmax <axis = -1> (b)  y = MatMul (p, v)",
    "z = Mul (q, s)  a = MatMul (z, t)  p = Softmax <axis = -1> (a)  y = MatMul (p, v)",
    "z = Mul (q, s)  w = Mul (t, s)  a = MatMul (z, w)  p = Softmax <axis = -1> (a)  y = MatMul (p, v)",
    "a = MatMul (q, t)  b = Mul (a, s)  c = Add (b, m)  p = Softmax <axis = -1> (c)  y = MatMul (p, v)",
    "a = MatMul (q, t)  i = Sub (one, m)  j = Mul (i, low)  c = Add (a, j)  p = Softmax (c)"
    "  y = MatMul (p, v)",
    "a = MatMul (q, t)  r = Identity (a)  b = Mul (r, s)  p = Softmax <axis = -1> (b)  y = MatMul (p, v)",
    "a = MatMul (q, t)  d = Cast <to = 11> (a)  r = Cast <to = 1> (d)  b = Mul (r, s)"
    "  p = Softmax <axis = -1> (b)  y = MatMul (p, v)",
    "a = MatMul (q, t)  r = Add (a, m)  b = Mul (r, s)  p = Softmax <axis = -1> (b)  y = MatMul (p, v)",
)
SIZES = ((8, 8, 8), (64, 64, 64), (20, 20, 12), (260, 260, 8))
WEIGHTS = """(float[1,2,4,4] x) => (float[A] y) < float[2,2,1,1] w = {1, 2, 3, 4}, float two = {2},
  int8[2,2,1,1] q = {1, -2, 100, 127}, float[2] s = {0.5, 0.25}, float t = {0.1}, int8 z = {0},
  bool yes = {1} > { %s }"""
STORED = (
    "n = Mul (w, two)  y = Conv (x, n)",
    "n = Mul (w, two)  y = Conv (x, n)  o = Neg (n)",
    "n, o = Split <axis = 0> (w)  y = Conv (x, n)",
    "y = Conv (x, w)",
    "n = Mul (w, x)  y = Conv (x, n)",
    "d = DequantizeLinear <axis = 0> (q, s)  y = Conv (x, d)",
    "d = DequantizeLinear <axis = 1> (q, s)  y = Conv (x, d)",
    "n = Neg (w)  y = If (yes) < then_branch = a () => (float[1,2,4,4] b) { b = Conv (x, n) },"
    " else_branch = c () => (float[1,2,4,4] d) { d = Neg (x) } >",
    "a = QuantizeLinear (x, t, z)  b = DequantizeLinear (a, t, z)  c = QuantizeLinear (b, t, z)"
    "  d = DequantizeLinear (c, t, z)  y = Conv (d, w)",
    "a = QuantizeLinear (x, t, z)  b = DequantizeLinear (a, t, z)  c = QuantizeLinear (b, two, z)"
    "  d = DequantizeLinear (c, two, z)  y = Conv (d, w)",
    "a = QuantizeLinear (x, t, z)  b = DequantizeLinear (a, t, z)  c = QuantizeLinear (b, t, z)"
    "  y = If (yes) < then_branch = e () => (float[1,2,4,4] f) { f = DequantizeLinear (c, t, z) },"
    " else_branch = g () => (float[1,2,4,4] h) { h = Neg (x) } >",
)
CASES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("fuse-norm", "widen-norm"), tuple(NORM % body for body in NORMS)),
    **dict.fromkeys(
        ("fuse-softplus", "shift-logsumexp", "widen-chain", "add-epsilon"),
        tuple(NORM % body for body in CHAINS),
    ),
    **dict.fromkeys(
        ("scale-on-query", "pad-heads", "rank-four-attention", "mask-by-where"),
        tuple(
            HEADS % (*sizes, body)
            for body in ATTENTIONS
            for sizes in SIZES[: 4 if body is ATTENTIONS[0] else 1]
        ),
    ),
    **dict.fromkeys(
        ("fold-weights", "store-dequantized", "store-operand", "drop-second-quantizer"),
        tuple(WEIGHTS % body for body in STORED),
    ),
}


@pytest.mark.parametrize("opset", [17, 23])
@pytest.mark.parametrize("rewrite", CASES)
def test_facts(rewrite: str, opset: int, snapshot: SnapshotAssertion) -> None:
    found = {}
    for text in CASES[rewrite][:: 1 if opset == 17 else 3]:
        head, _, body = text.partition("> {")
        model = small(text, opset)
        facts = Facts(model)
        chain = tuple(Step(node, "operator") for node in model.graph.nodes)
        every = [
            Fact(node=model.graph.nodes[-1], chain=chain),
            *(fact for kind in KINDS for fact in facts.of(kind)),
        ]
        outcomes = {spelled(proposed(rewrite, fact, model)): None for fact in every}
        label = (
            f"{head.partition(') =>')[0]}: {body.strip()}" if rewrite == "pad-heads" else body.strip(" }\n")
        )
        found[label] = [each for each in outcomes if not each.startswith("there is no")]
    assert found == snapshot


KINDS = (
    "normalization",
    "attention",
    "convolution",
    "constant",
    "division",
    "quantized",
    "sum_of_squares",
    "rounded_integer",
    "node",
)
