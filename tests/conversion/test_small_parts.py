"""Tests of small conversion functions with complete results."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from tests.graphs import model_of
from trtlint.conversion import run as running
from trtlint.conversion.casting import _why
from trtlint.conversion.fixed import _typed_by_author, fixed_nodes
from trtlint.conversion.known import known_numbers
from trtlint.conversion.labels import Labels
from trtlint.conversion.layertypes import AskedTypes
from trtlint.conversion.result import Conversion, ConversionCheck, Verdict
from trtlint.conversion.run import _advice, _is_little_time, _passes_clearly, _rank
from trtlint.conversion.session import ConversionRequest, PendingConversion
from trtlint.conversion.typing_plan import TypePlan
from trtlint.conversion.weight import elements, flops
from trtlint.model.graph import Node
from trtlint.model.load import Model


def small(text: str, opset: int = 17) -> Model:
    """Read a graph in ONNX text without a header."""
    return model_of(f'< ir_version: 10, opset_import: ["" : {opset}] > g {text}')


def written(model: Model, name: str) -> Node:
    """Return the operator that computes a tensor."""
    value = model.graph.resolve(name)
    assert value is not None
    assert value.producer is not None
    return value.producer


@pytest.mark.parametrize(
    ("inputs", "call", "expected"),
    [
        ("float[2,3] a, float[3,5] b", "y = MatMul (a, b)", 2 * 2 * 5 * 3),
        ("float[2,N] a, float[N,5] b", "y = MatMul (a, b)", 2 * 2 * 5 * 64),
        ("float[7,2,3] a, float[3,5] b", "y = MatMul (a, b)", 2 * 7 * 2 * 5 * 3),
        ("float[2,3] a, float[3,5] b", "y = Gemm (a, b)", 2 * 2 * 5 * 3),
        ("float[3,2] a, float[3,5] b", "y = Gemm <transA = 1> (a, b)", 2 * 2 * 5 * 3),
        ("float[1,4,8,8] a, float[6,4,3,3] b", "y = Conv (a, b)", 2 * 6 * 6 * 6 * 4 * 3 * 3),
        ("float[1,4,8,8] a, float[6,2,3,3] b", "y = Conv <group = 2> (a, b)", 2 * 6 * 6 * 6 * 2 * 3 * 3),
        ("float[1,4,8,8] a, float[4,6,3,3] b", "y = ConvTranspose (a, b)", 2 * 4 * 8 * 8 * 6 * 3 * 3),
        ("float[2,3] a, float[3,5] b", 'y = Einsum <equation = "ij,jk->ik"> (a, b)', 2 * 2 * 3 * 5),
        ("float[2,3] a, float[3,5] b", 'y = Einsum <equation = "i j, j k"> (a, b)', 2 * 2 * 3 * 5),
        (
            "float[7,2,3] a, float[3,5] b",
            'y = Einsum <equation = "...ij,jk->...ik"> (a, b)',
            2 * 7 * 2 * 5 * 3,
        ),
        (
            "float[5,1,3] a, float[1,4,3] b, float[1,4,4] c",
            "y = RNN <hidden_size = 4> (a, b, c)",
            2 * (12 + 16) * 5,
        ),
        (
            "float[5,2,3] a, float[1,16,3] b, float[1,16,4] c",
            "y = LSTM <hidden_size = 4> (a, b, c)",
            2 * (48 + 64) * 10,
        ),
        ("float[2,3] a, float[2,3] b", "y = Add (a, b)", 0),
    ],
)
def test_operations_of_a_product(inputs: str, call: str, expected: int) -> None:
    assert flops(written(small(f"({inputs}) => (float[A] out) {{ {call}  out = Neg (y) }}"), "y")) == expected


def test_operations_of_attention() -> None:
    inputs = "float[2,4,3,8] q, float[2,4,5,8] k, float[2,4,5,8] v"
    model = small(f"({inputs}) => (float[2,4,3,8] y) {{ y = Attention (q, k, v) }}", 23)
    assert flops(written(model, "y")) == 4 * (2 * 4 * 3 * 8) * 5
    model = small(f"({inputs.replace('5', 'T')}) => (float[2,4,3,8] y) {{ y = Attention (q, k, v) }}", 23)
    assert flops(written(model, "y")) == 4 * (2 * 4 * 3 * 8) * 64


def test_sizes_of_tensors() -> None:
    model = small("(float[2,3] a, float[N,3] b, float[0] c, float d) => (float[2,3] y) { y = Neg (a) }")
    found = [elements(model.graph.resolve(name)) for name in "abcd"]
    assert found == [6, 192, 0, 1]
    assert elements(None) == 0


RANDOM, PORTS = "the operator draws random numbers", "ONNX has no {} form of {}"
BRANCHES = (
    "<then_branch = t () => (float[2] p) { p = Neg (x) }, else_branch = e () => (float[2] q) { q = Abs (x) }>"
)
SIZES, WHOLE = "the operator computes with shapes", "the operator computes whole numbers"
POSITIONS, HERE = (
    "the operator reads positions or sizes",
    "the author of the model inserted Casts to run this region in FP32",
)


@pytest.mark.parametrize(
    ("body", "type_", "expected"),
    [
        ("y = Neg (x)", "fp16", {}),
        ("y = my.Neg (x)", "fp16", {"y": "my defines this operator; ONNX does not define it"}),
        ("y = RandomNormalLike (x)", "fp16", {"y": RANDOM}),
        (
            "a = Sin (x)  b = Cos (a)  y = Tan (b)",
            "fp16",
            dict.fromkeys("aby", "angles need more digits than FP16"),
        ),
        ("y = Sin (x)", "bf16", {"y": "ONNX has no BF16 form of Sin"}),
        ("y = Det (x)", "bf16", {"y": "ONNX has no BF16 form of Det"}),
        ("y = Nothing (x)", "fp16", {"y": "opset 17 has no such operator"}),
        ("a = Constant <value_float = 1.0> ()  y = Add (x, a)", "fp16", {}),
        ("a = Cast <to = 7> (x)  y = Cast <to = 1> (a)", "fp16", {"a": WHOLE, "y": POSITIONS}),
        ("a = Cast <to = 9> (x)  y = Cast <to = 1> (a)", "fp16", {}),
        (
            "s = Shape (x)  a = Cast <to = 1> (s)  b = Mul (a, w)  y = Mul (x, b)",
            "fp16",
            {"a": POSITIONS, "b": SIZES},
        ),
        ("s = Shape (x)  i = Gather (s, p)  e = Gather (w, i)  y = Mul (x, e)", "fp16", {}),
        (
            "s = SequenceConstruct (x)  y = SequenceAt (s, p)",
            "fp16",
            {
                "s": "s is not a tensor, or its type is unknown",
                "y": "s is not a tensor, or its type is unknown",
            },
        ),
        (
            "s = Shape (x)  i = Gather (s, p)  b = Cast <to = 9> (i)  h = If (b) <then_branch = t () =>"
            " (int64 q) { q = Identity (p) }, else_branch = e () => (int64 r) { r = Neg (p) }>"
            "  f = Cast <to = 1> (h)  g = Mul (f, w)  y = Mul (x, g)",
            "fp16",
            {"f": POSITIONS},
        ),
        (f"y = If (c) {BRANCHES}", "fp16", {"y": "the inputs and outputs of a subgraph keep their types"}),
    ],
)
def test_operators_that_must_stay_in_fp32(body: str, type_: str, expected: dict[str, str]) -> None:
    model = small(
        f"""(float[2] x, bool c) => (float[2] y) < float[2] w = {{1, 2}}, int64 p = {{0}} > {{ {body} }}"""
    )
    found = {node.outputs[0].name: reason for node, reason in fixed_nodes(model, type_, 17).items()}
    assert found == expected


def test_a_fill_value_that_cannot_be_read_stays_in_fp32() -> None:
    body = "s = Shape (x)  f = ConstantOfShape <value = float[1] {1}> (s)  y = Add (x, f)"
    model = small(f"(float[2] x) => (float[2] y) {{ {body} }}")
    (fill,) = (node for node in model.graph.nodes if node.op == "ConstantOfShape")
    assert fill not in fixed_nodes(model, "fp16", 17)
    fill.proto.attribute[0].t.ClearField("float_data")
    fill.proto.attribute[0].t.raw_data = b"ab"
    assert fixed_nodes(model, "fp16", 17)[fill] == "the number that the operator fills with is unknown"


@pytest.mark.parametrize(
    ("inputs", "body", "expected"),
    [
        ("float[2] x", "y = Neg (x)", ""),
        ("float[2] x", "a = Cast <to = 9> (x)  b = Cast <to = 1> (a)  y = Neg (b)", ""),
        ("float[2] x", "a = Cast <to = 7> (x)  y = Cast <to = 10> (a)", ""),
        ("double[2] x", "a = Cast <to = 1> (x)  y = Neg (a)", ""),
        ("float16[2] x", "y = Neg (x)", ""),
        ("float16[2] x", "a = Cast <to = 11> (x)  y = Cast <to = 1> (a)", ""),
        ("float16[2] x", "a = Cast <to = 1> (x)  b = Exp (a)  y = Cast <to = 10> (b)", "a b y"),
        ("bfloat16[2] x", "a = Cast <to = 1> (x)  b = Exp (a)  y = Add (b, w)", "a b y"),
        ("float[2] x", "a = Neg (x)  y = Cast <to = 10> (a)", "a y"),
        ("float[2] x, float16[2] z", "a = Neg (x)  b = Exp (a)  c = Greater (z, z)  y = Where (c, z, z)", ""),
        (
            "float[2] x, float16[2] z, float16 s, uint8 p",
            "a = Neg (x)  b = QuantizeLinear (z, s, p)  y = Neg (a)",
            "",
        ),
        ("float[2] x, float16[2] z", "a = Neg (x)  b = my.Join (a, z)  y = Neg (x)", "a b y"),
        (
            "float16[2] x",
            "k = Constant <value = float[2] {1, 2}> ()  a = Cast <to = 1> (x)  y = Add (a, k)",
            "a y",
        ),
        ("float16[2] x, float[2] z", "a = Cast <to = 1> (x)  b = Add (a, w)  y = Add (z, w)", "a b"),
    ],
)
def test_regions_that_the_author_typed(inputs: str, body: str, expected: str) -> None:
    model = small(f"({inputs}) => (float[A] out) < float[2] w = {{1, 2}} > {{ {body}  out = my.End (y) }}")
    found = {node.outputs[0].name for node in _typed_by_author(model)}
    assert " ".join(sorted(found - {"out"})) == expected


KNOWN = """(float[2,8] x) => (float[A] y, float[A] z) < float[4] w = {{1, 4, 9, 16}}, int64[2] two = {{2, 2}},
    float[66] many, float[2] none = {{-1, 4}}, int64 last = {{1}} > {{ {} }}""".replace(
    "many", f"many = {{{{{', '.join('1' * 66)}}}}}"
)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y = Neg (x)  z = Neg (x)", {}),
        ("a = Sqrt (w)  y = Mul (x, a)  z = Neg (a)", {"a": [1, 2, 3, 4]}),
        ("y = Sqrt (w)  z = Neg (w)", {}),
        ("a = Neg (many)  b = Neg (w)  y = Neg (b)  z = Neg (a)", {"b": [-1, -4, -9, -16]}),
        ("a = Sqrt (none)  y = Neg (a)  z = Neg (a)", {}),
        ("s = Shape (x)  n = Gather (s, last)  a = Cast <to = 1> (n)  y = Neg (a)  z = Neg (a)", {"a": 8}),
        ("s = Shape <start = 1> (x)  a = Cast <to = 1> (s)  y = Neg (a)  z = Neg (a)", {"a": [8]}),
        ("s = Shape <end = 1> (x)  a = Cast <to = 1> (s)  y = Neg (a)  z = Neg (a)", {"a": [2]}),
    ],
)
def test_numbers_that_are_known_before_a_run(body: str, expected: dict[str, object]) -> None:
    model = small(KNOWN.format(body))
    assert {value.name: array.tolist() for value, array in known_numbers(model).items()} == expected


def notes(lacking: str = "", unmatched: str = "", other: str = "") -> tuple[str, ...]:
    """Return the notes about operators and data types of layers."""
    asked = AskedTypes({}, {}, False, tuple(unmatched), tuple(other))
    labels = SimpleNamespace(lacking=tuple(lacking), asked=asked, type="bf16", opset=11)
    assert isinstance(Labels.notes, property)
    assert Labels.notes.fget is not None
    return tuple(Labels.notes.fget(cast("Labels", labels)))


def test_notes_name_five_layers() -> None:
    assert notes() == ()
    assert notes("abcdef", "ghijklm", "nopqrs") == (
        "these operators support BF16 in opset 22, but not in opset 11 of the model: a, b, c, d, e; trtlint "
        "cannot raise the opset of this model, so export the model with a newer opset",
        "the settings name 7 layers that match no operator of the model: g, h, i, j, k",
        "the settings give these layers data types that have no effect: n, o, p, q, r",
    )


def check(verdict: Verdict, name: str = "rehearsal", **figures: float) -> ConversionCheck:
    """Return a check."""
    return ConversionCheck(name, verdict, "", figures)


def result(share: float | None = None) -> Conversion:
    """Return a converted model."""
    return Conversion("a model.onnx", "", "fp16", "fp32", share=share)


def test_the_better_of_two_conversions() -> None:
    def rank(share: float | None, *verdicts: Verdict) -> tuple[bool, float]:
        draft = PendingConversion(result(share), None, cast("Any", None))
        return _rank(draft, [check(verdict) for verdict in verdicts])

    assert rank(0.5, "proven", "unproven") == (True, 0.5)
    assert rank(None) == (True, 0.0)
    assert rank(0.25, "proven", "failed") == (False, 0.25)
    assert rank(0.0, "proven") > rank(1.0, "failed")


REQUEST = ConversionRequest(Path("m.onnx"))
BF16 = (
    "many operators must stay in FP32, or the FP16 errors are too large; try BF16: "
    "trtlint convert 'a model.onnx' --to bf16"
)


@pytest.mark.parametrize(
    ("type_", "share", "checks", "advice"),
    [
        ("fp16", 1.0, [check("proven")], ""),
        ("fp16", 1.0, [], ""),
        ("fp16", None, [check("unproven")], ""),
        ("fp16", 0.5, [check("proven")], ""),
        ("fp16", 0.49, [check("proven")], BF16),
        ("fp16", 0.0, [], BF16),
        ("fp16", 1.0, [check("proven", "checker"), check("failed")], BF16),
        ("fp16", 1.0, [check("proven"), check("failed", "parser")], ""),
        ("bf16", 0.0, [check("failed")], ""),
    ],
)
def test_another_type_is_recommended(
    type_: str, share: float | None, checks: list[ConversionCheck], advice: str
) -> None:
    assert _advice(ConversionRequest(Path("m.onnx"), type=type_), result(share), checks) == advice


@pytest.mark.parametrize("type_", ["fp16", "bf16"])
def test_fp32_inputs_are_recommended_before_another_type(type_: str) -> None:
    request = ConversionRequest(Path("m.onnx"), type=type_, io=type_)
    advice = _advice(request, result(1.0), [check("failed")])
    assert advice.endswith(f"trtlint convert 'a model.onnx' --to {type_} --io fp32")
    assert _advice(request, result(1.0), [check("proven")]) == ""


@pytest.mark.parametrize(
    ("proof", "clear"),
    [
        (check("proven", error=0.0095), True),
        (check("proven", error=0.0096), False),
        (check("proven"), True),
        (check("unproven", error=0.0), True),
        (check("failed", error=0.0), False),
        (check("failed"), False),
    ],
)
def test_a_check_that_is_close_to_the_tolerance(proof: ConversionCheck, clear: bool) -> None:
    assert _passes_clearly(proof, 0.01) is clear


def test_little_time_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    requests = (
        ConversionRequest(Path("m.onnx"), until=until) for until in (None, 900.0, 1089.9, 1090.0, 1200.0)
    )
    assert [_is_little_time(request) for request in requests] == [False, True, True, False, False]


@pytest.mark.parametrize(("seconds", "until"), [(None, 1000 + 180 + 0.25 * (16 + 8)), (5.0, None)])
def test_the_time_of_all_runs_grows_with_the_weights(
    seconds: float | None, until: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Session:
        """A session for a model that needs no conversion."""

        unchanged = "it is in FP16"

        def __init__(self, request: ConversionRequest, _: object) -> None:
            self.request = replace(request, size=24 << 20)
            made.append(self)

        def draft(self) -> SimpleNamespace:
            return SimpleNamespace(conversion=result())

    made: list[Session] = []
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    monkeypatch.setattr(running, "ConversionSession", Session)
    found, _ = running.run(ConversionRequest(Path("m.onnx"), seconds=seconds), None)
    assert found == result()
    assert [session.request.until for session in made] == [until]


def test_reasons_for_casts() -> None:
    model = small(
        """(float[2] x) => (float[2] y, float[2] z)
        { a = Neg (x)  y = Abs (a)  b = Exp (a)  z = Neg (y) }"""
    )
    x, a, y, b = (model.graph.resolve(name) for name in "xayb")
    assert x is not None
    assert a is not None
    assert y is not None
    assert b is not None
    neg, abs_, exp, _ = model.graph.nodes
    plain = TypePlan(model.graph, [], {}, narrow_io=False)
    between = "operators before and after the Cast have different types"
    reads = "an operator in FP32 reads the model's input"
    assert _why(plain, {neg: "r"}, x, True) == "the model's input stays in FP32"
    assert _why(plain, {neg: "r"}, x, False) == reads
    assert _why(plain, {abs_: "r"}, y, False) == "the model's output stays in FP32"
    assert _why(plain, {}, y, True) == between
    assert _why(plain, {abs_: "r"}, y, True) == f"{abs_.path}: r"
    assert _why(plain, {}, a, False) == between
    assert _why(plain, {exp: "later", neg: "first"}, a, False) == f"{neg.path}: first"
    assert _why(plain, {exp: "r"}, a, True) == f"{exp.path}: r"
    narrow = TypePlan(model.graph, [neg, exp], {}, narrow_io=False)
    assert _why(narrow, {neg: "first", exp: "r"}, a, False) == between
    assert _why(narrow, {neg: "first", abs_: "r"}, a, False) == f"{abs_.path}: r"
    assert _why(plain, {}, b, False) == between
