"""Tests of rule examples with a model before and after a fix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

from trtlint.engine.rule import Rule, RuleError
from trtlint.engine.rulebook import builtin_rules, load_builtin, load_rules
from trtlint.examples.fixed import _same, _shape_of, fixed_by, fixed_examples, run_fixed_examples
from trtlint.examples.models import model_of_text
from trtlint.fixes import names

BEFORE = """< ir_version: 8, opset_import: ["" : 17] >
g (float[1,8,19,64] q, float[1,8,64,19] kt, float[1,8,19,64] v) => (float[1,8,19,64] o)
< float s = {8} >
{ a = MatMul (q, kt)  b = Div (a, s)  p = Softmax <axis = -1> (b)  o = MatMul (p, v) }"""
AFTER = """< ir_version: 8, opset_import: ["" : 17] >
g (float[1,8,19,64] q, float[1,8,64,19] kt, float[1,8,19,64] v) => (float[1,8,19,64] o)
< float factor = {0.125} >
{ scaled = Mul (q, factor)  a = MatMul (scaled, kt)  p = Softmax <axis = -1> (a)  o = MatMul (p, v) }"""


WITHOUT_NOTATION = {"store-dense"}
"""Rewrites of stored sparse tensors, which ONNX text cannot represent."""


def rule_with(folder: Path, before: str, after: str, words: str = "--trt 10.7 --gpu L4 --fp16") -> Rule:
    """Return the rule about scales after the scores, with another example."""
    (source,) = builtin_rules().rglob("PERF103-*.md")
    text = source.read_text(encoding="utf-8").partition("\n## Fixed")[0]
    path = folder / source.name
    second = f"\n```onnx\n{after}\n```\n" if after else ""
    path.write_text(f"{text}\n## Fixed\n\n```onnx {words}\n{before}\n```\n{second}", encoding="utf-8")
    (rule,) = load_rules([path])
    return rule


def test_every_fix_that_an_example_shows_is_what_is_made() -> None:
    rules = tuple(load_builtin())
    assert sum(len(fixed_examples(rule)) for rule in rules) >= 15
    (rule,) = (rule for rule in rules if rule.id == "PERF103")
    assert [result.got for result in run_fixed_examples([rule])] == ["fixed"]


def test_every_rule_shows_a_rewrite_that_it_names() -> None:
    for rule in load_builtin():
        named = {entry.fix for entry in rule.advice if entry.fix is not None}
        assert named <= set(names()), rule.id
        assert fixed_examples(rule) or not named - WITHOUT_NOTATION, f"{rule.id} has no '## Fixed'"


@pytest.mark.slow
def test_every_rewrite_is_shown(tmp_path: Path) -> None:
    path, shown = tmp_path / "model.onnx", set()
    for rule in load_builtin():
        for example in fixed_examples(rule):
            model_of_text(example.before.text, path, checked=example.checked)
            shown |= {applied.fix for applied in fixed_by(rule, example, path).outcome.applied}
    assert shown == set(names()) - WITHOUT_NOTATION


@pytest.mark.parametrize(
    ("before", "after", "words", "got"),
    [
        (BEFORE, AFTER, "--trt 10.7 --gpu L4 --fp16", "fixed"),
        (BEFORE, AFTER.replace("scaled", "other"), "--trt 10.7 --gpu L4 --fp16", "fixed"),
        (BEFORE, AFTER.replace("0.125", "0.0875"), "--trt 10.7 --gpu L4 --fp16", "different"),
        (BEFORE, BEFORE, "--trt 10.7 --gpu L4 --fp16", "different"),
        (AFTER, AFTER, "--trt 10.7 --gpu L4 --fp16", "silent"),
        (BEFORE.replace("=> (", "=> (float[1,8,19,19] b, "), AFTER, "--trt 10.7 --gpu L4 --fp16", "left"),
        (BEFORE, "no model", "--trt 10.7", "unreadable"),
    ],
)
def test_what_is_shown_is_tried(before: str, after: str, words: str, got: str, tmp_path: Path) -> None:
    (result,) = run_fixed_examples([rule_with(tmp_path, before, after, words)])
    assert (result.got, result.ok) == (got, got == "fixed")


def test_an_example_has_two_models(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="write pairs of models: first the source"):
        list(run_fixed_examples([rule_with(tmp_path, BEFORE, "")]))
    with pytest.raises(RuleError, match="unknown option '--nonsense'"):
        list(run_fixed_examples([rule_with(tmp_path, BEFORE, AFTER, "--nonsense")]))


@pytest.mark.parametrize(("size", "compared"), [(1, True), (256, True), (257, False)])
def test_stored_numbers_are_compared_up_to_a_size(size: int, compared: bool) -> None:
    forms = []
    for number in (1, 2):
        tensor = numpy_helper.from_array(np.full(size, number, np.float32), "w")
        node = helper.make_node("Add", ["x", "w"], ["y"])
        ends = [helper.make_tensor_value_info(name, 1, [size]) for name in "xy"]
        graph = helper.make_graph([node], "g", ends[:1], ends[1:], [tensor])
        forms.append(_shape_of(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])))
    assert (forms[0] != forms[1]) is compared


F32, F64 = np.float32, np.float64


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ([], [], True),
        ([np.ones(2, F32)], [np.ones(2, F32)], True),
        ([np.ones(2, F32)], [np.ones(2, F64)], False),
        ([np.ones(2, F64)], [np.ones(2, F32)], False),
        ([np.ones(2, F32)], [np.ones((1, 2), F32)], False),
        ([np.ones(2, F32)], [np.ones(3, F32)], False),
        ([np.array([8.0, 1.0])], [np.array([8.0, 1.5])], True),  # a sixteenth of the largest
        ([np.array([8.0, 1.0])], [np.array([8.0, 1.75])], False),
        ([np.array([-8.0, 1.0])], [np.array([-8.0, 0.5])], True),
        ([np.array([8.0, 1.0])], [np.array([8.0, 0.25])], False),
        ([np.array([np.nan, np.inf])], [np.array([np.nan, np.inf])], True),
        ([np.array([np.nan, 1.0])], [np.array([1.0, 1.0])], False),
        ([np.array([np.inf, 1.0])], [np.array([-np.inf, 1.0])], False),
        ([np.array([np.inf, 1.0])], [np.array([np.inf, 2.0])], False),
        ([np.zeros(2)], [np.full(2, 5e-8)], True),  # near zero, 1e-6 counts as the largest
        ([np.zeros(2)], [np.full(2, 7e-8)], False),
        ([np.ones(2), np.ones(2)], [np.ones(2), np.zeros(2)], False),
        ([np.ones(2), np.ones(2)], [np.zeros(2), np.ones(2)], False),
    ],
)
def test_results_of_an_example_are_the_same(before: list[Any], after: list[Any], same: bool) -> None:
    assert _same([before, after], 0.0625) is same
