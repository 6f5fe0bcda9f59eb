"""Tests of convolution facts: sources of weights and bounds of results."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.graphs import facts_of
from tests.sampling import sample
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.convolution import Convolution
from trtlint.model.load import load


def convolutions(facts: Facts) -> list[Convolution]:
    return [fact for fact in facts.of("convolution") if isinstance(fact, Convolution)]


def only(body: str, inputs: str = "", opset: int = 17) -> Convolution:
    text = f"""
    < ir_version: 8, opset_import: ["" : {opset}] >
    g (float[1,8,16,16] x{inputs}) => (float[1,8,16,16] y)
    < float[8,8,1,1] w = {{}}, float[8,8,1,1] w2 = {{}}, float six = {{6}}, float zero = {{0}},
      float scale = {{0.1}}, int8 point = {{0}}, float[8] ones = {{}} >
    {{ {body} }}
    """
    (found,) = convolutions(facts_of(text))
    return found


@pytest.mark.slow
def test_labels_of_exported_models(exported: Path) -> None:
    wrong = {}
    for line in sample((exported / "labels.jsonl").read_text().splitlines()):
        label = json.loads(line)
        sources = Counter(
            c.weight.source for c in convolutions(Facts(load(exported / f"{label['model']}.onnx")))
        )
        if dict(sources) != label["conv_weights"]:
            wrong[label["model"]] = (dict(sources), label["conv_weights"])
    assert not wrong


@pytest.mark.parametrize(
    ("weight", "source", "how"),
    [
        ("", "initializer", "w"),
        ("v = Identity (w)", "initializer", "w"),
        ("v = Transpose <perm = [1, 0, 2, 3]> (w)", "foldable", "Transpose"),
        ("v = Mul (w, w2)", "foldable", "Mul"),
        ("q = QuantizeLinear (w, scale, point) v = DequantizeLinear (q, scale, point)", "quantized", None),
        (
            "q = QuantizeLinear (w, scale, point) d = DequantizeLinear (q, scale, point) v = Identity (d)",
            "quantized",
            None,
        ),
        ("v = Mul (w, style)", "runtime", "Mul"),
        ("v = Identity (style)", "runtime", "input style"),
        # Q/DQ on values computed from the input quantizes an activation, not a weight.
        (
            "s = Mul (w, style) q = QuantizeLinear (s, scale, point) v = DequantizeLinear (q, scale, point)",
            "runtime",
            None,
        ),
    ],
)
def test_source_of_the_weight(weight: str, source: str, how: str | None) -> None:
    read = "v" if weight else "w"
    found = only(f"{weight} y = Conv (x, {read})", ", float[8,8,1,1] style")
    assert found.weight.source == source
    assert how is None or found.weight.how == how


def test_a_weight_that_is_fed_has_no_operators_and_names_the_input() -> None:
    found = only("y = Conv (x, style)", ", float[8,8,1,1] style")
    assert (found.weight.source, found.weight.operators, found.weight.how) == ("runtime", (), "input style")
    assert found.weight.origin == "style"


def test_the_run_time_operand_is_followed_to_its_origin() -> None:
    found = only("a = Mul (w, w2) b = Mul (a, style) y = Conv (x, b)", ", float[8,8,1,1] style")
    assert (found.weight.operators, found.weight.origin) == (("Mul",), "style")


@pytest.mark.parametrize(
    ("behind", "op", "low", "high", "clip_like"),
    [
        ("y = Clip (c, zero, six)", "Clip", 0.0, 6.0, True),
        ("y = Clip (c, , six)", "Clip", None, 6.0, True),
        ("y = Clip (c, zero)", "Clip", 0.0, None, False),
        ("y = Clip (c)", "Clip", None, None, False),
        ("y = Clip (c, limit, limit)", "Clip", None, None, True),
        ("y = Relu (c)", "Relu", 0.0, None, False),
        ("r = Relu (c) y = Min (six, r)", "Relu → Min", 0.0, 6.0, True),
        ("r = Max (c, zero) y = Min (r, six)", "Max → Min", 0.0, 6.0, True),
        ("r = Min (c, six) y = Max (r, zero)", "Min → Max", 0.0, 6.0, True),
        ("y = Max (c, zero)", "Max", 0.0, None, False),
        ("y = Tanh (c)", "Tanh", -1.0, 1.0, False),
        ("s = Sigmoid (c) y = Mul (c, s)", "Swish", None, None, False),
        ("y = Sigmoid (c)", "Sigmoid", 0.0, 1.0, False),
        (
            "n = BatchNormalization (c, ones, ones, ones, ones) y = Clip (n, zero, six)",
            "Clip",
            0.0,
            6.0,
            True,
        ),
        (
            "q = QuantizeLinear (c, scale, point) d = DequantizeLinear (q, scale, point) "
            "y = Clip (d, zero, six)",
            "Clip",
            0.0,
            6.0,
            True,
        ),
        ("s = Add (c, x) y = Clip (s, zero, six)", "Clip", 0.0, 6.0, True),
    ],
)
def test_activation(behind: str, op: str, low: float | None, high: float | None, clip_like: bool) -> None:
    activation = only(f"c = Conv (x, w) {behind}", ", float limit").activation
    assert activation is not None
    assert (activation.op, activation.low, activation.high) == (op, low, high)
    assert activation.clip_like is clip_like
    assert activation.to_output == 0


def test_bounds_in_attributes_up_to_opset_10() -> None:
    found = only("c = Conv (x, w) y = Clip <min = 0.0, max = 6.0> (c)", opset=9)
    assert found.activation is not None
    assert (found.activation.low, found.activation.high, found.activation.clip_like) == (0.0, 6.0, True)


def test_the_largest_float_is_no_bound() -> None:
    found = only("c = Conv (x, w) y = Clip <min = 0.0, max = 3.4028234663852886e38> (c)", opset=9)
    assert found.activation is not None
    assert (found.activation.high, found.activation.clip_like) == (None, False)


@pytest.mark.parametrize("behind", ["y = MatMul (c, c)", "y = Softmax (c)", "y = Conv (c, w)"])
def test_no_activation(behind: str) -> None:
    text = f"""
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[1,8,16,16] x) => (float[1,8,16,16] y)
    < float[8,8,1,1] w = {{}} >
    {{ c = Conv (x, w) {behind} }}
    """
    assert convolutions(facts_of(text))[0].activation is None


def test_distance_to_the_output() -> None:
    body = "c = Conv (x, w) a = Clip (c, zero, six) b = Abs (a) d = Abs (b) y = Abs (d)"
    found = only(body)
    assert found.activation is not None
    assert (found.to_output, found.activation.to_output) == (4, 3)


def test_distance_leads_out_of_the_body_of_an_if() -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (bool cond, float[1,8,16,16] x) => (float[1,8,16,16] y)
    < float[8,8,1,1] w = {} >
    {
      r = If (cond) <
        then_branch = t () => (float[1,8,16,16] a) { c = Conv (x, w) a = Relu (c) },
        else_branch = e () => (float[1,8,16,16] b) { b = Identity (x) }
      >
      y = Abs (r)
    }
    """
    (found,) = convolutions(facts_of(text))
    assert found.to_output == 3


def test_kernel_groups_and_rank() -> None:
    found = only("y = Conv <group = 1> (x, w)")
    assert (found.groups, found.spatial, found.weight.shape, found.dtype) == (1, 2, (8, 8, 1, 1), "f32")
