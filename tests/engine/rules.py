"""Rule files for tests."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from trtlint.engine.rule import Rule
from trtlint.engine.rulefile import load_rule

FRONT = {
    "id": "TST001",
    "name": "a-rule",
    "severity": "warning",
    "since": "0.1.0",
    "evidence": "documented",
    "find": "node",
    "message": "a {op}",
    "advice": "[{do: change it}]",
    "references": "[https://example.com/why]",
}


def rule_text(body: str = "", **front: str | None) -> str:
    """Return a rule file with changed, added or (None) removed front matter entries."""
    entries = {key: value for key, value in {**FRONT, **front}.items() if value is not None}
    return "---\n" + "".join(f"{key}: {value}\n" for key, value in entries.items()) + f"---\n{dedent(body)}"


def write_rule(folder: Path, body: str = "", **front: str | None) -> Path:
    """Write a rule file under its required name."""
    entries = {**FRONT, **front}
    path = folder / f"{entries['id']}-{entries['name']}.md"
    path.write_text(rule_text(body, **front), encoding="utf-8")
    return path


def make_rule(folder: Path, body: str = "", **front: str | None) -> Rule:
    """Write and load a rule file."""
    return load_rule(write_rule(folder, body, **front))
