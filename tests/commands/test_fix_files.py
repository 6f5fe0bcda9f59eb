"""The files that ``trtlint fix`` writes, and those that it leaves alone."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from trtlint.cli import run
from trtlint.fixes import verification
from trtlint.trials import wheels
from trtlint.trials.comparison import available

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


@pytest.mark.skipif(not available(), reason="polygraphy or onnxruntime is not installed")
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


@pytest.mark.parametrize(
    ("option", "missing", "said"),
    [("--verify", "polygraphy", "trtlint[verify]"), ("--verify-build", "tensorrt-rtx", "trtlint[rtx]")],
)
def test_a_proof_without_what_it_needs_is_refused(
    option: str,
    missing: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A file that was not proven must not be taken for one that was."""
    found = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == missing else found(name))
    monkeypatch.setattr(wheels, "_installed", lambda *_: None)
    assert run([*FIX, str(EXAMPLE), "-o", str(tmp_path / "fixed.onnx"), option]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"trtlint: {option}: ")
    assert said in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())
