"""Tests of the tables of operators that parsers import and refuse."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from onnx import defs

from trtlint.engine.rulebook import load_builtin
from trtlint.facts.blocks import conditions
from trtlint.facts.blocks.conditions import INITIALIZER, INPUT, NODE, OUTPUT, conditions_for, entries
from trtlint.facts.blocks.reasons import Reason
from trtlint.knowledge import data, tables
from trtlint.knowledge.parsers import (
    bundled,
    importing,
    is_listed,
    lines_of,
    lines_with_parser,
    parser_line,
    range_of,
)
from trtlint.knowledge.releases import minors


@pytest.mark.parametrize(
    "specifier", ["", ">=10.14", "<10.0", ">=9.1,<10.0", ">=10.0,!=10.3.*", "==11.0.*", "<8.7"]
)
def test_a_range_survives_being_a_set(specifier: str) -> None:
    lines = lines_of("tensorrt", specifier)
    text = range_of("tensorrt", lines)
    assert text is not None
    assert lines_of("tensorrt", text) == lines


def test_ranges_are_open_at_the_newest_release() -> None:
    known = minors("tensorrt")
    assert range_of("tensorrt", known) == ""
    assert range_of("tensorrt", known[-2:]) == f">={known[-2]}"
    assert range_of("tensorrt", known[:1]) == f"<{known[1]}"
    assert range_of("tensorrt", ()) is None
    assert lines_of("tensorrt", "none") == frozenset()
    assert lines_of("tensorrt", "*") == frozenset(known)


def test_every_rtx_release_has_a_parser() -> None:
    known = minors("tensorrt")
    ages = [known.index(parser_line(line)) for line in minors("tensorrt-rtx")]
    assert ages == sorted(ages)
    assert set(data("operators")["rtx"]) == set(minors("tensorrt-rtx"))
    assert lines_with_parser(">=11.2") == {"1.6", "1.7"}


def test_a_condition_on_a_type_that_does_not_exist_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    table = conditions.PATH.read_text(encoding="utf-8").replace(
        'inputs[0].dtype in ("bool"', 'inputs[0].dtype in ("boolean"'
    )
    monkeypatch.setattr(tables, "text", lambda name: table)
    with pytest.raises(ValueError, match=r"'boolean' is not one of .*did you mean 'bool'\?"):
        list(entries())


def test_importers() -> None:
    assert "10.14" in importing("Attention", "tensorrt")
    assert "10.13" not in importing("Attention", "tensorrt")
    assert "1.4" in importing("Attention", "tensorrt-rtx")
    assert importing("Swish", "tensorrt-rtx") == {"1.5", "1.6", "1.7"}
    assert importing("TRT_FullyConnected", "tensorrt") == lines_of("tensorrt", "<10.0")
    assert importing("NoSuchOperator", "tensorrt") == frozenset()
    assert bundled("ROIAlign_TRT", "tensorrt")
    assert not bundled("ROIAlign_TRT", "tensorrt-rtx")
    assert is_listed("Det")
    assert not is_listed("BitCast")


OPERATORS = dict.fromkeys(op for entry in tables.written("conditions") for op in entry.ops)


@pytest.mark.parametrize("op", OPERATORS)
def test_conditions_are_sound(op: str) -> None:
    table = data("operators")
    known = (
        op in table["operators"] or op in table["importers"] or op in table["rtx_importers"] or defs.has(op)
    )
    assert known or op in (INPUT, OUTPUT, INITIALIZER, NODE)
    for condition in conditions_for(op):
        assert condition.applies
        assert condition.source.startswith("https://")
        assert condition.code or condition.stage == "build"
        assert condition.says.pieces
        # Nothing is known of these names: every expression is evaluated, and none of them fails.
        assert condition.where.truth({}) is not None
        assert all(isinstance(text.fill({}), str) for text in (condition.says, condition.way))
        assert (condition.reason == "library") == bool(condition.plugin)
        assert (condition.reason == "gpu") == (condition.min_sm is not None)


def test_every_reason_has_a_rule() -> None:
    where = [rule.where.text for rule in load_builtin() if rule.find == "rejection" and rule.where]
    for reason in get_args(Reason):
        assert sum(f'reason == "{reason}"' in text for text in where) == 1, reason


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("  wher: op == ''\n", "line 3: Pow: Object contains unknown field `wher`"),
        ("  refused: x\n  do: that\n", "line 3: Pow: move the keys 'refused' and 'accepted'"),
        (
            "  refused: x\n  wher: op == ''\n",
            "line 3: Pow: move the keys 'refused' and 'accepted'",
        ),
        ("  types: [fp16]\n", "line 3: Pow: Invalid enum value 'fp16' - at `$.types"),
        ("  do: use {inputs[0].dtyp}\n", "line 3: Pow: Value has no field 'dtyp'; did you mean 'dtype'?"),
        (
            "  known: guessed\n",
            "line 3: Pow: Invalid enum value 'guessed' - at `$.known`",
        ),
        (
            "  stage: parsing\n",
            "line 3: Pow: Invalid enum value 'parsing' - at `$.stage`",
        ),
    ],
)
def test_a_wrong_entry_is_an_error(monkeypatch: pytest.MonkeyPatch, lines: str, problem: str) -> None:
    keys = ("tensorrt: '*'", "reason: type", "where: 'True'", "says: bad", "source: utils", "known: source")
    entry = "- op: Pow\n" + "".join(f"  {key}\n" for key in keys)
    table = f"sources: {{utils: https://example.com}}\nconditions:\n{entry}"
    monkeypatch.setattr(tables, "text", lambda name: table + lines)
    with pytest.raises(ValueError, match="^" + re.escape(problem)):
        list(entries())
