"""Tests of path globs in a configuration that match no model."""

from __future__ import annotations

from pathlib import Path

import pytest

from trtlint.policy.config import load
from trtlint.policy.unmatched import unmatched


@pytest.mark.parametrize(
    ("glob", "of_folder", "of_file"),
    [
        ("models/a.onnx", False, False),
        ("models/b.onnx", False, False),  # not linted here, but the file exists
        ("models/gone.onnx", True, True),
        ("model/*.onnx", True, True),
        ("models/*.onnx", False, False),
        ("models/gone*.onnx", True, False),
        ("models/**", False, False),
        ("other/", False, False),
        ("models/x/", True, True),
        ("a.onnx", False, False),
        ("gone.onnx", False, False),  # can be in a folder that was not linted
        ("models/*.py", False, False),
        ("./models/gone.onnx", True, True),
    ],
)
def test_globs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, glob: str, of_folder: bool, of_file: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("models/a.onnx", "models/b.onnx", "other/c.onnx"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).touch()
    text = f'[[models]]\npath = "{glob}"\n[[suppress]]\nrule = "ACC"\npath = ["{glob}"]\nreason = "r"\n'
    Path("trtlint.toml").write_text(text, encoding="utf-8")
    found = load(Path("trtlint.toml"))
    both = [f"trtlint.toml: {place}.path: {glob} matches no model" for place in ("models[0]", "suppress[0]")]
    listed = [Path("models/a.onnx"), Path("models/b.onnx")]
    assert [*unmatched([found], listed, ["models"])] == (both if of_folder else [])
    assert [*unmatched([found], listed[:1], ["models/a.onnx"])] == (both if of_file else [])


def test_a_run_over_the_whole_folder_checks_names(tmp_path: Path) -> None:
    text = '[[models]]\npath = ["a.onnx", "gone.onnx", "*.onnx", "script.py"]\n'
    (tmp_path / "trtlint.toml").write_text(text, encoding="utf-8")
    (tmp_path / "a.onnx").touch()
    (note,) = unmatched([load(tmp_path / "trtlint.toml")], [tmp_path / "a.onnx"], [str(tmp_path)])
    assert note.endswith("models[0].path: gone.onnx matches no model")
