"""Standard output and standard error: missing streams, unprintable text and closed pipes."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from trtlint.commands.streams import complain, discard_output, prepare_streams


def test_streams_print_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    buffers = io.BytesIO(), io.BytesIO()
    out, error = (io.TextIOWrapper(each, "ascii") for each in buffers)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", error)
    prepare_streams()
    for stream in (out, error):
        stream.write("é\udc80")
        stream.flush()
    assert [each.getvalue() for each in buffers] == [b"\\xe9\\udc80"] * 2


def test_streams_without_an_encoding_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", out := io.StringIO())
    monkeypatch.setattr(sys, "stderr", error := io.StringIO())
    prepare_streams()
    assert (sys.stdout, sys.stderr) == (out, error)


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_a_closed_stream_takes_text(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(sys, name, None)
    prepare_streams()
    with getattr(sys, name) as nowhere:
        assert (nowhere.name, nowhere.write("é\udc80")) == (os.devnull, 2)


@pytest.mark.parametrize("closed", ["2>&-", "<&- 2>&-", "<&- >&- 2>&-"])
def test_a_command_with_closed_streams(tmp_path: Path, closed: str) -> None:
    shell = f'"{sys.executable}" -m trtlint nope.onnx {closed}'
    assert subprocess.run(shell, shell=True, cwd=tmp_path, check=False).returncode == 3


def test_a_closed_descriptor_is_not_reused(tmp_path: Path) -> None:
    program = (
        "from trtlint.commands.streams import prepare_streams; prepare_streams(); "
        "import os, sys; sys.exit(os.open('file', os.O_CREAT | os.O_WRONLY) <= 2)"
    )
    shell = f'"{sys.executable}" -c "{program}" <&- >&- 2>&-'
    assert subprocess.run(shell, shell=True, cwd=tmp_path, check=False).returncode == 0


def test_text_for_a_closed_pipe_is_discarded(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "w", encoding="utf-8") as out:
        monkeypatch.setattr(sys, "stdout", out)
        out.write("one")
        discard_output()
        assert os.read(reader, 9) == b"one"
        os.close(reader)
        out.write("two")
        discard_output()
        out.flush()
        assert os.fstat(writer).st_rdev == Path(os.devnull).stat().st_rdev


def test_an_error_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    complain("one\n  two\tthree \x1b")
    out, error = capsys.readouterr()
    assert (out, error.startswith("trtlint: one two three")) == ("", True)
    assert (error.count("\n"), "\x1b" in error) == (1, False)
