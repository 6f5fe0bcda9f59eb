"""Tests that a search reports its limit, and that its model does not count as clean."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

import trtlint
from tests.graphs import facts_of
from trtlint.cli import run
from trtlint.engine.caveats import caveats
from trtlint.facts.facts import Facts
from trtlint.facts.of_model import foldable
from trtlint.model.walks import MAX_STEPS

HEAD = '< ir_version: 8, opset_import: ["" : 17] >'


def moved(first: str, steps: int, op: str = "Identity") -> tuple[str, str]:
    """Return ``steps`` nodes that pass a value on, and the last name."""
    nodes = [f"{first}{n + 1} = {op} ({first if n == 0 else f'{first}{n}'})" for n in range(steps)]
    return " ".join(nodes), f"{first}{steps}" if steps else first


def division(steps: int) -> str:
    """Return a division by a norm, with nodes between them."""
    nodes, last = moved("n", steps)
    return f"""{HEAD} g (float[4,8] x) => (float[4,8] y) {{
    n = ReduceL2 <axes = [1]> (x) {nodes} y = Div (x, {last}) }}"""


def norm(steps: int) -> str:
    """Return a LayerNorm of several operators, with nodes after the variance."""
    nodes, last = moved("v", steps)
    return f"""{HEAD} g (float[2,8] x) => (float[2,8] y) < float e = {{0.00001}}, float two = {{2}} > {{
    m = ReduceMean <axes = [-1]> (x) d = Sub (x, m) s = Pow (d, two) v = ReduceMean <axes = [-1]> (s) {nodes}
    a = Add ({last}, e) r = Sqrt (a) y = Div (d, r) }}"""


def quantized(steps: int) -> str:
    """Return a product with a quantized operand, with nodes after its DequantizeLinear."""
    nodes, last = moved("d", steps)
    return f"""{HEAD} g (float[4,8] x) => (float[4,4] y)
    < float s = {{0.1}}, int8 z = {{0}}, float[8,4] w = {{}} > {{
    q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) {nodes} y = MatMul ({last}, w) }}"""


def attention(steps: int) -> str:
    """Return an attention with nodes between its query and the product."""
    nodes, last = moved("q", steps)
    return f"""{HEAD} g (float[1,2,8,4] q, float[1,2,4,8] k, float[1,2,8,4] v) => (float[1,2,8,4] y) {{
    {nodes} p = MatMul ({last}, k) w = Softmax (p) y = MatMul (w, v) }}"""


@pytest.mark.parametrize(
    ("kind", "text", "enough", "too_many"),
    [
        ("division", division, 11, 12),
        ("normalization", norm, MAX_STEPS - 4, MAX_STEPS),
        ("quantized", quantized, MAX_STEPS - 4, MAX_STEPS),
        ("attention", attention, MAX_STEPS - 4, MAX_STEPS + 1),
    ],
)
def test_a_kind_says_whether_all_of_it_was_searched(
    kind: str, text: object, enough: int, too_many: int
) -> None:
    assert callable(text)
    facts = facts_of(text(enough))
    assert (facts.searched(kind), len(facts.of(kind)) > 0) == (True, True)
    assert not facts_of(text(too_many)).searched(kind)


def test_kinds_that_need_others_are_not_searched_either(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(facts: Facts) -> object:
        return facts.of("division")

    facts = facts_of(division(12))
    assert not facts.searched("division")
    monkeypatch.setattr(foldable, "find", find)
    assert not facts.searched("foldable")
    assert facts.searched("gemm")


def constants(steps: int) -> str:
    """Return a chain of constant computations of this length."""
    nodes, last = moved("c", steps, "Neg")
    return f"{HEAD} g (float[8] x) => (float[8] y) < float[8] c = {{}} > {{ {nodes} y = Add (x, {last}) }}"


def one(facts: Facts) -> foldable.Foldable:
    """Return the only constant computation."""
    (found,) = facts.of("foldable")
    assert isinstance(found, foldable.Foldable)
    return found


def test_a_long_computation_of_constants_is_followed_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = facts_of(constants(200))
    assert (one(facts).nodes, one(facts).stored, facts.searched("foldable")) == (200, 32, True)
    monkeypatch.setattr(foldable, "_MOST_VALUES", 100)
    facts = facts_of(constants(200))
    assert (one(facts).nodes, one(facts).stored, one(facts).growth) == (100, None, None)
    assert not facts.searched("foldable")


def test_all_computations_of_constants_share_one_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foldable, "_MOST_TOGETHER", 250)
    nodes, last = moved("c", 200, "Neg")
    text = f"""{HEAD} g (float[8] x) => (float[8] y, float[8] z) < float[8] c = {{}} > {{
    {nodes} y = Add (x, {last}) other = Relu ({last}) z = Sub (x, other) }}"""
    found = facts_of(text).of("foldable")
    assert [each.nodes for each in found if isinstance(each, foldable.Foldable)] == [200, 64]


def test_the_report_says_once_that_rules_were_not_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(division(12)), "long.onnx")
    report = trtlint.lint("long.onnx", trt="10.7..10.9")
    assert {each.cause for model in report.models for each in model.unsearched} == {"walk"}
    (caveat,) = caveats(report.models)
    assert caveat.message.startswith("findings of ")
    rules = sorted({each.rule for model in report.models for each in model.unsearched})
    assert rules[0] in caveat.message
    exit_code = run(["long.onnx", "--trt", "10.7..10.9", "--no-cache", "--fail-on", "note"])
    shown = " ".join(capsys.readouterr().out.split())
    assert (exit_code, shown.count("is longer than trtlint follows")) == (3, 1)
    assert "no findings" not in shown
    onnx.save(onnx.parser.parse_model(division(11)), "short.onnx")
    assert not any(model.unsearched for model in trtlint.lint("short.onnx", trt="10.7..10.9").models)
