"""Tests of fact functions for which one dimension, type or axis decides."""

from __future__ import annotations

import pytest

from tests.graphs import facts_of, model_of
from trtlint.buildfiles.records import Record
from trtlint.facts.blocks.operand import _Axes
from trtlint.facts.facts import Facts
from trtlint.facts.of_build.log_message import _available
from trtlint.facts.of_model.attention import Attention
from trtlint.facts.of_model.division import _through_arithmetic
from trtlint.facts.of_model.mixed_types import _cast_behind
from trtlint.facts.of_model.normalization import Normalization
from trtlint.facts.of_model.quantized import _channel_axis, _product_sizes
from trtlint.facts.of_model.widened_product import _widens
from trtlint.model.load import Model


def graph(text: str, opset: int = 17) -> Model:
    return model_of(f'< ir_version: 8, opset_import: ["" : {opset}] > g {text}')


@pytest.mark.parametrize(
    ("last", "steps", "expected"),
    [
        ("sequence", [], True),
        ("feature", [], False),
        ("sequence", [("Transpose", (0, 2, 1))], False),
        ("feature", [("Transpose", (0, 2, 1))], True),
        ("feature", [("Transpose", (0, 2, 1)), ("Transpose", (0, 2, 1))], False),
        ("feature", [("Transpose", (1, 0, 2))], False),
        ("feature", [("Transpose", (1, 2, 0))], True),
        ("feature", [("Transpose", (2, 0, 1))], None),
        ("feature", [("Reshape", None)], False),
        ("sequence", [("Squeeze", None)], True),
        ("feature", [("Transpose", (1, 2, 0)), ("Reshape", None)], True),
        ("feature", [("Transpose", (2, 0, 1)), ("Reshape", None), ("Transpose", (0, 2, 1))], True),
        ("feature", [("Reshape", None), ("Transpose", (0, 2, 1))], True),
        ("feature", [("Transpose", None)], None),
        ("feature", [("Transpose", (0,))], None),
        (None, [], None),
    ],
)
def test_the_last_axis_behind_views(
    last: str | None, steps: list[tuple[str, tuple[int, ...] | None]], expected: bool | None
) -> None:
    axes = _Axes(last)  # type: ignore[arg-type]
    for op, perm in steps:
        axes.back_through(op, perm)
    assert axes.sequence_last is expected


@pytest.mark.parametrize(
    ("settings", "first", "second", "sizes"),
    [
        ("Gemm", "2,3", "3,5", (2, 3, 5)),
        ("Gemm <transA = 1>", "3,2", "3,5", (2, 3, 5)),
        ("Gemm <transB = 1>", "2,3", "5,3", (2, 3, 5)),
        ("Gemm <transA = 1, transB = 1>", "3,2", "5,3", (2, 3, 5)),
        ("MatMul", "7,2,3", "7,3,5", (2, 3, 5)),
        ("MatMul", "2,K", "3,5", (2, 3, 5)),
        ("MatMul", "N,3", "3,M", (None, 3, None)),
        ("MatMul", "3", "3,5", (None, None, None)),
        ("Add", "3,3", "3,3", (None, None, None)),
    ],
)
def test_sizes_of_products(
    settings: str, first: str, second: str, sizes: tuple[int | None, int | None, int | None]
) -> None:
    model = graph(f"(float[{first}] x, float[{second}] w) => (float[A,B] y) {{ y = {settings} (x, w) }}")
    (node,) = model.graph.nodes
    values = [value for value in node.inputs if value is not None]
    assert _product_sizes(node, values, model.constants) == sizes


@pytest.mark.parametrize(
    ("settings", "axes"),
    [
        ("Gemm", (0, 1)),
        ("Gemm <transA = 1>", (1, 1)),
        ("Gemm <transB = 1>", (0, 0)),
        ("MatMul", (1, 2)),
        ("Conv", (0, 0)),
        ("ConvTranspose", (1, 1)),
    ],
)
def test_the_axis_of_channels(settings: str, axes: tuple[int, int]) -> None:
    shape = "2,3" if "Gemm" in settings else "2,3,3"
    model = graph(f"(float[{shape}] x, float[{shape}] w) => (float[A,B] y) {{ y = {settings} (x, w) }}")
    (node,) = model.graph.nodes
    values = [value for value in node.inputs if value is not None]
    assert tuple(_channel_axis(node, place, values[place]) for place in (0, 1)) == axes


