"""What the documents show is what trtlint does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from trtlint.engine.examples import run_examples
from trtlint.engine.rulebook import load_rules
from trtlint.language.functions import FUNCTIONS

README = (REPOSITORY / "README.md").read_text()
RULES = (REPOSITORY / "rules" / "README.md").read_text()


SCREENS = re.findall(r"```\n\$ trtlint ([^\n]*)\n(.*?)\n```", README, re.DOTALL)


@pytest.mark.parametrize(("command", "screen"), SCREENS, ids=[command for command, _ in SCREENS])
def test_a_screen_in_the_readme_is_real(command: str, screen: str) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "trtlint", *command.split()],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "120"},
    )
    if command.startswith("upgrade"):  # of which the first screen is shown
        assert result.stdout.startswith(f"{screen}\n")
    else:
        assert result.stdout.rstrip() == screen


def test_the_table_of_functions_is_complete() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| (.*) \|$", RULES, re.MULTILINE)
    documented = [(signature, meaning) for signature, meaning in rows if "(" in signature]
    assert sorted(documented) == sorted((f.signature, f.meaning) for f in FUNCTIONS.values())


def test_the_rule_in_the_documentation_works(tmp_path: Path) -> None:
    text = re.search(r"````markdown\n(.*?)````", RULES, re.DOTALL)
    assert text is not None
    (tmp_path / "HOUSE001-no-nearest-upsampling.md").write_text(text[1])
    results = list(run_examples(load_rules([tmp_path])))
    assert len(results) == 2
    assert all(result.ok for result in results), [str(result) for result in results]
