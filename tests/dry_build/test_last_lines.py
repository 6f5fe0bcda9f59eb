"""The last lines of the log of a dry build, for a report of its failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from trtlint.dry_build import drybuild


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("\n \n", ()),
        ("one", ("one",)),
        ("1\n2\n3\n4\n", ("2", "3", "4")),
        ("1\n2\n\n 3 \n[03/04/2026-10:11:12] [TRT] [E] \n", ("1", "2", "3")),
        ("[03/04/2026-10:11:12] [TRT] [E] a [TRT] [W] b\n", ("a [TRT] [W] b",)),
        ("a [x] [TRT] [E] b\n", ("a [x] [TRT] [E] b",)),
        (f"{'a' * 300}\n{'b' * 301}", ("a" * 300, "b" * 300)),
    ],
)
def test_the_last_lines_of_a_log(tmp_path: Path, text: str, expected: tuple[str, ...]) -> None:
    log = tmp_path / "log"
    log.write_text(text, encoding="utf-8")
    assert drybuild._tail(log) == expected


def test_only_the_end_of_a_long_log_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"first\nmiddle\n\xfflast\n")
    for size, expected in (
        (20, ("first", "middle", "\ufffdlast")),
        (19, ("first", "middle", "\ufffdlast")),
        (18, ("irst", "middle", "\ufffdlast")),
        (5, ("last",)),
    ):
        monkeypatch.setattr(drybuild, "_TAIL", size)
        assert drybuild._tail(log) == expected