@pytest.mark.parametrize(
    ("before", "to", "widens"),
    [
        ("float16", 1, True),
        ("bfloat16", 1, True),
        ("double", 1, False),
        ("int8", 1, False),
        ("float16", 11, False),
        ("float16", 16, False),
        ("float", 10, False),
    ],
)
def test_casts_that_widen(before: str, to: int, widens: bool) -> None:
    model = graph(f"({before}[2] x) => (float[2] z) {{ y = Cast <to = {to}> (x)  z = Neg (y) }}")
    assert _widens(model.graph.nodes[0]) is widens
    assert not _widens(model.graph.nodes[1])


def test_a_cast_behind_an_input_of_the_model_is_found() -> None:
    """The search continues after one branch ends at an input."""
    model = graph("""(float16[2] x, float[2] z) => (float[2] y)
    { c = Cast <to = 1> (x)  d = Neg (c)  y = Add (z, d) }""")
    cast, _, total = model.graph.nodes
    assert _cast_behind(total.output) is cast
    assert _cast_behind(model.graph.inputs[1]) is None
    assert _cast_behind(None) is None


@pytest.mark.parametrize(("between", "found"), [(198, True), (199, False)])
def test_a_cast_is_searched_behind_200_values(between: int, found: bool) -> None:
    body = "  ".join(f"v{index + 1} = Neg (v{index})" for index in range(between))
    model = graph(f"(float16[2] x) => (float[2] v{between}) {{ v0 = Cast <to = 1> (x)  {body} }}")
    cast, *_, last = model.graph.nodes
    assert _cast_behind(last.output) is (cast if found else None)


@pytest.mark.parametrize(
    ("pattern", "inputs"),
    [("input_unknown", ("x", "z")), ("a", ()), ("input_unknown_size", ()), ("no_profile", ())],
)
def test_inputs_for_an_unknown_name(pattern: str, inputs: tuple[str, ...]) -> None:
    model = graph("(float[2] x, float[2] z) => (float[2] y) { y = Add (x, z) }")
    record = Record(pattern, 1, "E", "m")
    assert _available(record, Facts(model)) == inputs
    assert _available(record, Facts(None)) == ()


class Walk:
    """Accepts every guard."""

    def guard(self, *_: object) -> bool:
        return True


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y = Add (x, e)", "x"),
        ("y = Max (x, e)", "x"),
        ("y = Max (x)", None),
        ("y = Max (x, e, e)", None),
        ("y = Clip (x, e)", "x"),
    ],
)
def test_operands_that_a_divisor_comes_from(body: str, expected: str | None) -> None:
    model = graph(f"(float[2] x) => (float[2] y) < float e = {{0.001}} > {{ {body} }}")
    found = _through_arithmetic(model.graph.nodes[-1], Walk(), model.constants)  # type: ignore[arg-type]
    assert (found.name if found is not None else None) == expected


@pytest.mark.parametrize("number", ["nan", "inf"])
def test_an_integer_attribute_that_is_no_integer_is_unknown(number: str) -> None:
    text = f"""
    < ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1] >
    g (float[2,4] x) => (float[2,4] y)
    {{
      n = com.microsoft.SkipLayerNormalization <axis : float = {number}> (x, x, x)
      s = com.microsoft.LayerNormalization <stash_type : float = {number}> (n, n, n)
      y = com.microsoft.MultiHeadAttention
        <num_heads : float = {number}, softmax_precision : float = {number}> (s, s, s)
    }}
    """
    facts = facts_of(text)
    norms = [fact for fact in facts.of("normalization") if isinstance(fact, Normalization)]
    assert [(norm.axes, norm.statistics_dtype) for norm in norms] == [(None, "f32"), ((-1,), None)]
    (block,) = facts.of("attention")
    assert isinstance(block, Attention)
    assert (block.heads, block.softmax_dtype) == (None, "f32")
