"""Tests that a planted wrong rewrite of each kind is caught before any write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from msgspec.structs import force_setattr, replace
from onnx import numpy_helper

from tests.dependencies import RECENT_RUNTIME
from tests.fixes.proving import prove
from trtlint.cli import run
from trtlint.compare.comparison import available
from trtlint.facts.base import Fact
from trtlint.fixes import proposer as real
from trtlint.fixes.patch import Draft, Patch
from trtlint.model.load import Model, load

HEAD = '< ir_version: 10, opset_import: ["" : {opset}] >'
BOTH = (
    HEAD.format(opset=17)
    + """
g (float[1,8,19,64] q, float[1,8,64,19] kt, float[1,8,19,64] v) => (float[1,8,19,64] o)
< float root = {0.35355339} >
{
  qs = Mul (q, root)
  ks = Mul (kt, root)
  scores = MatMul (qs, ks)
  p = Softmax <axis = -1> (scores)
  o = MatMul (p, v)
}
"""
)
NORM = (
    HEAD.format(opset=17)
    + """
g (float[2,5,16] x) => (float[2,5,16] y)
< float two = {2}, float eps = {0.00001} >
{
  m = ReduceMean <axes = [-1]> (x)
  c = Sub (x, m)
  s = Pow (c, two)
  var = ReduceMean <axes = [-1]> (s)
  e = Add (var, eps)
  r = Sqrt (e)
  n = Div (c, r)
  h = Mul (n, gain)
  y = Add (h, bias)
}
"""
)
MASKED = (
    HEAD.format(opset=23)
    + """
g (float[1,4,6,64] q, float[1,4,6,64] k, float[1,4,6,64] v, bool[6,6] m) => (float[1,4,6,64] y)
{ y = Attention (q, k, v, m) }
"""
)
GROUPED = (
    HEAD.format(opset=23)
    + """
g (float[1,4,6,8] q, float[1,2,6,8] k, float[1,2,6,8] v) => (float[1,4,6,8] y)
{ y = Attention (q, k, v) }
"""
)
SCATTER = (
    HEAD.format(opset=18)
    + """
g (float[4,4] x, int64[4,4] i, float[4,4] u) => (float[4,4] y)
{ y = ScatterElements <axis = 0, reduction = "add"> (x, i, u) }
"""
)
FUSED = """
< ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1] >
g (float[2,5,16] x, float[2,5,16] z) => (float[2,5,16] y)
{ %s }
"""
GELU = FUSED % "a = Add (x, z)  y = com.microsoft.BiasGelu (a, bias)"
PACKED = """
< ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1] >
g (float[2,5,3,3,4] x) => (float[2,5,12] y)
{ y = com.microsoft.MultiHeadAttention <num_heads = 3> (x) }
"""
SKIP = FUSED % "y = com.microsoft.SkipLayerNormalization (x, z, gain)"
LOGIT = (
    HEAD.format(opset=17)
    + """
g (float16[1,8,4] x) => (float16[1,8,4] y)
< float16 one = {15360}, float16 eps = {168} >
{
  d = Sub (one, x)
  c = Clip (d, eps)
  q = Div (x, c)
  y = Log (q)
}
"""
)
LOGSUMEXP = (
    HEAD.format(opset=17)
    + """
g (float16[6,6] x) => (float16[6] y)
< int64[1] last = {-1} >
{ e = Exp (x)  s = ReduceSum <keepdims = 0> (e, last)  y = Log (s) }
"""
)
SOFTPLUS = (
    HEAD.format(opset=17)
    + """
g (float16[6,6] x) => (float16[6,6] y)
< float16 one = {15360} >
{ e = Exp (x)  s = Add (e, one)  y = Log (s) }
"""
)
PRELU = (
    HEAD.format(opset=17)
    + """
g (float[1,2,4,4] x) => (float[1,2,4,4] y)
< float[2,2,1,1] w = {1, 2, 3, 4}, float[2,1,1] slope = {0.25, 0.5} >
{ c = Conv (x, w)  y = PRelu (c, slope) }
"""
)
WEIGHT = (
    HEAD.format(opset=19)
    + """
