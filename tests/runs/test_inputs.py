"""Tasks for the paths of a command."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trtlint.errors import SettingError
from trtlint.policy.options import DryOptions, LintOptions, TargetOptions
from trtlint.runs.inputs import tasks_of

FILES = {"log": "build.log", "profile": "times.json"}
DRY = (
    "build.log describes a real build, so trtlint runs no dry build; "
    "omit this file, or omit --dry-build, --dry-parse and --compare"
)


def refusal(paths: tuple[str, ...], **options: Any) -> str:
    """Return the usage error for some paths and options."""
    factory: Any = SimpleNamespace(settings=lambda files: [SimpleNamespace(file=each) for each in files])
    with pytest.raises(SettingError) as error:
        tasks_of(factory, LintOptions(paths, TargetOptions(), **options))
    return str(error.value)


@pytest.mark.parametrize(
    ("paths", "options", "message"),
    [
        (("a.onnx", ""), {}, "a path is empty; check that your shell variable is set"),
        (("a.onnx",), {"dry": DryOptions("parse")}, DRY),
        (("a.onnx",), {"dry": DryOptions("build")}, DRY),
        ((), {"dry": DryOptions("build")}, DRY),
        (("a.onnx", "b.onnx"), {"dry": DryOptions("off")},
         "build.log describes the build of one model, but 2 models are given; pass only that model"),
    ],
)  # fmt: skip
def test_options_that_contradict_build_files(
    paths: tuple[str, ...],
    options: dict[str, Any],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.onnx", "b.onnx"):
        Path(name).touch()
    assert refusal(paths, build_files=FILES, **options) == message
