"""Tests of rule files as text."""

from __future__ import annotations

from pathlib import Path

import pytest

from trtlint.engine.rule import LARGEST, RuleError
from trtlint.engine.rulefile import read_rule


def test_a_byte_order_mark_and_line_ends_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"\xef\xbb\xbf---\r\nid: \xc3\xa9\r\n\n---\r")
    assert read_rule(path) == "---\nid: é\n\n---\r"


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"\xff", 1, "the file is not UTF-8: the byte at offset 0 is invalid"),
        (b"a\nb\r\nc\xff\n\xff", 3, "the file is not UTF-8: the byte at offset 6 is invalid"),
    ],
)
def test_the_line_of_a_byte_that_is_no_text(data: bytes, line: int, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(data)
    with pytest.raises(RuleError) as caught:
        read_rule(path)
    assert (caught.value.path, caught.value.line, caught.value.message) == (path, line, message)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    with pytest.raises(RuleError) as caught:
        read_rule(path)
    assert (caught.value.line, caught.value.message) == (1, "No such file or directory")
    path.write_bytes(b"a" * LARGEST)
    assert len(read_rule(path)) == LARGEST
    path.write_bytes(b"a" * (LARGEST + 1))
    with pytest.raises(RuleError) as caught:
        read_rule(path)
    assert caught.value.line == 1
    assert "longer than 256 KiB, the limit for this kind of file" in caught.value.message