g (float[1,2,4,4] x) => (float[1,2,4,4] y)
< int8[2,2,1,1] w = {1, -2, 100, 127}, float[2] scale = {0.5, 0.25} >
{ d = DequantizeLinear <axis = 0> (w, scale)  y = Conv (x, d) }
"""
)
EXPANDED = (
    HEAD.format(opset=17)
    + """
g (float[1024,1024] x) => (float[1024,1024] y)
< int64[2] shape = {1024, 1024} >
{ e = Expand (row, shape)  y = Add (x, e) }
"""
)
TABLE = (
    HEAD.format(opset=17)
    + """
g (int64[4] i) => (float16[4,1024] y)
{ e = Gather (table, i)  y = Cast <to = 10> (e) }
"""
)
CLIP = (
    HEAD.format(opset=17)
    + """
g (float[6,3] x) => (float[6,4] y)
< float[3,4] w = {1,2,3,4,5,6,7,8,9,1,1,1}, float[4] b = {0,1,2,3}, float lo = {0}, float hi = {3} >
{ m = MatMul (x, w)  a = Add (m, b)  y = Clip (a, lo, hi) }
"""
)
SAMPLING = (
    HEAD.format(opset=20)
    + """
g (float[1,2,8,8] x, float[1,4,4,2] grid) => (float[1,2,4,4] y)
{ y = GridSample <mode = "linear", padding_mode = "border"> (x, grid) }
"""
)
TWINS = (
    HEAD.format(opset=17)
    + """
