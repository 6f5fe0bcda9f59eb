"""The state of the installation."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.inprocess import printed
from trtlint import __version__
from trtlint.commands import doctor
from trtlint.knowledge.extras import how_to_install
from trtlint.runs import cache


@pytest.mark.slow
def test_versions_and_the_cache_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRTLINT_CACHE_DIR", str(tmp_path / "cache"))
    shown = printed(tmp_path, "doctor")
    assert shown.code == 0
    lines = dict(line.split(maxsplit=1) for line in shown.out.split("\n\n")[0].splitlines())
    assert lines["trtlint"] == __version__
    assert lines["cache"].startswith(str(tmp_path / "cache"))


def test_what_is_missing_is_named_with_its_feature_and_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_version", lambda *names: "")
    out = printed(tmp_path, "doctor").out
    assert "--dry-build, --dry-parse, --compare, --verify-build: " in out
    assert 'pip install "tensorrt-rtx-cu12-' in out
    assert "trtlint measure, trtlint convert, --verify, --compare: " + how_to_install("measure") in out


def test_a_program_that_hangs_or_fails_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/nvidia-smi")

    def hangs(*args: object, **options: object) -> None:
        raise subprocess.TimeoutExpired("nvidia-smi", 10)

    monkeypatch.setattr(subprocess, "run", hangs)
    assert doctor._gpu() == ""


def test_the_size_of_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "cache"
    monkeypatch.setattr(cache, "folder", lambda: folder)
    assert doctor._cache() == f"{folder}, empty"
    (folder / "below").mkdir(parents=True)
    assert doctor._cache() == f"{folder}, empty"
    (folder / "a").write_bytes(bytes(1_000_000))
    assert doctor._cache() == f"{folder}, 1.0 MB in 1 files"
    (folder / "below" / "b").write_bytes(bytes(250_000))
    (folder / "link").symlink_to(folder / "none")
    assert doctor._cache().endswith(" MB in 3 files")
    monkeypatch.setattr(doctor, "_MOST_FILES", 3)
    assert doctor._cache() == f"{folder}, 1.3 MB in 3 files"
    monkeypatch.setattr(doctor, "_MOST_FILES", 2)
    assert doctor._cache() == f"{folder}, more than 2 files"
    monkeypatch.setattr(cache, "folder", lambda: None)
    assert doctor._cache() == "off (no usable folder)"
