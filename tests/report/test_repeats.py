"""Tests of text reports on many models: one explanation, a line per model and a table."""

from __future__ import annotations

import io

import pytest
from msgspec.structs import replace

from tests.report import handmade
from trtlint.engine.finding import ModelReport, Report
from trtlint.report.findinglines import model_line, references
from trtlint.report.formats import Style
from trtlint.report.text import render, writer


def _models(count: int) -> list[ModelReport]:
    """Return models with the same findings."""
    (model,) = handmade.one_model().models
    plain = tuple(replace(finding, said=()) for finding in model.findings)
    model = replace(model, findings=plain, conditional=(), suppressed=(), notes=(), gone=())
    return [replace(model, path=f"models/net{number}.onnx") for number in range(count)]


def _text(models: list[ModelReport]) -> str:
    file = io.StringIO()
    render(Report(tuple(models)), file)
    return file.getvalue()


def test_a_finding_of_several_models_is_explained_once() -> None:
    models = _models(20)
    shown = _text(models)
    (first,) = {finding.message for finding in models[0].findings[:1]}
    assert shown.count(first) == 1
    rule = models[0].findings[0].rule
    assert shown.count(f"trtlint fix MODEL --select {rule}") <= 1
    repeated = [line for line in shown.splitlines() if line.startswith("error[") and "net7.onnx" in line]
    assert len(repeated) == 1
    more = _text(_models(21)).count("\n") - shown.count("\n")
    assert more == len(models[0].findings)


def test_what_evidence_says_of_a_model_is_not_left_out() -> None:
    models = _models(3)
    own = replace(models[2].findings[0], said=("build.log:7: measured 3 ms",))
    models[2] = replace(models[2], findings=(own, *models[2].findings[1:]))
    assert "measured 3 ms" in _text(models)


def test_the_end_is_a_table_of_rules_and_models() -> None:
    models = _models(5)
    shown = _text(models).splitlines()
    heading = next(number for number, line in enumerate(shown) if line.startswith("rule "))
    rules = {finding.rule for finding in models[0].findings}
    rows = shown[heading + 1 : heading + 1 + len(rules)]
    assert all(row.split()[2] == "5" for row in rows)
    assert {row.partition("[")[2].partition("]")[0] for row in rows} == rules


def test_quiet_is_a_line_for_each_model() -> None:
    file = io.StringIO()
    quiet = writer(file, Style(files=3, rules=(), root=None, quiet=True))
    for model in _models(3):
        quiet.add([model])
    quiet.close(())
    lines = file.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("models/net1.onnx: 1 error")


def test_findings_of_one_rule_in_one_model_are_one_line_after_the_first() -> None:
    models = _models(2)
    first = models[1].findings[0]
    other = replace(first, fingerprint="0" * 16, advice=("another size",))
    models[1] = replace(models[1], findings=(first, other, *models[1].findings[1:]))
    assert _text(models).count(f"[{first.rule}] {first.name}: models/net1.onnx") == 1


@pytest.mark.parametrize(
    ("count", "several", "shown", "more"),
    [(3, False, 3, 0), (4, False, 4, 0), (5, False, 3, 2), (2, True, 2, 0), (3, True, 3, 0), (4, True, 2, 2)],
)
def test_a_single_further_reference_is_named(count: int, several: bool, shown: int, more: int) -> None:
    every = tuple(f"https://example.com/{number}" for number in range(count))
    found = references(replace(handmade.SCALE, references=every), several=several)
    last = (f"{more} more: trtlint rule {handmade.SCALE.rule}",) if more else ()
    assert tuple(found) == (*every[:shown], *last)


def test_the_line_of_a_model_counts_findings_and_rules() -> None:
    found = [replace(handmade.SCALE, rule=rule, severity="note", depends=()) for rule in ("T1", "T1", "T2")]
    unsure = replace(found[0], rule="T3", depends=("--fp16",))
    assert model_line("m.onnx", found) == "m.onnx: 3 notes: T1 × 2, T2"
    assert model_line("m.onnx", [*found, unsure]) == "m.onnx: 3 notes, 1 conditional: T1 × 2, T2, T3"
    assert model_line("m.onnx", [unsure]) == "m.onnx: 1 conditional: T3"
    many = [replace(found[0], rule=f"T{number}") for number in range(10)]
    assert model_line("m.onnx", many).endswith("T6, T7 and 2 more")
