"""Tests of the files that trtlint may overwrite with a baseline."""

from __future__ import annotations

from pathlib import Path

import pytest

from trtlint.errors import SettingError
from trtlint.policy.likebaseline import require_baseline_path


@pytest.mark.parametrize(
    "content", [b"", b" \n", b"{", b'  {"version": 1}', b"<<<<<<< ours\n{", b" " * 512 + b"x"]
)
def test_files_that_may_be_overwritten(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "known.json"
    file.write_bytes(content)
    require_baseline_path(file)
    assert file.read_bytes() == content


@pytest.mark.parametrize("content", [b"x", b"\x08\x07", b"<<<<<<", b"[]", b" " * 511 + b"x"])
def test_files_with_other_content(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "known.json"
    file.write_bytes(content)
    with pytest.raises(SettingError) as raised:
        require_baseline_path(file)
    assert str(raised.value) == f"cannot write the baseline to {file}: the existing file is not a baseline"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    require_baseline_path(tmp_path / "known.json")
    with pytest.raises(SettingError, match=r"cannot write the baseline to .*: this is a directory"):
        require_baseline_path(tmp_path)
