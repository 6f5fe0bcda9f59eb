"""Tests of rewritten models as expressions of tensor names. ``<x>`` is ``x`` rounded to FP16."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, numpy_helper

from trtlint.measurement.formats import BF16, FP16, TF32
from trtlint.measurement.narrowing import Narrowing, RewrittenModel
from trtlint.measurement.rewriting import rewrite
from trtlint.measurement.trialmodel import load_trial_model

HEAD = '< ir_version: 8, opset_import: ["" : 17] > g '
PLAIN = """(float[2,4] x) => (float[2,3] y) < float[4,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3},
float[3] b = {1, 2, 3} > { [p] a = MatMul (x, w) [q] c = Add (a, b) [r] d = Relu (c) [s] y = Sqrt (d) }"""


def written(folder: Path, text: str, narrowing: Narrowing | None = None, **more: Any) -> RewrittenModel:
    path = folder / "model.onnx"
    onnx.save(onnx.parser.parse_model(f"{HEAD} {text}"), path)
    return rewrite(load_trial_model(path), narrowing, **more)


def expressions(found: RewrittenModel) -> dict[str, str]:
    """Return the expression of each value of the model, without renamed values."""
    graph = onnx.ModelProto.FromString(found.data).graph
    texts: dict[str, str] = {}
    for tensor in graph.initializer:
        if tensor.name.startswith("trtlint/"):
            texts[tensor.name] = str(numpy_helper.to_array(tensor).tolist())
    for node in graph.node:
        inputs = [texts.get(name, name) if name.startswith("trtlint/") else name for name in node.input]
        to = next((each.i for each in node.attribute if each.name == "to"), 0)
        if to == TensorProto.FLOAT16:
            text = f"half {inputs[0]}"
        elif to == TensorProto.FLOAT and inputs[0].startswith("half "):
            text = f"<{inputs[0].removeprefix('half ')}>"
        elif node.op_type == "Identity":
            (text,) = inputs
        else:
            text = f"{node.op_type}({', '.join(inputs)})"
        texts[node.output[0]] = text
    return {name: text for name, text in texts.items() if not name.startswith("trtlint/")}


def nodes(*paths: str) -> frozenset[str]:
    return frozenset(paths)


@pytest.mark.parametrize(
    ("narrowing", "expected"),
    [
        (None, ["MatMul(x, w)", "Add(a, b)", "Relu(c)", "Sqrt(d)"]),
        (Narrowing(FP16), ["<MatMul(<x>, <w>)>", "<Add(a, <b>)>", "Relu(c)", "<Sqrt(d)>"]),
        (Narrowing(FP16, fused=True), ["<MatMul(<x>, <w>)>", "Add(a, b)", "Relu(c)", "<Sqrt(d)>"]),
        (
            Narrowing(FP16, fused=True, stored=nodes("c")),
            ["MatMul(<x>, <w>)", "<Add(a, b)>", "Relu(c)", "<Sqrt(d)>"],
        ),
        (
            Narrowing(FP16, fused=True, stored=nodes("y", "d")),
            ["MatMul(<x>, <w>)", "Add(a, b)", "<Relu(c)>", "<Sqrt(d)>"],
        ),
        (Narrowing(FP16, keep=nodes("p")), ["MatMul(x, w)", "<Add(<a>, <b>)>", "Relu(c)", "<Sqrt(d)>"]),
        (
            Narrowing(FP16, keep=nodes("p"), round_inputs=True),
            ["MatMul(<x>, w)", "<Add(<a>, <b>)>", "Relu(c)", "<Sqrt(d)>"],
        ),
        (Narrowing(FP16, keep=nodes("q")), ["<MatMul(<x>, <w>)>", "Add(a, b)", "Relu(<c>)", "<Sqrt(d)>"]),
        (
            Narrowing(FP16, keep=nodes("q"), fused=True),
            ["<MatMul(<x>, <w>)>", "Add(a, b)", "Relu(c)", "<Sqrt(d)>"],
        ),
        (
            Narrowing(FP16, keep=nodes("r", "s")),
            ["<MatMul(<x>, <w>)>", "<Add(a, <b>)>", "Relu(c)", "Sqrt(d)"],
        ),
        (
            Narrowing(FP16, clamped=nodes("w", "x")),
            [
                "<MatMul(<x>, <Min(Max(w, -65504.0), 65504.0)>)>",
                "<Add(a, <b>)>",
                "Relu(c)",
                "<Sqrt(d)>",
            ],
        ),
    ],
)
def test_where_numbers_are_rounded(tmp_path: Path, narrowing: Narrowing | None, expected: list[str]) -> None:
    found = written(tmp_path, PLAIN, narrowing, probed=False)
    assert expressions(found) == dict(zip("acdy", expected, strict=True))
    assert (found.probes, found.outputs, found.sums) == ((), ("y",), 0)


@pytest.mark.parametrize("narrowing", [None, Narrowing(FP16), Narrowing(BF16), Narrowing(TF32)])
def test_inputs_of_16_bits_are_rounded_to_their_own_type(tmp_path: Path, narrowing: Narrowing | None) -> None:
    text = "(float16[2,4] x) => (float[2,4] y) { [c] y = Cast <to = 1> (x) }"
    assert expressions(written(tmp_path, text, narrowing, probed=False)) == {"y": "Cast(<x>)"}


def test_tf32_rounds_the_operands_of_products_alone(tmp_path: Path) -> None:
    found = expressions(written(tmp_path, PLAIN, Narrowing(TF32), probed=False))
    assert list(found) == list("acdy")
    assert found["a"].startswith("MatMul(Add(Sub(Mul(")
    assert [found[name] for name in "cdy"] == ["Add(a, b)", "Relu(c)", "Sqrt(d)"]


@pytest.mark.parametrize(
    ("call", "narrowing", "expected"),
    [
        ("Gemm (x, w, b)", None, "Gemm(x, w, b)"),
        ("Gemm (x, w, b)", Narrowing(FP16), "<Add(<Gemm(<x>, <w>)>, <b>)>"),
        ("Gemm (x, w, b)", Narrowing(FP16, fused=True), "<Add(Gemm(<x>, <w>), b)>"),
        ("Gemm (x, w, b)", Narrowing(FP16, keep=nodes("p")), "Gemm(x, w, b)"),
        ("Gemm <beta = 2.0> (x, w, b)", Narrowing(FP16), "<Gemm(<x>, <w>, <b>)>"),
        ("ReduceL2 (x)", None, "Sqrt(ReduceSum(Mul(x, x)))"),
        ("ReduceL2 (x)", Narrowing(FP16), "<Sqrt(<ReduceSum(<Mul(<x>, <x>)>)>)>"),
        ("ReduceL2 (x)", Narrowing(FP16, fused=True), "<ReduceL2(x)>"),
        ("ReduceL2 (x)", Narrowing(FP16, keep=nodes("p")), "ReduceL2(x)"),
        ("Transpose (x)", Narrowing(FP16), "Transpose(<x>)"),
        ("Transpose (x)", Narrowing(FP16, fused=True), "<Transpose(x)>"),
        ("Softplus (x)", Narrowing(FP16, fused=True), "<Softplus(x)>"),
        ("Shape (x)", Narrowing(FP16), "Shape(<x>)"),
        ("Resize (x, roi, scales)", Narrowing(FP16), "<Resize(<x>, <roi>, scales)>"),
        ('Clip (x, "", top)', Narrowing(FP16), "Clip(<x>, , <top>)"),
    ],
)
def test_how_an_operator_is_written(
    tmp_path: Path, call: str, narrowing: Narrowing | None, expected: str
) -> None:
    type_ = "int64[2]" if "Shape" in call else "float[]"
    text = f"""(float[2,4] x) => ({type_} y)
    < float[4,3] w = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}}, float[3] b = {{1, 2, 3}}, float top = {{3}},
      float[4] roi = {{0, 0, 1, 1}}, float[2] scales = {{2, 2}} > {{ [p] y = {call} }}"""
    assert expressions(written(tmp_path, text, narrowing, probed=False)) == {"y": expected}


def test_only_narrow_tensors_are_rounded(tmp_path: Path) -> None:
    text = """(float[2] x, double[2] wide, int64[2] n) => (float[2] y, double[2] z, int64[2] m)
    { a = Cast <to = 11> (x) z = Add (a, wide) m = Add (n, n) b = Cast <to = 1> (n) y = Mul (x, b) }"""
    found = written(tmp_path, text, Narrowing(FP16), probed=False)
    assert expressions(found) == {
        "a": "Cast(<x>)",
        "z": "Add(a, wide)",
        "m": "Add(n, n)",
        "b": "<Cast(n)>",
        "y": "<Mul(<x>, b)>",
    }
    assert found.outputs == ("y", "z")


@pytest.mark.parametrize(
    ("before", "narrowing", "rounded"),
    [
        ("Conv (x, w)", Narrowing(FP16, fused=True), ["n", "y"]),
        ("Neg (x)", Narrowing(FP16, fused=True), ["y"]),
        ("Conv (x, w)", Narrowing(FP16, fused=True, stored=nodes("n")), ["n", "y"]),
        ("Conv (x, w)", Narrowing(FP16, fused=True, stored=nodes()), ["y"]),
        ("Conv (x, w)", Narrowing(FP16, fused=True, keep=nodes("q")), ["y"]),
        ("Neg (x)", Narrowing(FP16), ["n", "y"]),
    ],
)
def test_the_result_of_a_folded_norm_is_rounded(
    tmp_path: Path, before: str, narrowing: Narrowing, rounded: list[str]
) -> None:
    """A fused build stores the result of a convolution with the scale of the norm."""
    text = f"""(float[1,2,3,3] x) => (float[1,2,3,3] y)
    < float[2,2,1,1] w = {{1, 2, 3, 4}}, float[2] g = {{1, 2}} >
    {{ [p] h = {before} [q] n = BatchNormalization (h, g, g, g, g) [r] y = Sigmoid (n) }}"""
    found = expressions(written(tmp_path, text, narrowing, probed=False))
    assert [name for name in "hny" if found.get(name, "").startswith("<")] == rounded
