"""Tests of the mutant sample: selection, counts and manual verdicts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from scripts.mutants.table import table
from tests.conftest import REPOSITORY

EQUIVALENT = yaml.safe_load((REPOSITORY / "scripts" / "mutants" / "equivalent.yaml").read_text("utf-8")) or []

SOURCE = """
from __future__ import annotations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

def f(x: int | None, rows: Sequence[int | str] = ()) -> int | None:
    return None if x is None else x + 1
"""
CLASS = "class Row(Struct, frozen=True, eq=False, omit_defaults=True):\n    name: str\n"
CLASS_AFTER = "class Row(Struct, frozen=True, eq=False, omit_defaults=False):"
UNSEEN: tuple[tuple[str, set[str]], ...] = (
    (CLASS, {CLASS_AFTER}),
    ("class Row(TypedDict, total=False):\n    name: str\n", set()),
    ("def f(a, *, b=True):\n    return a\n", {"def f(a, *, b=False):"}),
    ("pairs = zip(a, b, strict=True)\n", set()),
    ("pairs = zip(a, b, strict=False)\n", {"pairs = zip(a, b, strict=True)"}),
    ("pairs = rows(a, b, strict=True)\n", {"pairs = rows(a, b, strict=False)"}),
)
"""Sources, and the lines that their mutants change."""


@pytest.mark.parametrize("entry", EQUIVALENT, ids=lambda entry: f"{entry['file']}: {entry['before']}"[:100])
def test_what_was_judged_is_still_there(entry: dict[str, str]) -> None:
    lines = (REPOSITORY / entry["file"]).read_text("utf-8").splitlines()
    assert entry["before"] in {line.strip() for line in lines}
    assert entry.get("after") != entry["before"]
    assert "after" in entry or re.match(r"_?[A-Z][A-Z0-9_]*\b", entry["before"])
    assert entry["why"]


def test_equivalent_mutants_count_apart() -> None:
    rows = [{"room": "fixes", "status": status} for status in ("killed", "survived", "timeout", "equivalent")]
    lines = [line.split() for line in table([*rows, {"room": "files", "status": "killed"}])]
    assert lines[1:] == [
        ["files", "1", "1", "0", "0", "0", "0%"],
        ["fixes", "3", "1", "1", "1", "1", "33%"],
        ["all", "4", "2", "1", "1", "1", "25%"],
    ]


def test_a_seed_draws_the_same_mutants_whatever_the_rooms(tmp_path: Path) -> None:
    pytest.importorskip("cosmic_ray")
    from scripts.mutants.sites import sample

    for room in ("one", "two"):
        (tmp_path / "trtlint" / room).mkdir(parents=True)
        (tmp_path / "trtlint" / room / "m.py").write_text(SOURCE)
    drawn = list(sample(tmp_path, 100, 1))
    assert [mutant.key for mutant in sample(tmp_path, 100, 1, ["two"])] == [
        mutant.key for mutant in drawn if mutant.room == "two"
    ]
    assert {mutant.before for mutant in drawn} == {"return None if x is None else x + 1"}


@pytest.mark.parametrize(("source", "lines"), UNSEEN, ids=[source for source, _ in UNSEEN])
def test_what_no_test_can_see_stays(tmp_path: Path, source: str, lines: set[str]) -> None:
    pytest.importorskip("cosmic_ray")
    from scripts.mutants.sites import sample

    (tmp_path / "trtlint" / "room").mkdir(parents=True)
    (tmp_path / "trtlint" / "room" / "m.py").write_text(source)
    assert {mutant.after for mutant in sample(tmp_path, 100, 1)} == lines


@pytest.mark.parametrize(
    ("file", "test"),
    [
        ("trtlint/policy/config.py", "tests/policy/test_config.py"),
        ("trtlint/policy/options.py", "tests/policy/test_config.py"),
        ("trtlint/facts/of_model/cumulative_sum.py", "tests/facts/test_sixteen_bits.py"),
        ("trtlint/case.py", "tests/test_case.py"),
        ("trtlint/facts/of_model/attention.py", "tests/facts/test_attention.py"),
    ],
)
def test_a_module_has_a_test_module(file: str, test: str) -> None:
    pytest.importorskip("coverage")
    from scripts.mutants.cover import own_tests

    assert test in own_tests(file)
    assert "tests/policy/test_review.py" not in own_tests(file)
