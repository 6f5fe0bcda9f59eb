"""Tests of temporary files for results, and of their removal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from trtlint.cli import run
from trtlint.files import replace, temporary
from trtlint.files.replace import replacing
from trtlint.files.temporary import new_name, remove_stale, temporary_file

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there are no locks of this kind")

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "examples" / "vit.onnx"


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    left = [tmp_path / new_name(), tmp_path / new_name(".trial.onnx")]
    kept = [tmp_path / ".trtlint-123.tmp", tmp_path / "model.tmp", tmp_path / f"{new_name()}.onnx"]
    for path in (*left, *kept):
        path.write_bytes(b"x")
    folder, link, hard = (tmp_path / new_name() for _ in range(3))
    folder.mkdir()
    link.symlink_to(kept[0])
    os.link(kept[1], hard)
    remove_stale(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in (*kept, folder, link, hard)}


def test_what_a_live_process_writes_stays(tmp_path: Path) -> None:
    with temporary_file(tmp_path) as path:
        remove_stale(tmp_path)
        assert path.exists()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("system", ["has all", "has no files without names", "names none later"])
def test_files_are_replaced_whole_or_not_at_all(
    system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if system == "has no files without names":
        monkeypatch.setattr(replace, "_open_unnamed", lambda _: None)
    elif system == "names none later":
        monkeypatch.setattr(replace, "_name", lambda *_: False)
    path = tmp_path / "result"
    for content in (b"old", b"new"):
        with replacing(path) as file:
            file.write(content)
        assert path.read_bytes() == content
    path.chmod(0o640)
    with pytest.raises(RuntimeError), replacing(path) as file:
        file.write(b"half")
        raise RuntimeError
    with replacing(path) as file:
        file.write(b"newer")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"newer", 0o640)
    assert list(tmp_path.iterdir()) == [path]


_KILLED = """
import os, signal, sys
from pathlib import Path
from trtlint.files.replace import replacing
with replacing(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_nothing_is_left_of_a_process_that_is_killed(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path / "x")], check=False)
    assert done.returncode == -signal.SIGKILL
    if replace._open_unnamed(tmp_path) is None:  # what the file system does not have is removed later
        remove_stale(tmp_path)
    assert not list(tmp_path.iterdir())


def test_fix_removes_what_an_earlier_run_left(tmp_path: Path) -> None:
    left = tmp_path / new_name()
    left.touch()
    run(["fix", str(EXAMPLE), "--trt", "10.7", "--isolated", "-o", str(tmp_path / "fixed.onnx")])
    assert [path.name for path in tmp_path.iterdir()] == ["fixed.onnx"]


def test_files_of_a_system_without_locks_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = tmp_path / new_name()
    left.touch()
    monkeypatch.setattr(temporary, "lock", lambda _: None)
    remove_stale(tmp_path)
    assert left.exists()


def test_a_file_that_is_there_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = tmp_path / new_name()
    there.write_text("kept")
    monkeypatch.setattr(temporary, "new_name", lambda _: there.name)
    with pytest.raises(FileExistsError), temporary_file(tmp_path):
        pass
    assert there.read_text() == "kept"


@pytest.mark.parametrize(("locked", "made"), [(False, 8), (None, 1), (True, 1)])
def test_a_file_is_made_again_if_another_process_has_its_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locked: bool | None, made: int
) -> None:
    names: list[str] = []

    def name(suffix: str) -> str:
        names.append(new_name(suffix))
        return names[-1]

    monkeypatch.setattr(temporary, "new_name", name)
    monkeypatch.setattr(temporary, "lock", lambda _: locked)
    with temporary_file(tmp_path, ".trial.onnx") as path:
        assert [entry.name for entry in tmp_path.iterdir()] == [path.name] == names[-1:]
    assert len(names) == made
    assert not list(tmp_path.iterdir())


def test_a_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with (tmp_path / "file").open("wb") as file:
        assert temporary.lock(file.fileno()) is None
