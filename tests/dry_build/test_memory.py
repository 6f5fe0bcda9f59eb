"""Tests that the memory estimate of a dry build grows with the weights."""

from __future__ import annotations

from pathlib import Path

import pytest

from trtlint.dry_build import drybuild
from trtlint.dry_build.drybuild import DryBuildRequest, roughly_needed
from trtlint.dry_build.errors import DryBuildError
from trtlint.dry_build.result import Level
from trtlint.dry_build.wheels import Wheels
from trtlint.process.spawn import Limits

SIZE = 1 << 20


def test_the_files_beside_a_model_count(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    for name in ("model.onnx", "model.onnx.data", "model.onnx_data", "model.data", "other.data"):
        (tmp_path / name).write_bytes(bytes(SIZE))
    least = roughly_needed(tmp_path / "missing.onnx", "parse")
    assert least > 100 * SIZE
    assert roughly_needed(model, "parse") - least == 4 * SIZE
    assert roughly_needed(model, "build") - least == 16 * SIZE


@pytest.mark.parametrize(("level", "times"), [("parse", 1), ("build", 4)])
def test_weights_need_as_much_memory_as_the_guess_says(level: Level, times: int) -> None:
    size = 1 << 30
    needed = roughly_needed(Path("missing.onnx"), level) + times * size
    drybuild._require_memory(size, DryBuildRequest(Wheels("1.7.1", ""), level, limits=Limits(memory=needed)))
    with pytest.raises(DryBuildError):
        drybuild._require_memory(
            size, DryBuildRequest(Wheels("1.7.1", ""), level, limits=Limits(memory=needed - 1))
        )
