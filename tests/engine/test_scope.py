"""Tests of the scope of a condition: a search within it misses nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.rules import make_rule
from tests.graphs import facts_of
from trtlint.engine.scope import operands, required, scope_of_kind
from trtlint.engine.subjects import Subjects
from trtlint.language.expression import ExpressionError, compile_expression

GRAPH = (
    '< ir_version: 8, opset_import: ["" : 17] > '
    "g (float[2] x) => (float[2] y) { a = Relu(x) b = Tanh(a) c = Relu(b) y = Sigmoid(c) }"
)


@pytest.mark.parametrize(
    ("where", "demand"),
    [
        ('op == "Relu"', ("op", {"Relu"})),
        ('op in ("Relu", "Tanh")', ("op", {"Relu", "Tanh"})),
        ('len(inputs) == 1 and op == "Relu"', ("op", {"Relu"})),
        ('op == "Relu" or op == "Tanh"', ("op", {"Relu", "Tanh"})),
        ('(op == "Relu" and len(inputs) == 1) or op in ("Tanh", "Neg")', ("op", {"Relu", "Tanh", "Neg"})),
        ('op == "Relu" or domain == "my"', None),
        ('op == "Relu" or len(inputs) == 1', None),
        ('not op == "Relu"', None),
        ('op != "Relu"', None),
        ('op in "Relu"', None),
        ("op == domain", None),
        ("len(inputs) == 1", None),
    ],
)
def test_required(where: str, demand: tuple[str, set[str]] | None, tmp_path: Path) -> None:
    found = required(compile_expression(where, scope_of_kind("node"), condition=True))
    assert found == (None if demand is None else (demand[0], frozenset(demand[1])))
    facts = facts_of(GRAPH)
    rule = make_rule(tmp_path, where=where)
    subjects = Subjects(facts)
    every = [
        subject for subject in subjects.of(rule) if rule.where and rule.where.truth(subject.values) is True
    ]
    assert set(every) <= set(subjects.candidates(rule))


def test_candidates_keep_the_order_of_the_graph(tmp_path: Path) -> None:
    rule = make_rule(tmp_path, where='op in ("Tanh", "Relu")')
    found = [subject.node.op for subject in Subjects(facts_of(GRAPH)).candidates(rule) if subject.node]
    assert found == ["Relu", "Tanh", "Relu"]


def test_operands() -> None:
    scope = scope_of_kind("node")
    text = 'op == "Relu"\n  and (domain == "" or\n domain == "x") and len(inputs) == 1'
    assert operands(compile_expression(text, scope)) == [
        'op == "Relu"',
        'domain == "" or domain == "x"',
        "len(inputs) == 1",
    ]
    assert operands(compile_expression('op == "a" or op == "b"', scope)) == ['op == "a" or op == "b"']


@pytest.mark.parametrize(
    ("kind", "where", "problem"),
    [
        ("node", 'inputs[0].dtype == "fp16"', "did you mean 'f16'?"),
        ("node", 'outputs[0].dtype in ("f16", "float")', "'float' is not one of"),
        ("attention", 'dtype == "fp16"', "did you mean 'f16'?"),
        ("normalization", 'statistics_dtype != "fp16"', "did you mean 'f16'?"),
        ("layer", '"fp16" in input_types', "did you mean 'f16'?"),
        ("layer", 'precision == "fp32"', "did you mean 'f32'?"),
        ("layer", 'asked == "fp32"', "did you mean 'f32'?"),
        ("log_message", 'name == "norm_f16"', "did you mean 'norm_fp16'?"),
        ("build", '"engine_times" in counts', "did you mean 'engine_time'?"),
        ("build", 'counts["engine_times"] > 1', "did you mean 'engine_time'?"),
    ],
)
def test_a_word_that_a_field_never_holds_is_an_error(kind: str, where: str, problem: str) -> None:
    with pytest.raises(ExpressionError) as error:
        compile_expression(where, scope_of_kind(kind), condition=True)
    assert problem in error.value.message
