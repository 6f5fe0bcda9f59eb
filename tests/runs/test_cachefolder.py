"""The cache writes, reads and deletes its own regular files, whatever its folder holds or is."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.files.special import at_most, needs_posix
from tests.workspace import Workspace
from trtlint.cli import run

TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# https://bford.info/cachedir/\n"
"""The tag of any program's cache."""
LONG_AGO = time.time() - 90 * 24 * 3600

pytestmark = needs_posix


@pytest.fixture(autouse=True)
def beside_configuration(work: Workspace, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the cache: beside the configuration."""
    monkeypatch.delenv("TRTLINT_CACHE_DIR")
    work.toml("trtlint.toml", "")
    return work.path / ".trtlint_cache"


def outside(work: Workspace) -> dict[Path, str]:
    """Old files outside of any cache, in a folder and links' way."""
    folder = work.path / "outside"
    folder.mkdir()
    names = ("precious", "CACHEDIR.TAG", "0" * 38 + ".json")
    for name in names:
        (folder / name).write_text(f"{TAG}kept")
        os.utime(folder / name, (LONG_AGO, LONG_AGO))
    return {folder / name: f"{TAG}kept" for name in names}


def unchanged(files: dict[Path, str]) -> bool:
    """The files hold what they held, and nothing new is beside them."""
    (folder,) = {file.parent for file in files}
    return set(folder.iterdir()) == set(files) and all(file.read_text() == files[file] for file in files)


@pytest.mark.parametrize("tagged", [True, False])
def test_planted_links_lead_nowhere(work: Workspace, beside_configuration: Path, tagged: bool) -> None:
    files = outside(work)
    beside_configuration.mkdir()
    if tagged:
        (beside_configuration / "CACHEDIR.TAG").write_text(TAG)
        os.utime(beside_configuration / "CACHEDIR.TAG", (LONG_AGO, LONG_AGO))
    (beside_configuration / ".gitignore").symlink_to("../outside/precious")
    for shelf in range(256):
        (beside_configuration / f"{shelf:02x}").symlink_to("../outside", target_is_directory=True)
    assert work.run("models/a.onnx") == 1
    assert unchanged(files)


def test_links_in_a_cache_of_ones_own_lead_nowhere(work: Workspace, beside_configuration: Path) -> None:
    files = outside(work)
    assert work.run("models/a.onnx") == 1
    (entry,) = beside_configuration.glob("*/*.json")
    os.utime(beside_configuration / "CACHEDIR.TAG", (LONG_AGO, LONG_AGO))
    shelf = entry.parent.rename(work.path / "shelf")
    entry.parent.symlink_to("../outside", target_is_directory=True)
    assert work.run("models/a.onnx") == 1
    assert unchanged(files)
    entry.parent.unlink()
    shelf.rename(entry.parent)
    entry.unlink()
    entry.symlink_to("../../outside/precious")
    other = entry.with_name("1" * 38 + ".json")
    other.symlink_to("../../outside/precious")
    os.utime(beside_configuration / "CACHEDIR.TAG", (LONG_AGO, LONG_AGO))
    assert work.run("models/a.onnx") == 1
    assert unchanged(files)
    assert other.is_symlink()


def test_a_folder_that_is_a_link_is_no_cache(work: Workspace, beside_configuration: Path) -> None:
    files = outside(work)
    (work.path / "empty").mkdir()
    for target in ("outside", "empty", "missing"):
        beside_configuration.unlink(missing_ok=True)
        beside_configuration.symlink_to(target, target_is_directory=True)
        assert work.run("models/a.onnx") == 1
    assert unchanged(files)
    assert not any((work.path / "empty").iterdir())
    assert not (work.path / "missing").exists()


@pytest.mark.parametrize("named", ["", ".", "ab/.."])
def test_a_folder_of_other_files_is_no_cache(
    work: Workspace, capsys: pytest.CaptureFixture[str], named: str
) -> None:
    (work.path / ".gitignore").write_text("mine")
    (work.path / "CACHEDIR.TAG").write_text(TAG)
    for name in ("ab/precious", f"ab/{'0' * 38}.json"):
        (work.path / name).parent.mkdir(exist_ok=True)
        (work.path / name).write_text("kept")
        os.utime(work.path / name, (LONG_AGO, LONG_AGO))
    os.utime(work.path / "CACHEDIR.TAG", (LONG_AGO, LONG_AGO))
    before = {path: path.read_bytes() for path in work.path.rglob("*") if path.is_file()}
    assert run(["models/a.onnx", "--cache-dir", named]) == (1 if named else 2)
    said = capsys.readouterr().err
    assert ("no cache of trtlint" if named else "names no folder") in said
    assert {path: path.read_bytes() for path in work.path.rglob("*") if path.is_file()} == before


def test_a_pipe_is_no_entry(work: Workspace, beside_configuration: Path) -> None:
    assert work.run("models/a.onnx") == 1
    (entry,) = beside_configuration.glob("*/*.json")
    for place in (entry, beside_configuration / "CACHEDIR.TAG"):
        place.unlink()
        os.mkfifo(place)
        with at_most(10):
            assert work.run("models/a.onnx") == 1


def test_only_its_own_files_are_deleted(work: Workspace, beside_configuration: Path) -> None:
    assert work.run("models") == 1
    own = list(beside_configuration.glob("*/*.json"))
    other = [
        own[0].parent / "notes.txt",
        beside_configuration / "zz" / "old",
        beside_configuration / "ab.txt",
    ]
    for file in other:
        file.parent.mkdir(exist_ok=True)
        file.write_text("kept")
    for file in (*own, *other, beside_configuration / "CACHEDIR.TAG"):
        os.utime(file, (LONG_AGO, LONG_AGO))
    assert work.run("models/b.onnx", "--no-cache") == 0
    assert all(file.exists() for file in own)
    work.save("models/c.onnx", [("Tanh", "head")])
    assert work.run("models/c.onnx") == 0
    assert not any(file.exists() for file in own)
    assert all(file.read_text() == "kept" for file in other)
