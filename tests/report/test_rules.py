"""Rules in the terminal."""

from __future__ import annotations

import io
import re

import pytest

from trtlint.engine.rule import Rule
from trtlint.engine.rulebook import load_builtin
from trtlint.report.rules import write_rule, write_table
from trtlint.report.ruletext import what

RULES = tuple(load_builtin())


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def text(self) -> str:
        """What was written, without colours."""
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


def test_every_rule_says_what_it_finds_in_a_sentence() -> None:
    for rule in RULES:
        assert 20 < len(what(rule)) < 400, rule.id


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
