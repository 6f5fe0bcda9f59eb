"""Tests of expressions: meaning, errors and safety against hostile input."""

from __future__ import annotations

import string
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from trtlint.language.expression import ExpressionError, compile_expression
from trtlint.language.functions import FUNCTIONS
from trtlint.language.operations import undecided, unknown
from trtlint.model.graph import Graph, Node, Value
from trtlint.target.target import Target
from trtlint.target.truth import Unknown


class Scale(Struct, frozen=True):
    placement: Literal["none", "query", "key", "both"]
    query: float | None = None
    product: float | None = None


class Block(Struct, frozen=True):
    heads: int | None
    causal: bool | None
    scale: Scale | None
    axes: tuple[int, ...] = ()
    axis: Literal[1, -1] | None = None
    tags: frozenset[str] = frozenset()
    opsets: Mapping[str, int] | None = None
    node: Node | None = None
    anything: Any = None


SCOPE: Mapping[str, Any] = {
    "heads": int | None,
    "causal": bool | None,
    "scale": Scale | None,
    "axes": tuple[int, ...],
    "shape": tuple[int | str | None, ...] | None,
    "block": Block,
    "target": Target,
    "x": Value,
    "y": Value,
}
NAMES: Mapping[str, object] = {
    "heads": 8,
    "causal": None,
    "scale": Scale("both", 0.5, 0.25),
    "axes": (1, -1),
    "shape": (1, "N", None, 64),
    "block": Block(4, True, None, (2,), None, frozenset({"a"}), {"": 17}),
    "target": Target(version="10.7", asked=frozenset({"fp16"})),
    "x": Value("x"),
    "y": Value("y"),
}


def truth(text: str, **names: object) -> object:
    return compile_expression(text, SCOPE, condition=True).truth({**NAMES, **names})


def value(text: str, **names: object) -> object:
    return compile_expression(text, SCOPE).value({**NAMES, **names})


@pytest.mark.parametrize(
    "text",
    [
        "heads == 8",
        "4 < heads <= 8 != 9",
        "not heads < 4",
        'scale.placement == "both" and scale.product != 1',
        'scale.placement in ("query", "both")',
        'scale.placement not in ["none", "key"]',
        "heads in {7, 8}",
        "1 in axes and axes[0] == 1 and axes[-1] == -1",
        "axes == (1, -1)",
        "axes != (1,)",
        "heads / 16 == 0.5 and heads // 3 == 2 and heads % 3 == 2 and heads ** 2 == 64",
        "-heads == -8",
        "(heads if block.causal else 3) == 8",
        "round(scale.query * scale.query, digits=3) == round(scale.product, digits=3)",
        "abs(-3) == 3 and min(3, 1, 2) == 1 and max(axes) == 1 and len(axes) == 2",
        "round(2.567, digits=1) == 2.6 and round(2.5) == 2",
        '"a" in block.tags and "b" not in block.tags',
        'block.opsets[""] == 17',
        '"fp16" in target.asked',
        "target.fp16",
        "target.strongly_typed == False",
        "not given(causal) and not known(causal)",
        "known(heads) and given(block.causal)",
        "target.fp16\n  and heads == 8\n  # a comment\n",
        "shape[0] == 1 and shape[-1] == 64",
    ],
)
def test_true(text: str) -> None:
    assert truth(text) is True


@pytest.mark.parametrize(
    "text",
    [
        "causal",
        "not causal",
        "causal and heads == 8",
        "causal or heads == 7",
        "block.scale.placement == 'both'",
        "shape[2] == 64",
        "shape[1] == 64",  # the dimension called N may be 64
        "shape[9] == 64",
        "heads / (heads - 8) == 1",
        "heads % 0 == 1",
        "(0 - heads) ** 0.5 == 2",
        "(1 if causal else 2) == 1",
        "const(x) == 0",
        "dtype(x) == 'f32'",
        "rank(x) == 3",
        "block.opsets['com.microsoft'] == 1",
        "(1, causal) == (1, True)",
        "causal in (True, False)",
    ],
)
def test_unknown(text: str) -> None:
    assert truth(text) == Unknown()


def test_false_decides_although_the_rest_is_unknown() -> None:
    assert truth("causal and heads == 7") is False
    assert truth("causal or heads == 8") is True
    assert truth("(1, causal) == (2, True)") is False
    assert truth("0 < heads < 4 < shape[2]") is False


def test_an_unknown_of_the_target_names_the_option_that_settles_it() -> None:
    assert truth("target.sm >= 80") == Unknown(frozenset({"--gpu"}))
    assert truth("target.tf32 and target.sm >= 80") == Unknown(frozenset({"--gpu"}))
    assert truth("target.int8", target=Target(version="10.7")) == Unknown(frozenset({"--int8"}))
    assert truth("target.sm >= 80 and heads == 7") is False
    assert truth("target.sm >= 80 and causal").needs == frozenset()  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ["abs(target.sm) > 3", "min(target.sm, 3) == 3", "round(target.sm) == 3"])
