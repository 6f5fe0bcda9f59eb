"""Tests of command files: size limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from trtlint.buildcommand import read_commands, scan


def test_a_file_of_commands_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def read(path: Path, most: int) -> bytes:
        asked.append(most)
        return b"trtexec --onnx=a.onnx"

    monkeypatch.setattr(scan, "read_bytes", read)
    script = tmp_path / "build.sh"
    script.touch()
    assert [found.tool for found in read_commands(str(script))] == ["trtexec"]
    assert asked == [4 << 20]


@pytest.mark.parametrize(("lines", "found"), [(400, 1), (401, 0)])
def test_a_quote_ends_after_400_lines(lines: int, found: int) -> None:
    text = "trtexec --onnx=a.onnx '" + "\n" * lines + "'"
    assert len(list(scan.find_commands(text))) == found
