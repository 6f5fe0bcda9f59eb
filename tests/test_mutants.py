"""The sample of mutants: what is drawn, how it is counted, and what was judged by hand."""

from __future__ import annotations

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


@pytest.mark.parametrize("entry", EQUIVALENT, ids=lambda entry: f"{entry['file']}: {entry['after']}"[:100])
def test_what_was_judged_is_still_there(entry: dict[str, str]) -> None:
    lines = (REPOSITORY / entry["file"]).read_text("utf-8").splitlines()
    assert entry["before"] in {line.strip() for line in lines}
    assert entry["after"] != entry["before"]
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