def test_a_function_of_an_unknown_names_the_option_that_settles_it(text: str) -> None:
    found = truth(text)
    assert isinstance(found, Unknown)
    assert found.needs == {"--gpu"}


def test_values_for_messages() -> None:
    assert value("scale.product") == 0.25
    assert value("block.scale.product") is None
    assert value("heads * 2") == 16
    assert value("axes") == (1, -1)


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("head == 8", 1, "unknown name 'head'; did you mean 'heads'?"),
        ("heads == 8 and scale.placment == 'both'", 16, "no field 'placment'; did you mean 'placement'?"),
        ("scale.placement == 'boht'", 20, "did you mean 'both'?"),
        ("scale.placement in ('key', 'querry')", 28, "did you mean 'query'?"),
        ("'boht' == scale.placement", 1, "did you mean 'both'?"),
        ("block.axis == 2", 15, "2 is not one of -1, 1"),
        ("dtype(x) == 'fp16'", 13, "did you mean 'f16'?"),
        ("'fp61' in target.asked", 1, "did you mean 'fp16'?"),
        ("heads == 'eight'", 10, "the comparison never holds: a number and a text are never equal"),
        ("heads == True", 10, "never equal"),
        ("heads", 1, "the expression must be a condition, but is a number"),
        ("not scale", 5, "the expression must be a condition, but is a Scale"),
        ("heads and causal", 1, "must be a condition"),
        ("target.version >= '10.7'", 1, "to compare versions, use the rule's key 'applies'"),
        ("heads.size", 1, "'heads' is a number and has no field 'size'"),
        ("axes['a'] == 1", 1, "has no element ['a']"),
        ("heads[0] == 1", 1, "has no element [0]"),
        ("axes[heads] == 1", 6, "must be an integer or a quoted text"),
        ("causal == None", 11, "known(x)"),
        ("causal is True", 11, "'is' is not supported"),
        ("heads + 'a' == 1", 9, "must be a number"),
        ("heads & 1", 1, "write 'and'"),
        ("heads == 8 && causal", 12, "write 'and' for '&&'"),
        ("cons(x) == 1", 1, "unknown function 'cons'; did you mean 'const'?"),
        ("const == 1", 1, "'const' is a function: write const(v)"),
        ("const(heads) == 1", 7, "must be a Value"),
        ("round(1, tol=3)", 14, "write round(x, digits=0)"),
        ("dim(x) == 1", 1, "write dim(v, i)"),
        ("first(heads, 1)", 7, "must be a tuple"),
        ("1 in 'abc'", 1, "the left side of 'in' must be a text"),
        ("heads in 8", 10, "the right side of 'in' must be a tuple, mapping or text"),
        ("", 1, "empty"),
        ("(heads == 8", 1, "never closed"),
        ("heads ==", 8, "invalid syntax"),
        ("heads == 8\n and scale.nope == 1", 17, "no field 'nope'"),
    ],
)
def test_mistakes_are_found_when_a_rule_is_loaded(text: str, column: int, words: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        compile_expression(text, SCOPE, condition=True)
    assert words in caught.value.message
    assert caught.value.column == column


ATTACKS = [
    "().__class__.__bases__[0].__subclasses__()",
    "scale.__class__",
    "scale.__init__.__globals__",
    "target.needs.__func__",
    "target.matches('>=1')",
    "__import__('os').system('id')",
    "eval('1')",
    "getattr(scale, 'product')",
    "(lambda: 1)()",
    "[a for a in axes]",
    "{a for a in axes}",
    "{1: 2}",
    "f'{heads}'",
    "'{0.__class__}'.format(scale)",
    "(a := 1)",
    "max(*axes)",
    "round(1, **axes)",
    "heads if True",
    "await heads",
    "(yield heads)",
    "axes[0:10]",
    "...",
    "b'a' in 'b'",
    "1j == 1",
    "'a' * 10 ** 9",
    "'%99999999s' % heads",
    "[0] * 10 ** 9",
    "1 << 10 ** 9",
    "~heads",
    "x.uses",
    "x.uses",
    "import os",
    "heads; heads",
    "heads\x00",
    "a" * 3_000,
    "-" * 1_900 + "1",
    "(" * 500 + "1" + ")" * 500,
    "not " * 480 + "causal",
    "heads" + " + heads" * 300,
    "round(1, digits=" * 60 + "1" + ")" * 60,
    "x" + ".x" * 900,
]


@pytest.mark.parametrize("text", ATTACKS, ids=lambda text: text[:30])
def test_attacks_are_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        compile_expression(text, SCOPE)


@pytest.mark.parametrize(
    "text",
    [
        "10 ** 10 ** 10",
        "10 ** 10 ** 10 ** 10",
        "2.0 ** 100000",
        "heads ** 4000 ** 4000",
        "9" * 1_500 + " * 2.0",
        "round(1e308 * 10, digits=2)",
        "round(1.5, digits=99999999)",
    ],
)
def test_numbers_do_not_explode(text: str) -> None:
    started = time.process_time()
    assert value(text) is None
    assert time.process_time() - started < 10


def test_nested_comparisons_are_checked_once_each() -> None:
    text = "causal"
    for _ in range(18):
        text = f"causal in (True, {text})"
    started = time.process_time()
    assert truth(text, causal=True) is True
    assert time.process_time() - started < 10


PARTS = [
    *("heads", "causal", "scale", "scale.product", "scale.placement", "block", "block.tags", "axes", "shape"),
    *("shape[1]", "axes[0]", "target.sm", "target.fp16", "target.asked", "x", "y", "1", "0", "2.5", "True"),
    *("'both'", "(1, 2)", "()", "block.anything", "block.opsets", "block.node.op"),
]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", ">=", "in", "not in", "and", "or"]


def combine(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    calls = st.tuples(st.sampled_from(sorted(FUNCTIONS)), st.lists(inner, min_size=1, max_size=3))
    return st.one_of(
        st.tuples(inner, st.sampled_from(OPERATORS), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        inner.map(lambda t: f"(not {t})"),
        inner.map(lambda t: f"(-{t})"),
        inner.map(lambda t: f"{t}[0]"),
        calls.map(lambda t: f"{t[0]}({', '.join(t[1])})"),
    )


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(
    st.recursive(st.sampled_from(PARTS), combine, max_leaves=8),
    st.sampled_from([None, 3, "s", (1, None), 2.5]),
)
def test_an_expression_is_refused_at_load_or_never_raises(text: str, anything: object) -> None:
    try:
        expression = compile_expression(text, SCOPE)
    except ExpressionError as error:
        assert 1 <= error.column <= len(text) + 1
        return
    block = Block(None, None, None, anything=anything)
    for names in (NAMES, {}, {**NAMES, "block": block, "scale": None, "shape": None}):
        expression.value(names)
        assert isinstance(expression.truth(names), bool | Unknown)


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from(string.printable + "\x00é√"), max_size=60))
def test_any_text_is_refused_or_compiled(text: str) -> None:
    with suppress(ExpressionError):
        compile_expression(text, SCOPE).truth(NAMES)


class TestValues:
    """Tests of value functions on a small graph."""

    @pytest.fixture
    def names(self) -> dict[str, object]:
        proto = onnx.parser.parse_graph(
            """g (float[2,N,4] a) => (float[2,N,4] b)
            <float c = {3.0}> { b = Mul(a, c) d = Add(b, b) e = ReduceSum <keepdims = 0> (a) }"""
        )
        graph = Graph(proto)
        value = {name: found[0] for name, found in graph.values.items()}
        return {"x": value["a"], "y": value["b"], "z": value["c"], "e": value["e"], "constants": Scalars()}

    SCOPE: Mapping[str, Any] = {"x": Value, "y": Value | None, "z": Value, "e": Value}

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("const(z)", 3.0),
            ("const(x)", None),
            ("uses(x)", 2),
            ("uses(y)", 3),
            ("dtype(x)", "f32"),
            ("rank(x)", 3),
            ("dim(x, 0)", 2),
            ("dim(x, -1)", 4),
            ("dim(x, 1)", None),
            ("dim(x, 7)", None),
            ("size(x)", None),
            ("size(z)", 1),
            ("attribute(e, 'keepdims')", 0),
            ("attribute(e, 'axes')", None),
            ("x.shape[2]", 4),
            ("x.is_input", True),
            ("x == x", True),
            ("x == z", False),
        ],
    )
    def test_functions(self, names: dict[str, object], text: str, expected: object) -> None:
        assert compile_expression(text, self.SCOPE).value(names) == expected

    def test_an_input_that_is_left_out_is_unknown(self, names: dict[str, object]) -> None:
        names["y"] = None
        assert compile_expression("const(y) == 0", self.SCOPE).truth(names) == Unknown()
        assert compile_expression("known(y)", self.SCOPE).truth(names) is False


class Scalars:
    """Fake graph constants: one initializer with the number 3."""

    def scalar(self, value: Value) -> float | None:
        return None if value.initializer is None else 3.0


def test_every_function_is_documented() -> None:
    for name, function in FUNCTIONS.items():
        assert function.signature.startswith(f"{name}(")
        assert len(function.meaning) > 10


def test_what_is_unknown_of_several_values() -> None:
    first, second = Unknown(frozenset({"--gpu"})), Unknown(frozenset({"--fp16"}))
    assert unknown(1, None, "x") is None
    assert unknown(1, first) is first
    both = unknown(first, 2, second)
    assert both is not None
    assert both.needs == {"--gpu", "--fp16"}
    assert undecided(1).needs == frozenset()
    assert undecided(second, 1) is second


def test_expressions_are_bounded_by_their_nodes() -> None:
    """The comparison, its operator, its left side, the list and its context also count."""
    text = "1 in [" + ", ".join(["1"] * 495) + "]"
    assert value(text) is True
    with pytest.raises(ExpressionError, match="more than 500 parts") as caught:
        value("1 in [" + ", ".join(["1"] * 496) + "]")
    assert caught.value.column == 1
