"""Tests that the cache touches only its own regular files, in any folder."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.files.special import at_most, needs_posix
from tests.workspace import Workspace
from trtlint.cli import run
from trtlint.runs import cachefolder
from trtlint.runs.cache import Cache

TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# https://bford.info/cachedir/\n"
"""The standard cache directory tag."""
LONG_AGO = time.time() - 90 * 24 * 3600

pytestmark = needs_posix


@pytest.fixture(autouse=True)
def in_checkout(work: Workspace, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a cache folder in a checkout, a common setting in CI systems."""
    folder = work.path / ".trtlint_cache"
    monkeypatch.setenv("TRTLINT_CACHE_DIR", str(folder))
    return folder


def outside(work: Workspace) -> dict[Path, str]:
    """Create old files outside any cache, and return their contents."""
    folder = work.path / "outside"
    folder.mkdir()
    names = ("precious", "CACHEDIR.TAG", "0" * 38 + ".json")
    for name in names:
        (folder / name).write_text(f"{TAG}kept")
        os.utime(folder / name, (LONG_AGO, LONG_AGO))
    return {folder / name: f"{TAG}kept" for name in names}


def unchanged(files: dict[Path, str]) -> bool:
    """Check that the files have their old contents and no new neighbours."""
    (folder,) = {file.parent for file in files}
    return set(folder.iterdir()) == set(files) and all(file.read_text() == files[file] for file in files)


@pytest.mark.parametrize("tagged", [True, False])
def test_planted_links_lead_nowhere(work: Workspace, in_checkout: Path, tagged: bool) -> None:
    files = outside(work)
    in_checkout.mkdir()
    if tagged:
        (in_checkout / "CACHEDIR.TAG").write_text(TAG)
        os.utime(in_checkout / "CACHEDIR.TAG", (LONG_AGO, LONG_AGO))
    (in_checkout / ".gitignore").symlink_to("../outside/precious")
    for shelf in range(256):
        (in_checkout / f"{shelf:02x}").symlink_to("../outside", target_is_directory=True)
    assert work.run("models/a.onnx") == 1
    assert unchanged(files)


def test_links_in_a_cache_of_ones_own_lead_nowhere(work: Workspace, in_checkout: Path) -> None:
    files = outside(work)
    assert work.run("models/a.onnx") == 1
    (entry,) = in_checkout.glob("*/*.json")
    os.utime(in_checkout / "CACHEDIR.TAG", (LONG_AGO, LONG_AGO))
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
    os.utime(in_checkout / "CACHEDIR.TAG", (LONG_AGO, LONG_AGO))
    assert work.run("models/a.onnx") == 1
    assert unchanged(files)
    assert other.is_symlink()


@pytest.mark.parametrize("target", ["cache", "empty", "missing"])
def test_a_folder_that_is_a_link_is_no_cache(work: Workspace, in_checkout: Path, target: str) -> None:
    assert work.run("models/a.onnx") == 1
    in_checkout.rename(work.path / "cache")
    (work.path / "empty").mkdir()
    in_checkout.symlink_to(target, target_is_directory=True)
    assert not Cache(in_checkout).usable
    with pytest.raises(OSError, match=in_checkout.name):
        cachefolder.write_entry(cachefolder.entry_in(in_checkout, "0" * 40), b"data")
    assert not any((work.path / "empty").iterdir())
    assert not (work.path / "missing").exists()


@pytest.mark.parametrize("configured", [True, False])
def test_results_that_come_with_a_checkout_do_not_count(
    work: Workspace, in_checkout: Path, monkeypatch: pytest.MonkeyPatch, configured: bool
) -> None:
    if configured:
        work.toml("trtlint.toml", "")
    assert work.run("models/a.onnx") == 1
    (entry,) = in_checkout.glob("*/*.json")
    assert work.run("models/b.onnx") == 0
    (clean,) = set(in_checkout.glob("*/*.json")) - {entry}
    clean.replace(entry)
    assert work.run("models/a.onnx") == 0  # a folder that the user names is believed
    before = entry.stat()
    monkeypatch.delenv("TRTLINT_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(work.path.parent / "home"))
    assert work.run("models/a.onnx") == 1
    assert entry.stat() == before
    assert len(list((work.path.parent / "home" / "trtlint").glob("*/*.json"))) == 1


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
    assert ("not a trtlint cache" if named else "--cache-dir is empty") in said
    assert {path: path.read_bytes() for path in work.path.rglob("*") if path.is_file()} == before


def test_a_pipe_is_no_entry(work: Workspace, in_checkout: Path) -> None:
    assert work.run("models/a.onnx") == 1
    (entry,) = in_checkout.glob("*/*.json")
    for place in (entry, in_checkout / "CACHEDIR.TAG"):
        place.unlink()
        os.mkfifo(place)
        with at_most():
            assert work.run("models/a.onnx") == 1


def test_only_its_own_files_are_deleted(work: Workspace, in_checkout: Path) -> None:
    assert work.run("models") == 1
    own = list(in_checkout.glob("*/*.json"))
    other = [
        own[0].parent / "notes.txt",
        in_checkout / "zz" / "old",
        in_checkout / "ab.txt",
    ]
    for file in other:
        file.parent.mkdir(exist_ok=True)
        file.write_text("kept")
    for file in (*own, *other, in_checkout / "CACHEDIR.TAG"):
        os.utime(file, (LONG_AGO, LONG_AGO))
    assert work.run("models/b.onnx", "--no-cache") == 0
    assert all(file.exists() for file in own)
    work.save("models/c.onnx", [("Tanh", "head")])
    assert work.run("models/c.onnx") == 0
    assert not any(file.exists() for file in own)
    assert all(file.read_text() == "kept" for file in other)
