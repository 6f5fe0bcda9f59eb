"""Tests of atomic writes: only missing and regular files are replaced."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from tests.files.special import SPECIAL, at_most, make, needs_posix
from trtlint.files.regular import IrregularError
from trtlint.files.replace import _open_unnamed, replace_text, replacing, require_replaceable


@needs_posix
@pytest.mark.parametrize("kind", SPECIAL)
def test_special_files_stay(kind: str, tmp_path: Path) -> None:
    file = make(kind, tmp_path / "special")
    before = file.lstat()
    with at_most(), pytest.raises(OSError, match=r"this is a") as caught:
        replace_text(file, "text")
    assert caught.value.filename == str(file)
    assert os.path.samestat(file.lstat(), before)
    assert not list(tmp_path.glob(".trtlint-*"))


@needs_posix
def test_what_a_link_leads_to_stays(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("kept")
    for name, target in (("link", "precious"), ("dangling", "missing")):
        (tmp_path / name).symlink_to(target)
        with pytest.raises(OSError, match="symbolic link"):
            replace_text(tmp_path / name, "text")
    assert (tmp_path / "precious").read_text() == "kept"
    assert not (tmp_path / "missing").exists()


def test_files_that_are_read_stay_under_every_name(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    model.write_text("kept")
    (tmp_path / "same").hardlink_to(model)
    for name in ("model.onnx", "same"):
        with pytest.raises(OSError, match="is read in this run"):
            replace_text(tmp_path / name, "text", [tmp_path / "absent", model])
    assert model.read_text() == "kept"


def test_files_are_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "report"
    replace_text(file, "first")
    with pytest.raises(ZeroDivisionError), replacing(file) as new:
        new.write(b"half")
        raise ZeroDivisionError

    def refuse(written: Path) -> None:
        assert written.read_bytes() == b"wrong"
        raise ValueError("refused")

    with pytest.raises(ValueError, match=r"^refused$"), replacing(file, check=refuse) as new:
        new.write(b"wrong")
    assert file.read_text() == "first"
    assert list(tmp_path.iterdir()) == [file]
    replace_text(file, "second \ud800")
    assert file.read_bytes() == b"second \\ud800"


def test_an_error_names_the_file_that_was_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trtlint.files.replace._open_unnamed", lambda _: None)
    monkeypatch.setattr("trtlint.files.temporary._NEW", os.O_WRONLY)  # the temporary file is not there
    with pytest.raises(FileNotFoundError) as caught:
        replace_text(tmp_path / "report", "text")
    assert caught.value.filename == str(tmp_path / "report")


@needs_posix
def test_permissions_stay_and_new_files_have_the_usual_ones(tmp_path: Path) -> None:
    replace_text(tmp_path / "new", "text")
    (tmp_path / "usual").write_text("text")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode
    (tmp_path / "new").chmod(0o640)
    replace_text(tmp_path / "new", "text")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


@needs_posix
@pytest.mark.parametrize("special", [stat.S_ISUID, stat.S_ISGID, stat.S_ISVTX])
def test_a_replaced_file_loses_the_bits_that_lend_rights(special: int, tmp_path: Path) -> None:
    file = tmp_path / "report"
    file.write_text("first")
    file.chmod(special | 0o755)
    replace_text(file, "second")
    assert stat.S_IMODE(file.stat().st_mode) == 0o755


@needs_posix
def test_a_planted_temporary_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("kept")
    for name in (f".report.{os.getpid()}.tmp", ".report.tmp"):
        (tmp_path / name).symlink_to("precious")
    replace_text(tmp_path / "report", "text")
    assert (tmp_path / "precious").read_text() == "kept"


@pytest.mark.parametrize("name", ["nowhere/report", "a\0b"])
def test_places_that_cannot_be_are_said_at_once(name: str, tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"there is no folder|invalid file name"):
        require_replaceable(tmp_path / name)


def test_an_error_has_no_number_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(IrregularError) as caught:
        require_replaceable(tmp_path)
    assert str(caught.value) == f"{tmp_path}: this is a directory; only a regular file is replaced"


@pytest.mark.parametrize("unnamed", [True, False])
def test_new_files_are_checked_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unnamed: bool) -> None:
    if not unnamed:
        monkeypatch.setattr("trtlint.files.replace._open_unnamed", lambda _: None)
    seen = []

    def check(written: Path) -> None:
        seen.append((written.read_bytes(), written.parent))
        if len(seen) == 2:
            raise ValueError("refused")

    with replacing(tmp_path / "first", check=check) as new:
        new.write(b"right")
    with pytest.raises(ValueError, match="refused"), replacing(tmp_path / "second", check=check) as new:
        new.write(b"wrong")
    assert seen == [(b"right", tmp_path), (b"wrong", tmp_path)]
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("first", b"right")]


@pytest.mark.parametrize(
    ("name", "shown"),
    [(None, "report"), ("", ""), ("other", "other"), (".trtlint-0123456789abcdef.tmp", "report")],
)
def test_only_an_error_of_the_temporary_file_gets_another_name(
    tmp_path: Path, name: str | None, shown: str
) -> None:
    args = () if name is None else (str(tmp_path / name),)
    with pytest.raises(OSError, match="full") as caught, replacing(tmp_path / "report"):
        raise OSError(28, "full", *args)
    assert caught.value.filename == str(tmp_path / (shown or "report"))


@pytest.mark.parametrize(
    ("flag", "usable", "result", "expected"),
    [
        (1 << 22, True, 7, 7),
        (None, True, 7, None),
        (1 << 22, False, 7, None),
        *((1 << 22, True, OSError(code, "no"), None)
          for code in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)),
        (1 << 22, True, OSError(errno.ENOSPC, "full"), OSError),
    ],
)  # fmt: skip
def test_a_file_without_a_name_needs_the_system(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, flag: int | None, usable: bool, result: object,
    expected: object,
) -> None:  # fmt: skip
    def open_(folder: Path, flags: int, mode: int) -> object:
        assert (folder, flags, mode) == (tmp_path, (1 << 22) | os.O_WRONLY, 0o666)
        if isinstance(result, OSError):
            raise result
        return result

    monkeypatch.setattr(os, "O_TMPFILE", flag, raising=False)
    monkeypatch.setattr(
        os, "access", lambda path, mode: usable and (path, mode) == ("/proc/self/fd", os.X_OK)
    )
    monkeypatch.setattr(os, "open", open_)
    if expected is OSError:
        with pytest.raises(OSError, match="full"):
            _open_unnamed(tmp_path)
    else:
        assert _open_unnamed(tmp_path) == expected