g (float[4] x) => (float[4] y)
{ [n] a = Relu (x)  [n] y = Neg (a) }
"""
)
STORED = {"row": (1, 1024), "table": (1024, 1024)}
"""Stored tensors too large for ONNX text, by their names in models."""
TRT, RTX = ("--trt", "10.7", "--fp16"), ("--rtx", "1.7", "--gpu", "L4")


def model_of(text: str) -> onnx.ModelProto:
    """Return a model with a norm of gain one and bias zero, as exporters write it."""
    model = onnx.parser.parse_model(text)
    if "gain" in text or "bias" in text:
        model.graph.initializer.append(numpy_helper.from_array(np.ones(16, np.float32), "gain"))
        model.graph.initializer.append(numpy_helper.from_array(np.zeros(16, np.float32), "bias"))
    read = {name for node in model.graph.node for name in node.input}
    for name in read & STORED.keys():
        numbers = np.random.default_rng(0).normal(size=STORED[name]).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(numbers, name))
    return model


def half_off(patch: Patch) -> None:
    """Make the half of a Gelu 30 % too small."""
    for tensor in patch.initializers:
        if tensor.name.endswith("half"):
            tensor.CopyFrom(numpy_helper.from_array(np.array(0.35, np.float32), tensor.name))


def foreign_gain_dropped(patch: Patch) -> None:
    """Remove the gain of a norm with a sum."""
    if any(node.op_type == "LayerNormalization" for node in patch.insert):
        ones = numpy_helper.from_array(np.ones(16, np.float32), "ones")
        force_setattr(patch, "initializers", (*patch.initializers, ones))
    for node in patch.insert:
        if node.op_type == "LayerNormalization":
            node.input[1] = "ones"


def scale_off(patch: Patch) -> None:
    """Make the scale 30 % too small."""
    tensor = next(t for t in patch.initializers if t.name.endswith("scale"))
    tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * np.float32(0.7), tensor.name))


def gain_dropped(patch: Patch) -> None:
    """Replace the gain by ones, its value in the file."""
    ones = numpy_helper.from_array(np.ones(16, np.float32), "ones")
    force_setattr(patch, "initializers", (*patch.initializers, ones))
    patch.insert[0].input[1] = "ones"


def bias_dropped(patch: Patch) -> None:
    """Remove the bias, which is zero in the file."""
    del patch.insert[0].input[2]


def wrong_fill(patch: Patch) -> None:
    """Give masked elements a score of zero, so that they keep a probability."""
    for node in patch.insert:
        if node.op_type == "Where":
            node.input[2] = next(t.name for t in patch.initializers if t.name.endswith("zero"))
    last = [node for node in patch.insert if node.op_type == "Where"][-1]
    last.input[2] = last.input[1]


def heads_in_turn(patch: Patch) -> None:
    """Assign the heads of K and V in turn instead of by group."""
    turned = {(0, 0, 1, 1): [0, 1, 0, 1]}
    for tensor in patch.initializers:
        other = turned.get(tuple(numpy_helper.to_array(tensor).reshape(-1).tolist()))
        if other is not None:
            tensor.CopyFrom(numpy_helper.from_array(np.array(other, np.int64), tensor.name))


def wrong_axis(patch: Patch) -> None:
    """Compute the softmax over the queries."""
    for node in patch.insert:
        if node.op_type == "Softmax":
            node.attribute[0].i = -2


def wrong_scatter_axis(patch: Patch) -> None:
    """Transpose the indices without the updates."""
    turned = [node for node in patch.insert if node.op_type == "Transpose"]
    turned[1].attribute[0].ints[:] = [0, 1]


def initializer_off(patch: Patch) -> None:
    """Make a stored tensor 30 % too small."""
    (tensor,) = patch.initializers
    tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * np.float32(0.7), tensor.name))


def another_row(patch: Patch) -> None:
    """Read another row."""
    other = numpy_helper.from_array(np.full((1, 1024), 0.7, np.float32), "other")
    force_setattr(patch, "initializers", (other,))
    force_setattr(patch, "rewire", tuple((node, port, "other") for node, port, _ in patch.rewire))


def columns_for_rows(patch: Patch) -> None:
    """Read the table along its other axis."""
    nodes = {node.op_type: node for node in patch.insert}
    turned = onnx.helper.make_node("Transpose", [nodes["Cast"].output[0]], ["turned"], perm=[1, 0])
    nodes["Gather"].input[0] = "turned"
    force_setattr(patch, "insert", (*patch.insert, turned))


def key_for_query(patch: Patch) -> None:
    """Swap Q and K."""
    first, second = [node for node in patch.insert if node.op_type == "Gather"][:2]
    first.input[1] = second.input[1]


def swapped(one: str, other: str) -> Callable[[Patch], None]:
    """Replace an operator by another one."""

    def spoil(patch: Patch) -> None:
        for node in patch.insert:
            if node.op_type == one:
                node.op_type = other

    return spoil


def maximum_not_added(patch: Patch) -> None:
    """Omit the addition of the subtracted maximum."""
    last = patch.insert[-1]
    last.input[1] = last.input[0]


def wrong_maximum(patch: Patch) -> None:
    """Compute the maximum over the other axis, so that it no longer matches the sum."""
    for node in patch.insert:
        if node.op_type == "ReduceMax":
            node.attribute[0].ints[:] = [0]


def padding_dropped(patch: Patch) -> None:
    """Remove another attribute together with the mode."""
    del patch.insert[0].attribute[:]


CASES: dict[str, tuple[str, tuple[str, ...], str, Callable[[Patch], None]]] = {
    "scale off by 30 %": (BOTH, TRT, "scale-on-query", scale_off),
    "gain dropped": (NORM, TRT, "fuse-norm", gain_dropped),
    "bias dropped": (NORM, TRT, "fuse-norm", bias_dropped),
    "scale of the operator off": (MASKED, RTX, "decompose-attention", scale_off),
    "wrong mask fill": (MASKED, RTX, "decompose-attention", wrong_fill),
    "wrong head": (GROUPED, RTX, "decompose-attention", heads_in_turn),
    "wrong axis": (MASKED, RTX, "decompose-attention", wrong_axis),
    "half of a fused operator off": (GELU, RTX, "write-out-fused", half_off),
    "gain of a fused norm dropped": (SKIP, RTX, "write-out-fused", foreign_gain_dropped),
    "divisor for dividend": (LOGIT, TRT, "widen-chain", swapped("Sub", "Add")),
    "no logarithm": (LOGIT, TRT, "widen-chain", swapped("Log", "Sqrt")),
    "maximum not added again": (LOGSUMEXP, TRT, "shift-logsumexp", maximum_not_added),
    "maximum over a wrong axis": (LOGSUMEXP, TRT, "shift-logsumexp", wrong_maximum),
    "another activation": (SOFTPLUS, TRT, "fuse-softplus", swapped("Softplus", "Softsign")),
    "slope on the wrong side": (PRELU, RTX, "write-out-prelu", swapped("Min", "Abs")),
    "scale of a weight off": (WEIGHT, RTX, "store-dequantized", initializer_off),
    "another row": (EXPANDED, RTX, "broadcast-constant", another_row),
    "columns for rows": (TABLE, RTX, "cast-table", columns_for_rows),
    "bound off": (CLIP, ("--trt", "10.13"), "clip-by-minimum", initializer_off),
    "another attribute gone": (SAMPLING, ("--trt", "11.1"), "leave-out-mode", padding_dropped),
    "another operator of the name": (TWINS, TRT, "name-nodes", swapped("Neg", "Abs")),
    "K for Q": (PACKED, TRT, "write-out-fused", key_for_query),
    "wrong axis of updates": (SCATTER, RTX, "write-out-scatter", wrong_scatter_axis),
}


@pytest.mark.slow
@pytest.mark.parametrize("planted", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize("case", CASES)
def test_wrong_rewrites_are_caught(
    case: str,
    planted: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text, target, name, spoil = CASES[case]
    if not available():
        pytest.skip("onnxruntime is not installed")
    path = tmp_path / "model.onnx"
    onnx.save(model_of(text), path)

    def spoiled(fact: Fact, model: Model) -> Patch:
        patch = real(name)(fact, model)
        spoil(patch)
        return patch

    if planted:
        monkeypatch.setattr("trtlint.fixes.session.proposer", lambda n: spoiled if n == name else real(n))
    run(["fix", str(path), *target, "--isolated", "--verify"])
    out = capsys.readouterr().out
    assert (f"{name}: the proof failed" in out) is planted
    assert (f"{name}: " in out and "largest difference" in out) is not planted


@pytest.mark.parametrize("size", [8, -1])
def test_a_size_that_is_inferred_is_caught_by_an_empty_batch(size: int, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    text = f"{HEAD.format(opset=17)} g (float[B,T,16] x) => (float[B,T,16] y) {{ y = Abs (x) }}"
    onnx.save(onnx.parser.parse_model(text), path)
    model = load(path)
    draft = Draft(model, model.graph.nodes[0])
    apart = draft.op("Abs", draft.op("Reshape", "x", draft.ints(0, 0, 2, size)))
    draft.op("Reshape", apart, draft.ints(0, 0, 16), out="y")
    found = prove(model, draft.patch("takes heads apart", model.graph.nodes))
    assert found.equal is (size > 0)
    assert ("empty batch or length" in found.words) is (size < 0)


@RECENT_RUNTIME
def test_a_size_that_is_inferred_is_caught_in_onnx_runtime(tmp_path: Path) -> None:
    if not available():
        pytest.skip("polygraphy or onnxruntime is not installed")
    path = tmp_path / "model.onnx"
    heads = """(float[B,T,16] q) => (float[B,T,16] y)
    { y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, q, q) }"""
    opsets = 'opset_import: ["" : 17, "com.microsoft" : 1]'
    onnx.save(onnx.parser.parse_model(f"< ir_version: 8, {opsets} > g {heads}"), path)
    model = load(path)
    patch = real("write-out-fused")(Fact(node=model.graph.nodes[0]), model)
    assert isinstance(patch, Patch)
    right = prove(model, patch)
    assert right.equal is True, right.words
    inferred = numpy_helper.from_array(np.array([0, 0, 2, -1]))
    tensors = []
    for tensor in patch.initializers:
        copy = onnx.TensorProto()
        copy.CopyFrom(inferred if list(tensor.dims) == [4] else tensor)
        copy.name = tensor.name
        tensors.append(copy)
    found = prove(model, replace(patch, initializers=tuple(tensors)))
    assert found.equal is False
    assert "empty batch or length" in found.words
