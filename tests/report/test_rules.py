"""Tests of rules in the terminal."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from tests.engine.rules import make_rule
from trtlint.engine.rule import Rule
from trtlint.engine.rulebook import load_builtin
from trtlint.report.rules import write_rule, write_table
from trtlint.report.rulestatistics import write_json
from trtlint.report.ruletext import summary

RULES = tuple(load_builtin())


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def text(self) -> str:
        """Return the output without colours."""
        return re.sub(r"\x1b\[[0-9;]*m", "", self.getvalue())


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, 80, 160, 250])
def test_table_fits_and_is_complete(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out = Terminal()
    write_table(RULES, out)
    assert max(map(len, out.text().splitlines())) <= width
    for rule in RULES:
        assert rule.id in out.text()
        assert rule.name in out.text()


def test_table_off_a_terminal_has_one_line_a_rule() -> None:
    out = io.StringIO()
    write_table(RULES, out)
    assert len(out.getvalue().splitlines()) == len(RULES) + 1


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_builtin_rule_has_a_summary_of_one_short_sentence(rule: Rule) -> None:
    assert re.fullmatch(r"[A-Z0-9].{20,108}\.", rule.summary), rule.summary
    assert len(rule.summary.split()) <= 20
    assert not re.search(r"[`{}\[\]\n]|\.\s", rule.summary), "plain text, one sentence"


def test_summaries_differ() -> None:
    summaries = [rule.summary for rule in RULES if rule.summary]
    assert len(summaries) == len(set(summaries))


def test_the_summary_opens_the_explanation_and_is_in_the_table_and_the_data(tmp_path: Path) -> None:
    text = (
        "Relu, which is slow because it reads and writes all its elements in a separate kernel on every GPU."
    )
    rule = make_rule(tmp_path, "## What it does\n\nFinds Relu.\n", summary=text)
    explained, listed, data = io.StringIO(), io.StringIO(), io.StringIO()
    write_rule(rule, explained)
    write_table([rule], listed)
    write_json([rule], data, statistics=False)
    assert explained.getvalue().splitlines()[:3] == ["warning[TST001] a-rule", "", text]
    assert listed.getvalue().rstrip().endswith(text)
    assert json.loads(data.getvalue())[0]["summary"] == text


def test_without_a_summary_the_first_sentence_of_the_documentation_is_shown(tmp_path: Path) -> None:
    rule = make_rule(tmp_path, "## What it does\n\nFinds Relu: all\nof them. It is slow.\n")
    assert rule.summary == ""
    assert summary(rule) == "Finds Relu."
    explained = io.StringIO()
    write_rule(rule, explained)
    assert explained.getvalue().count("Finds Relu") == 1


def test_versions_and_the_fix_come_first_and_examples_last(tmp_path: Path) -> None:
    body = (
        "## What it does\n\nFinds Relu.\n\n## How to fix\n\nRemove it.\n\n"
        "## When it stays silent\n\nNever.\n\n## Fires\n\nA model.\n\n## Stays silent\n\nAnother model.\n"
    )
    explained = io.StringIO()
    write_rule(make_rule(tmp_path, body, summary="Relu is slow."), explained)
    parts = ("Relu is slow.", "= applies to:", "Remove it.", "Finds Relu.", "Never.", "= see:", "A model.")
    places = [explained.getvalue().index(part) for part in (*parts, "Another model.")]
    assert places == sorted(places)


def test_without_a_section_on_the_fix_the_advice_is_shown() -> None:
    explained = io.StringIO()
    write_rule(load_builtin().rule("ACC102"), explained)
    assert explained.getvalue().index("trtlint fix MODEL --select ACC102") < 500
    bare = next(rule for rule in RULES if "## How to fix" not in rule.body)
    write_rule(bare, explained := io.StringIO())
    text = explained.getvalue()
    assert text.index("## How to fix") < text.index("## What it does")


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_is_explained(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    terminal, file = Terminal(), io.StringIO()
    write_rule(rule, terminal)
    write_rule(rule, file)
    for text in (terminal.text(), file.getvalue()):
        assert text.startswith(f"{rule.severity}[{rule.id}] {rule.name}\n")
        assert "What it does" in text
        assert "   = applies to: " in text
        assert f"   = see: {rule.references[0]}\n" in text
