"""Tests of ``trtlint fix`` on models with functions: lint as stored, write inlined."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from tests.fixes.fixing import assert_same, fixed, ops
from tests.sampling import EVERY
from trtlint.case import Case
from trtlint.cli import run
from trtlint.engine.finding import ModelReport
from trtlint.engine.rulebook import load_builtin
from trtlint.engine.ruleset import RuleSet
from trtlint.examples.models import model_of_text
from trtlint.examples.rules import examples, newest
from trtlint.fixes.relint import linting
from trtlint.fixes.source import read_source
from trtlint.target.target import Target

SAMPLED = 1 if EVERY else 40
"""Sampling interval of the compared examples without functions."""
TAKEN = """< ir_version: 8, opset_import: ["" : 17, "my" : 1] >
g (float[3] x) => (float[3] y) { y = my.Softplus (x) }
< domain: "my", opset_import: ["" : 17] >
Softplus (p) => (q) { q = Neg (p) }
"""
X = {"x": np.array([1, -2, 3], np.float32)}


def test_fix_lints_what_lint_lints(tmp_path: Path) -> None:
    every = RuleSet.of(load_builtin())
    path = tmp_path / "model.onnx"
    compared = 0
    for text, target in _models():
        model_of_text(text, path, checked=False)
        case = Case(path, (target,), every)
        source = read_source(path)
        assert _found(linting(case, source)(source.proto).reports) == _found(case.report())
        compared += 1
    assert compared > 20


def test_a_misread_function_is_inlined(tmp_path: Path) -> None:
    before, after = fixed(tmp_path, TAKEN, "--trt", "10.7")
    assert_same(before, after, X)
    assert after is not None
    assert not after.functions
    assert ops(after) == ["Neg"]


def test_a_function_that_the_parser_cannot_call_is_inlined(tmp_path: Path) -> None:
    before, after = fixed(tmp_path, TAKEN.replace("Softplus", "Negative"), "--trt", "8.6")
    assert_same(before, after, X)
    assert ops(after) == ["Neg"]


def test_a_script_cannot_inline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, after = fixed(tmp_path, TAKEN, "--trt", "10.7", "--script", str(tmp_path / "edit.py"))
    assert after is None
    assert "the model calls model-local functions, which the script cannot inline" in capsys.readouterr().err
    assert not (tmp_path / "edit.py").exists()


def test_nothing_is_inlined_without_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = TAKEN.replace("Softplus", "Negative")
    _, after = fixed(tmp_path, text, "--trt", "10.7")
    assert after is None
    assert "no findings before" in capsys.readouterr().out
    assert run(["fix", str(tmp_path / "model.onnx"), "--isolated", "--trt", "10.7"]) == 0


def _models() -> Iterator[tuple[str, Target]]:
    """Yield the models of rule examples with functions, and some others, with their targets."""
    count = 0
    for rule in load_builtin():
        for example in examples(rule):
            text = next((block.text for block in example.blocks if block.kind == "onnx"), None)
            if text is None or example.command is not None:
                continue
            count += 1
            if "domain:" not in text and count % SAMPLED:
                continue
            target = example.target
            if target.version is None:
                target = replace(target, version=newest(rule.applies, target.product))
            yield text, target


def _found(reports: tuple[ModelReport, ...]) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return the findings and notes of reports."""
    found = [(f.fingerprint, f.message, tuple(s.node for s in f.sites)) for r in reports for f in r.findings]
    return sorted(found + [("", note, ()) for report in reports for note in report.notes])
