"""Tests of companion files that a model names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.files.special import needs_posix
from trtlint.files.beside import real_file


@needs_posix
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("w.bin", "home/w.bin"),
        ("sub/../w.bin", "home/w.bin"),
        ("sub/w.bin", "home/sub/w.bin"),
        ("missing", "home/missing"),
        ("../other/w.bin", None),
        ("..", None),
        (".", None),
        ("", None),
        ("inner", "home/sub/w.bin"),
        ("outer", None),
        ("cached", "cache/w.bin"),
        ("deeper", None),
        ("../cache/w.bin", "cache/w.bin"),
    ],
)
def test_a_file_stays_in_the_folder_or_beside_the_real_model(
    tmp_path: Path, name: str, expected: str | None
) -> None:
    root = tmp_path.resolve()
    for folder in ("home/sub", "other", "cache/deep"):
        (root / folder).mkdir(parents=True)
    for link, target in (
        ("inner", "sub/w.bin"),
        ("outer", "../other/w.bin"),
        ("cached", "../cache/w.bin"),
        ("deeper", "../cache/deep/w.bin"),
        ("model.onnx", "../cache/1"),
    ):
        (root / "home" / link).symlink_to(target)
    home = root / "home"
    assert real_file(home, name, home / "model.onnx") == (None if expected is None else root / expected)
    assert real_file(home, str(home / "w.bin"), home / "model.onnx") is None
    (root / "link").symlink_to("home")
    linked = root / "link"
    assert real_file(linked, name, linked / "model.onnx") == (None if expected is None else root / expected)
