"""Tests of file arguments on the command line, and of Git LFS files not fetched."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.files.special import needs_posix
from tests.inprocess import printed
from tests.test_precommit import POINTER
from tests.workspace import Workspace
from trtlint.files import lfs
from trtlint.files.expand import expand, has_no_model


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with models in subfolders among other files."""
    for name in (
        *("a.onnx", "a.onnx.data", "b.ONNX", "[1].onnx", "deep/er/c.onnx", "deep/er/c.onnx_data"),
        *("deep/notes.txt", "lonely.onnx.data", "odd.pb"),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("paths", "files"),
    [
        (["a.onnx", "./a.onnx"], ["a.onnx"]),
        (["."], ["[1].onnx", "a.onnx", "b.ONNX", "deep/er/c.onnx"]),
        (["*.onnx"], ["[1].onnx", "a.onnx"]),
        (["**/*.onnx"], ["[1].onnx", "a.onnx", "deep/er/c.onnx"]),
        (["deep/**"], ["deep/er/c.onnx"]),
        (["deep**/**/**.onnx"], ["deep/er/c.onnx"]),
        (["*/er/"], ["deep/er/c.onnx"]),
        (["*/notes.txt/"], ["*/notes.txt"]),
        (["*.pb"], ["odd.pb"]),
        (["[1].onnx"], ["[1].onnx"]),
        (["nothing/*.onnx"], ["nothing/*.onnx"]),
        (["missing.onnx"], ["missing.onnx"]),
        (["a.onnx.data"], ["a.onnx"]),
        (["deep/er/c.onnx_data", "deep"], ["deep/er/c.onnx"]),
        (["lonely.onnx.data"], ["lonely.onnx.data"]),
        (["deep/notes.txt"], ["deep/notes.txt"]),
    ],
)
def test_what_paths_mean(paths: list[str], files: list[str], folder: Path) -> None:
    assert [path.as_posix() for path in expand(paths)] == files


def test_folders_without_models(folder: Path) -> None:
    (folder / "empty").mkdir()
    found = {name: has_no_model(folder / name) for name in ("empty", "deep", "a.onnx", "missing.onnx")}
    assert found == {"empty": True, "deep": False, "a.onnx": False, "missing.onnx": False}


@pytest.mark.parametrize("command", ["lint", "fix", "facts"])
def test_a_folder_without_models_is_reported(tmp_path: Path, command: str) -> None:
    (tmp_path / "empty").mkdir()
    result = printed(tmp_path, command, "empty")
    assert result.code == 3
    assert "empty: this folder contains no *.onnx file" in result.out + result.err


def test_absolute_globs(folder: Path) -> None:
    assert list(expand([f"{folder}/deep/*/*.onnx"])) == [folder / "deep" / "er" / "c.onnx"]


def test_globs_cover_hidden_folders_by_their_names_alone(folder: Path) -> None:
    model = folder / "deep" / ".hidden" / "d.onnx"
    model.parent.mkdir()
    model.touch()
    assert model.relative_to(folder) not in expand(["**/*.onnx", "deep/*/*.onnx"])
    assert list(expand(["deep/.hidden/*.onnx"])) == list(expand(["*/.hidden/*.onnx"]))
    assert list(expand(["*/.hidden/*.onnx"])) == [model.relative_to(folder)]


@needs_posix
def test_links_to_their_own_folder_end(folder: Path) -> None:
    for name in "abcd":
        (folder / "deep" / name).symlink_to(".")
    assert [path.as_posix() for path in expand(["deep/**/*.onnx"])] == ["deep/er/c.onnx"]


@pytest.mark.parametrize(
    ("content", "pointer"),
    [
        (POINTER, True),
        ("", False),
        ("version https://example.org", False),
        (POINTER.ljust(1023, "x"), True),
        (POINTER.ljust(1024, "x"), False),
    ],
)
def test_pointers(content: str, pointer: bool, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(content)
    assert lfs.is_pointer(tmp_path / "file") is pointer
    assert not lfs.is_pointer(tmp_path)
    assert not lfs.is_pointer(tmp_path / "missing")


def test_a_pointer_is_skipped(work: Workspace) -> None:
    (work.path / "p.onnx").write_text(POINTER)
    assert work.run("p.onnx") == 0
    assert work.out == f"note: p.onnx: skipped: {lfs.POINTER}\n"
    assert work.run("p.onnx", "models/b.onnx") == 0
    assert "no findings in 1 model" in work.out
    (model, _) = work.report("p.onnx", "models/b.onnx")["models"]
    assert (model["errors"], model["notes"]) == ([], [f"skipped: {lfs.POINTER}"])


def test_a_pointer_is_an_error_where_models_are_required(
    work: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    (work.path / "p.onnx").write_text(POINTER)
    assert work.run("p.onnx", "models/a.onnx", "--require-lfs") == 3
    out = capsys.readouterr().out
    assert f"p.onnx: {lfs.POINTER}" in out
    assert "error[XYZ901]" in out


def test_a_pointer_keeps_its_place_in_the_baseline(work: Workspace) -> None:
    work.run("models/a.onnx", "--write-baseline", "known.json")
    before = (work.path / "known.json").read_text()
    whole = (work.path / "models" / "a.onnx").read_bytes()
    (work.path / "models" / "a.onnx").write_text(POINTER)
    assert work.run("models/a.onnx", "--baseline", "known.json", "--update-baseline") == 0
    assert (work.path / "known.json").read_text() == before
    (work.path / "models" / "a.onnx").write_bytes(whole)
    assert work.run("models/a.onnx", "--baseline", "known.json") == 0
