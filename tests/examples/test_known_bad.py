"""Tests of the table of bad releases: its examples, and errors with line numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from trtlint import lint
from trtlint.engine.rulebook import load_builtin
from trtlint.examples import known_bad as knownbadexamples
from trtlint.examples.known_bad import run_known_bad_examples
from trtlint.examples.models import model_of_text
from trtlint.facts.blocks import knownbad
from trtlint.facts.blocks.knownbad import entries
from trtlint.knowledge import tables
from trtlint.target.target import Target

RULES = tuple(rule for rule in load_builtin() if rule.find == "known_bad")
CUMSUM = next(entry for entry in entries() if entry.cause.ops == ("CumSum",))
FIXED = "(float[2,8] x) => (float[2,8] y) <int64 a = {1}> { y = CumSum (x, a) }"
OPEN = "--rtx 1.6 (float[2,n] x) => (float[2,n] y) <int64 a = {1}> { y = CumSum (x, a) }"


@pytest.fixture
def forgotten() -> Iterator[None]:
    """Clear the cached table before and after the test."""
    for kept in (knownbad._table, knownbad._cause):
        kept.cache_clear()
    yield
    for kept in (knownbad._table, knownbad._cause):
        kept.cache_clear()


@pytest.mark.slow
def test_every_example_holds() -> None:
    results = list(run_known_bad_examples(RULES))
    assert len(results) >= 2 * len(list(entries())) >= 30
    assert [str(result) for result in results if not result.ok] == []


def test_one_that_does_not_hold_names_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knownbadexamples, "entries", lambda: iter([replace(CUMSUM, bad=OPEN, good=[])]))
    first, second = run_known_bad_examples(RULES)
    assert str(first).endswith(f"known_bad.yaml:{CUMSUM.line}: CumSum: expected fires, got silent")
    assert second.got == "missing"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  hurts: accuracy\n", "  hurt: accuracy\n", "unknown field `hurt`"),
        ("  hurts: accuracy\n", "", "missing required field `hurts`"),
        ("severity: error", "severity: fatal", "Invalid enum value 'fatal' - at `$.severity`"),
        ("where: static(inputs[0])", "where: static(input[0])", "input"),
        ("where: static(inputs[0])", "kind: attention\n  where: form == 'no form'", "no form"),
        ("where: static(inputs[0])", "kind: log_message\n  where: name == 'no name'", "no name"),
        ("where: static(inputs[0])", "where: opset + 1", "the expression must be a condition"),
        ("rtx: ==1.6.*", "rtx: 1.6", "Invalid specifier: '1.6'"),
        ("rtx: ==1.6.*", "sms: [75]", "the entry has neither the key 'tensorrt' nor the key 'rtx'"),
        ("rtx: ==1.6.*", "rtx: ==1.6.*\n  types: [fp16]", "Invalid enum value 'fp16' - at `$.types[0]`"),
        ("source: https:", "source: http:", "is not an https URL"),
        ("says: ", "says: '{nothing}'\n  do: ''\n  #", "nothing"),
    ],
)
def test_what_is_wrong_is_an_error_with_its_line(
    monkeypatch: pytest.MonkeyPatch, forgotten: None, old: str, new: str, said: str
) -> None:
    whole = knownbad.PATH.read_text(encoding="utf-8")
    start = whole.index("- op: [CumSum]")
    end = whole.index("\n- op:", start)
    entry = whole[start:end]
    assert old in entry
    changed = entry.replace(old, new, 1)
    if "#" in new:
        changed = changed.replace('  do: "Use', '  # "Use', 1)
    monkeypatch.setattr(tables, "text", lambda name: changed + "\n")
    monkeypatch.setattr(knownbad, "data", lambda name: [changed])
    with pytest.raises(ValueError, match="line 1: ") as raised:
        list(entries())
    assert said in str(raised.value)


def test_a_cause_is_told_once_and_its_release_decides(tmp_path: Path) -> None:
    text = (
        '< ir_version: 8, opset_import: ["" : 17] > g (float[2,8] x) => (float[2,8] z) <int64 a = {1}>'
        " { y = CumSum (x, a) z = CumSum (y, a) }"
    )
    path = model_of_text(text, tmp_path / "m.onnx", checked=True).path

    def sites(version: str) -> list[int]:
        (report,) = lint(path, Target(product="tensorrt-rtx", version=version)).models
        return [len(found.sites) for found in report.findings if found.rule == "PORT137"]

    assert sites("1.6.1") == [1]
    assert sites("1.7.1") == []


def test_a_finding_names_the_gpus_of_its_cause(tmp_path: Path) -> None:
    """A conditional finding has no known GPU, so its text must not say "this GPU"."""
    text = (
        '< ir_version: 12, opset_import: ["" : 23] > g (float4e2m1[32] x) => (float[32] y)'
        " <float[2] s = {1, 1}> { y = DequantizeLinear <axis = 0, block_size = 16> (x, s) }"
    )
    path = model_of_text(text, tmp_path / "m.onnx", checked=False).path
    (report,) = lint(path, Target(version="10.16")).models
    (found,) = [each for each in report.conditional if each.rule == "PORT138"]
    assert found.message == "the builder crashes on quantizers of FP4 on SM 11.0"
    assert "for SM 11.0" in " ".join(found.advice)
