"""Tests of model copies with an added metadata entry."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from tests.model.wirebytes import IDENTITY, field
from trtlint.model.errors import ModelError
from trtlint.model.metadata import copy_with


def model(*entries: tuple[str, str]) -> bytes:
    """Return a model whose metadata entries are separated and followed by other fields."""
    data = IDENTITY.SerializeToString()
    for key, value in entries:
        entry = onnx.StringStringEntryProto(key=key, value=value).SerializeToString()
        data += field(14, entry) + field(6, b"text")
    return data


@pytest.mark.parametrize(
    ("entries", "old", "left"),
    [
        ((), "", ()),
        ((("k", "1"),), "1", ()),
        ((("a", "1"), ("k", "2"), ("b", "3")), "2", (("a", "1"), ("b", "3"))),
        ((("k", "1"), ("a", "2"), ("k", "3")), "3", (("a", "2"),)),
        ((("K", "1"), ("k ", "2")), "", (("K", "1"), ("k ", "2"))),
    ],
)
def test_one_entry_is_replaced_and_the_other_bytes_stay(
    tmp_path: Path, entries: tuple[tuple[str, str], ...], old: str, left: tuple[tuple[str, str], ...]
) -> None:
    path, out = tmp_path / "in.onnx", tmp_path / "out.onnx"
    path.write_bytes(model(*entries))
    given: list[str] = []

    def change(value: str) -> str:
        given.append(value)
        return value + "new"

    copy_with(path, out, "k", change)
    assert given == [old]
    entry = onnx.StringStringEntryProto(key="k", value=f"{old}new").SerializeToString()
    text, base = field(6, b"text"), IDENTITY.SerializeToString()
    rest = b"".join(
        (
            b""
            if key == "k"
            else field(14, onnx.StringStringEntryProto(key=key, value=value).SerializeToString())
        )
        + text
        for key, value in entries
    )
    assert out.read_bytes() == base + rest + field(14, entry)
    stored = [(entry.key, entry.value) for entry in onnx.load(out).metadata_props]
    assert stored == [*left, ("k", f"{old}new")]
    assert path.read_bytes() == model(*entries)


def test_metadata_that_cannot_be_decoded(tmp_path: Path) -> None:
    path = tmp_path / "in.onnx"
    path.write_bytes(model() + field(14, b"\xff"))
    with pytest.raises(ModelError) as caught:
        copy_with(path, tmp_path / "out.onnx", "k", str)
    message = "not an ONNX model: a metadata entry cannot be decoded"
    assert (caught.value.message, caught.value.offset) == (message, len(model()))
    assert not (tmp_path / "out.onnx").exists()


def test_the_source_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "in.onnx"
    path.write_bytes(model())
    with pytest.raises(OSError, match="is read in this run"):
        copy_with(path, path, "k", str)
    assert path.read_bytes() == model()


def test_a_copy_that_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "in.onnx"
    path.write_bytes(b"not a model")
    with pytest.raises(ModelError):
        copy_with(path, tmp_path / "out.onnx", "k", str)
    assert [file.name for file in tmp_path.iterdir()] == ["in.onnx"]
