"""Tests of ``trtlint doctor``."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

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


@pytest.mark.parametrize("missing", ["a", "c"])
def test_files_that_vanish_have_no_size(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        (tmp_path / name).write_bytes(bytes(1_000_000))
    status = Path.lstat

    def lstat(path: Path) -> os.stat_result:
        if path.name == missing:
            raise FileNotFoundError
        return status(path)

    monkeypatch.setattr(Path, "lstat", lstat)
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    assert doctor._cache() == f"{tmp_path}, 2.0 MB in 3 files"


@pytest.mark.parametrize(
    ("code", "out", "expected"),
    [
        (0, "NVIDIA L4, 550.54\n", "NVIDIA L4, 550.54"),
        (0, "\n a, 1 \n\nb, 2\n", "a, 1; b, 2"),
        (0, "".join(f"{at}\n" for at in range(9)), "0; 1; 2; 3; 4; 5; 6; 7"),
        (0, "", ""),
        (9, "NVIDIA-SMI has failed\n", ""),
    ],
)
def test_gpus(code: int, out: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")

    def answer(words: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        query = ["--query-gpu=name,driver_version", "--format=csv,noheader"]
        assert words == ["/usr/bin/nvidia-smi", *query]
        return subprocess.CompletedProcess(words, code, out)

    monkeypatch.setattr(subprocess, "run", answer)
    assert doctor._gpu() == expected
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert doctor._gpu() == ""


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("one",), "1.0"),
        (("none", "Two.a"), "2.0 (Two.a)"),
        (("two-a", "one"), "2.0"),
        (("none",), ""),
    ],
)
def test_versions_of_packages(names: tuple[str, ...], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [SimpleNamespace(name=name, version=version) for name, version in
              (("One", "1.0"), (None, "9"), ("two_A", "2.0"))]  # fmt: skip
    monkeypatch.setattr(doctor, "distributions", lambda: listed)
    assert doctor._version(*names) == expected


def test_the_report_lists_what_is_missing_below(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = [
        doctor.Check("a", "1", "x", "get a"), doctor.Check("long", "", "y"),
        doctor.Check("b", "", "z", "get b"), doctor.Check("c", "", without="none"),
    ]  # fmt: skip
    monkeypatch.setattr(doctor, "checks", lambda: iter(listed))
    lines = ["a     1  (x)", "long  not installed  (y)", "b     not installed  (z)", "c     none"]
    assert doctor.run_doctor() == 0
    missing = ["", "To install the missing packages:", "  z: get b"]
    assert capsys.readouterr().out.splitlines() == [*lines, *missing]
    del listed[2]
    assert doctor.run_doctor() == 0
    assert capsys.readouterr().out.splitlines() == [*lines[:2], lines[3]]
