"""Tests of explained differences in the table of backend tests."""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import parser

from benchmarks.import_differences.backend import Explanation, explanations, reported
from benchmarks.import_differences.cases import Case


def case(name: str, op: str) -> Case:
    """Return a case without a model."""
    return Case(name, op, "base", onnx.ModelProto(), {})


def test_an_explanation_is_about_operators_tests_and_outcomes() -> None:
    entry = Explanation("rounding", "unsaid", "https://onnx.ai", ("Resize",), ("test_resize_down",))
    assert entry.explains(case("node/test_resize_downsample", "Resize"), "differs")
    assert not entry.explains(case("node/test_resize_up", "Resize"), "differs")
    assert not entry.explains(case("node/test_resize_downsample", "Upsample"), "differs")
    assert not entry.explains(case("node/test_resize_downsample", "Resize"), "failed")


def test_each_entry_has_a_reason_and_a_public_source_and_each_rule_exists() -> None:
    rules, entries = explanations()
    shipped = {file.name.partition("-")[0] for file in (Path(__file__).parents[2] / "rules").rglob("*.md")}
    assert set(rules) <= shipped
    assert all(each.reason and each.source.startswith("https://") and each.ops for each in entries)


def test_a_rule_of_the_list_explains_a_model(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[3,3] x) => (float[3,3] y) { y = Trilu(x) }'
    onnx.save(parser.parse_model(text), model)
    assert reported(model, "1.7.1", ("ACC164", "ACC165")) == ("ACC164",)
    assert reported(model, "1.7.1", ("ACC165",)) == ()
