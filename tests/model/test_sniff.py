"""Tests of format detection by the first bytes."""

from __future__ import annotations

import pytest

from trtlint.model.sniff import foreign, text

TEXT = "text, not a binary ONNX model"


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"PK\x03\x04", "a zip archive"),
        (b"\x80\x02", "a Python pickle (a PyTorch checkpoint?)"),
        (b"\x80\x03", "a Python pickle,"),
        (b"\x80\x04", "a Python pickle,"),
        (b"\x80\x05", "a Python pickle,"),
        (b"\x80\x06", None),
        (b"\x1f\x8b", "gzip-compressed"),
        (b"\x28\xb5\x2f\xfd", "zstd-compressed"),
        (b"BZh", "bzip2-compressed"),
        (b"\xfd7zXZ\0", "xz-compressed"),
        (b"ftrt", "a TensorRT engine"),
        (b"ptrt", "a TensorRT engine"),
        (b"vtrt", "a TensorRT-RTX engine"),
        (b"1234ORTM", "an ONNX Runtime flatbuffer"),
        (b"123ORTM", None),
        (b"1234TFL3", "a TensorFlow Lite model"),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
        (b"GGUF", "a GGUF file"),
        (b'12345678{"', "a safetensors file"),
        (b"\x93NUMPY", "a NumPy array"),
        (b"version https://git-lfs.github.com/spec/", "a Git LFS pointer"),
        (b"\x08\x08", None),
        (b"", None),
    ],
)
def test_foreign_formats(head: bytes, name: str | None) -> None:
    found = foreign(head)
    assert (found is None) is (name is None)
    assert (found or "").startswith(name or "")


@pytest.mark.parametrize(
    ("head", "meaning"),
    [
        (b" \n{", "JSON text, not a binary ONNX model"),
        (b"<!DOCTYPE HTML>", "an HTML page (a failed download?), not a binary ONNX model"),
        (b"<HTML>", "an HTML page (a failed download?), not a binary ONNX model"),
        (b"<?xml", "XML text, not a binary ONNX model"),
        (b"ir_version: 8", "protobuf text, not a binary ONNX model"),
        (b"<ir_version", "ONNX or XML text, not a binary ONNX model"),
        (b"words\t\r\n\f", TEXT),
        (b"", None),
        (b"a\x0bb", None),
        (b"a\x7fb", None),
        (b"a\0b", None),
        (b"x" * 256 + b"\0", TEXT),
        (b"x" * 255 + b"\0", None),
        (b"x" * 255 + "é".encode(), TEXT),
        (b"x" * 253 + "€".encode(), TEXT),
        (b"x" * 253 + b"\xff", TEXT),
        (b"x" * 252 + b"\xff" * 4, None),
        (b"x" * 251 + b"\xff" + b"xxxx", None),
        (b"\xff", TEXT),
        (b"\xffabc", None),
    ],
)
def test_text(head: bytes, meaning: str | None) -> None:
    assert text(head) == meaning
