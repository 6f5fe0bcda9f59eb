"""Tests of messages for unreadable remote files."""

from __future__ import annotations

import pytest

pytest.importorskip("fsspec")

from types import SimpleNamespace

from trtlint.remote import file
from trtlint.remote.file import RemoteError

ADDRESS = SimpleNamespace(url="https://user:secret@a.example/m.onnx", name="https://a.example/m.onnx")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RemoteError("known"), "known"),
        (FileNotFoundError("x"), "cannot be read: no such file"),
        (ValueError("a\n  b"), "cannot be read: a b"),
        (ValueError(), "cannot be read: ValueError"),
        (ValueError(f"at {ADDRESS.url} "), f"cannot be read: at {ADDRESS.name}"),
        (ValueError("x" * 400), "cannot be read: " + "x" * 300),
    ],
)
def test_errors_in_one_line(error: Exception, said: str) -> None:
    assert str(file._error(ADDRESS, error)) == said  # type: ignore[arg-type]
