"""The files that ``trtlint fix`` writes, and those that it leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from trtlint.cli import run
from trtlint.fixes import verification

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "examples" / "vit.onnx"
FIX = ("fix", "--trt", "10.7", "--isolated", "--select", "ACC102")


@pytest.mark.parametrize("option", ["--script", "--html"])
def test_two_files_in_one_place_are_refused(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "fixed.onnx"
    other = tmp_path / "." / "fixed.onnx"
    assert run([*FIX, str(EXAMPLE), "-o", str(out), option, str(other)]) == 2
    assert capsys.readouterr().err == f"trtlint: 2 files are to be written to {out}: name each another\n"
    assert not out.exists()


def test_no_script_is_written_of_what_was_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def differs(*_: object, **__: object) -> verification.Verdict:
        return verification.Verdict("outputs", False, "differs", {})

    monkeypatch.setattr(verification, "outputs", differs)
    out, script = tmp_path / "fixed.onnx", tmp_path / "surgeon.py"
    words = [*FIX, str(EXAMPLE), "-o", str(out), "--script", str(script)]
    assert run([*words, "--verify"]) == 3
    assert not list(tmp_path.iterdir())
    run([*words, "--dry-run"])
    assert list(tmp_path.iterdir()) == [script]
