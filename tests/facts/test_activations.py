"""Tests of activations after a convolution: supported operators and bounds of their results."""

# ruff: noqa: E501 - a graph, a message or a case in one line is read at once

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.graphs import by_body, model_of_bodies
from trtlint.facts.blocks.activations import Activation, activation_of, nodes_to_output

STORED = """float[8,8,1,1] w = {}, float six = {6}, float zero = {0}, float one = {1}, float three = {3},
float scale = {0.1}, int8 point = {0}, float[8] ones = {}, float inf = {3.4028235e38}, float low = {-3.4028235e38}"""
INPUTS = "float[1,8,16,16] x, float limit, bool[1] m"
SMOOTH = "Celu Elu Gelu HardSigmoid HardSwish LeakyRelu Mish Selu Sigmoid Softplus Softsign Swish Tanh ThresholdedRelu"
BODIES = (
    *(f"y = {op} (c)" for op in SMOOTH.split()),
    "y = PRelu (c, w)",
    "y = PRelu (x, c)",
    "y = my.Tanh (c)",
    "y = Neg (c)",
    "s = Sigmoid (c)  y = Mul (s, c)",
    "s = HardSigmoid (c)  y = Mul (c, s)  z = Neg (y)",
    "s = Sigmoid (c)  y = Mul (x, s)",
    "s = Sigmoid (c)  y = Add (c, s)",
    "s = Sigmoid (c)  y = my.Mul (c, s)",
    "s = Sigmoid (c)  z = Neg (s)  y = Mul (c, s)",
    "y = Clip (c, zero, six)",
    "y = Clip (c, low, inf)",
    "y = Clip (c, limit, six)",
    "y = Clip (c, zero, limit)",
    "y = Clip (x, c, six)",
    "y = Clip (x, zero, c)",
    "y = my.Clip (c, zero, six)",
    "y = Max (c, zero)",
    "y = Max (zero, c)",
    "y = Min (six, c)",
    "y = Min (c, six, three)",
    "y = Min (c)",
    "y = Min (c, limit)",
    "r = Relu (c)  s = Min (r, six)  y = Clip (s, one, three)",
    "r = Relu (c)  s = Max (r, one)  y = Neg (s)",
    "r = Clip (c, zero, three)  y = Clip (r, one, six)",
    "r = Relu (c)  y = Neg (r)  z = Min (r, six)",
    "r = Relu (c)  y = Min (r, limit)",
    "r = Max (c, zero)  s = Min (c, zero)  t = Mul (s, scale)  y = Add (r, t)",
    "s = Min (zero, c)  t = Mul (s, scale)  r = Relu (c)  y = Add (r, t)",
    "r = Clip (c, zero)  s = Clip (c, , zero)  t = Mul (s, scale)  y = Add (r, t)",
    "r = Max (c, zero)  s = Min (c, six)  y = Add (r, s)",
    "r = Max (c, zero)  s = Clip (c, zero, six)  y = Add (r, s)",
    "a = Add (c, x)  y = Relu (a)",
    "a = Sub (x, c)  y = Relu (a)",
    "a = Mul (x, c)  y = Relu (a)",
    "a = Div (c, x)  y = Relu (a)",
    "a = Div (x, c)  y = Relu (a)",
    "a = Reshape (x, c)  y = Relu (a)",
    "a = Cast <to = 1> (c)  y = Relu (a)",
    "a = DepthToSpace <blocksize = 2> (c)  y = Relu (a)",
    "a = BatchNormalization (c, ones, ones, ones, ones)  y = Relu (a)",
    "q = QuantizeLinear (c, scale, point)  d = DequantizeLinear (q, scale, point)  y = Relu (d)",
    "a = MatMul (c, c)  y = Relu (a)",
    "a = Identity (c)  b = Identity (a)  d = Identity (b)  e = Identity (d)  y = Relu (e)",
    "a = Identity (c)  b = Identity (a)  d = Identity (b)  e = Identity (d)  f = Identity (e)  y = Relu (f)",
    "y = Relu (c)  b = Tanh (c)",
    "a = Identity (c)  b = Tanh (a)  y = Relu (c)",
    "a = Relu (c)  b = Neg (a)  d = Abs (b)  y = Neg (d)",
    "a = Relu (c)",
)


def words(activation: Activation | None) -> str:
    if activation is None:
        return "none"
    clips = "clip-like" if activation.clip_like else "no clip"
    nodes = " ".join(node.output.name for node in activation.nodes)
    low, high = ("?" if bound is None else f"{bound:.4g}" for bound in (activation.low, activation.high))
    return f"{activation.op} {low}..{high}, {clips}, {activation.to_output}: {nodes}"


def test_the_nearest_activation(snapshot: SnapshotAssertion) -> None:
    bodies = [f"c = Conv (x, w)  {body}" for body in BODIES]
    model = model_of_bodies(bodies, INPUTS, STORED, '"" : 20, "my" : 1')
    distances = nodes_to_output(model.graph)
    values = [node.output for node in model.graph.nodes if node.op == "Conv"]
    found = ((value.name, words(activation_of(value, model.constants, distances))) for value in values)
    assert by_body(found, bodies) == snapshot


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("min = -1.0, max = 6.0", "Clip -1..6, clip-like, 0: y"),
        ("min = 0.0", "Clip 0..?, no clip, 0: y"),
        ("max = 3.3e38", "Clip ?..3.3e+38, clip-like, 0: y"),
        ("min = -3.4028234663852886e38, max = 3.4028234663852886e38", "Clip ?..?, no clip, 0: y"),
    ],
)
def test_bounds_in_attributes(attributes: str, expected: str) -> None:
    model = model_of_bodies([f"c = Neg (x)  y = Clip <{attributes}> (c)"], "float[4] x", opsets='"" : 9')
    value, distances = model.graph.nodes[0].output, nodes_to_output(model.graph)
    assert words(activation_of(value, model.constants, distances)).replace("_0", "") == expected
