"""Tests of the examples in the refusal table, and of messages for failed examples."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from trtlint.examples import conditions as conditionexamples
from trtlint.examples.conditions import run_condition_examples
from trtlint.examples.rules import ExampleResult
from trtlint.facts.blocks.conditions import PATH, ConditionEntry, entries

POW = next(entry for entry in entries() if entry.ops == "Pow")
BASE = "({0}[2] x, {1}[2] y) => ({0}[2] z) {{ z = Pow (x, y) }}"
INTEGER, FLOAT = BASE.format("int32", "float"), BASE.format("float", "int32")


def run(monkeypatch: pytest.MonkeyPatch, refused: object, accepted: object) -> list[ExampleResult]:
    entry: ConditionEntry = replace(POW, refused=refused, accepted=accepted)
    monkeypatch.setattr(conditionexamples, "entries", lambda: iter([entry]))
    return list(run_condition_examples())


def test_examples_that_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    results = run(monkeypatch, [INTEGER, f"opset 12 {INTEGER}"], [FLOAT, f"--trt 10.12 {INTEGER}"])
    assert [result.got for result in results] == ["refused", "refused", "accepted", "accepted"]
    assert all(result.ok for result in results)


def test_examples_that_do_not_hold_name_the_line_of_their_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    results = run(monkeypatch, FLOAT, INTEGER)
    assert not any(result.ok for result in results)
    line = PATH.read_text(encoding="utf-8").split("\n")[POW.line - 1]
    assert line == "- op: Pow"
    assert str(results[0]).endswith(f"conditions.yaml:{POW.line}: Pow: expected refused, got accepted")


def test_another_reason_is_not_the_reason_of_the_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    unfit = "(float[2] x, float[3] y) => (float[2] z) { z = Pow (x, y) }"
    results = run(monkeypatch, unfit, unfit)
    assert [(result.got, result.ok) for result in results] == [("accepted", False), ("refused", False)]
    assert all("with shapes that do not broadcast" in result.detail for result in results)


def test_of_several_other_reasons_the_first_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    two = "(float[2] x, float[3] y) => (float[2] z) { a = Pow (x, y)  b, i = Unique (x)  z = Neg (a) }"
    one = "(float[2] x, float[3] y) => (float[2] z) { z = Pow (x, y) }"
    single = run(monkeypatch, one, one)
    both = run(monkeypatch, two, two)
    assert both == single
    assert [result.detail for result in single] == [
        f"the model is refused for another reason: {single[1].detail}",
        single[1].detail,
    ]


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        (7, "an example must be a model"),
        ("Pow", "an example must be a model"),
        ("(float[2] x) => (float[2] z) { z = Pow (x }", "Expected character ) not found"),
        ("(float[2] x) => (float[2] z) { z = Pou (x) }", "Pou"),
        (f"--trt 99 {INTEGER}", "99"),
        (f"--tensorrt 10.8 {INTEGER}", "unknown option '--tensorrt'"),
        (f"opset x {INTEGER}", "opset must be a number, not 'x'"),
        (f"'{INTEGER}", "No closing quotation"),
    ],
)
def test_what_is_no_example(monkeypatch: pytest.MonkeyPatch, text: object, detail: str) -> None:
    (result, _) = run(monkeypatch, text, FLOAT)
    assert result.got == "unreadable"
    assert detail in result.detail


def test_the_checker_must_accept_an_example_unless_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = FLOAT.replace("{", "{ w = Relu <none = 1> (x)")
    assert run(monkeypatch, INTEGER, unknown)[1].got == "unreadable"
    assert run(monkeypatch, INTEGER, f"unchecked {unknown}")[1].ok


def test_an_entry_without_examples_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    results = run(monkeypatch, None, [])
    assert [result.detail for result in results] == [
        "the entry has no example with the key 'refused'",
        "the entry has no example with the key 'accepted'",
    ]
    assert not any(result.ok for result in results)
