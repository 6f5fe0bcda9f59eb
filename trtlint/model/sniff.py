"""Recognize files that are not ONNX models by their first bytes."""

from __future__ import annotations

from trtlint.files import lfs

_SIGNATURES: tuple[tuple[int, bytes | tuple[bytes, ...], str], ...] = (
    (0, lfs.FIRST_LINE, "a Git LFS pointer, not the model; fetch the model with `git lfs pull`"),
    (0, b"PK\x03\x04", "a zip archive (a PyTorch checkpoint or an archived model?), not an ONNX model"),
    (0, b"\x80\x02", "a Python pickle (a PyTorch checkpoint?), not an ONNX model"),
    (0, (b"\x80\x03", b"\x80\x04", b"\x80\x05"), "a Python pickle, not an ONNX model"),
    (0, b"\x1f\x8b", "gzip-compressed; decompress it first"),
    (0, b"\x28\xb5\x2f\xfd", "zstd-compressed; decompress it first"),
    (0, b"BZh", "bzip2-compressed; decompress it first"),
    (0, b"\xfd7zXZ\x00", "xz-compressed; decompress it first"),
    (0, (b"ftrt", b"ptrt"), "a TensorRT engine (plan), not the ONNX model that it was built from"),
    (0, b"vtrt", "a TensorRT-RTX engine, not the ONNX model that it was built from"),
    (4, b"ORTM", "an ONNX Runtime flatbuffer (.ort), not an ONNX model"),
    (4, b"TFL3", "a TensorFlow Lite model, not an ONNX model"),
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 file (a Keras model?), not an ONNX model"),
    (0, b"GGUF", "a GGUF file, not an ONNX model"),
    (8, b'{"', "a safetensors file, not an ONNX model"),
    (0, b"\x93NUMPY", "a NumPy array, not an ONNX model"),
)
"""Offset and possible bytes of each file signature, and the message for the user."""

_TEXTS: tuple[tuple[bytes, str], ...] = (
    (b"{", "JSON text"),
    (b"<!doctype html", "an HTML page (a failed download?)"),
    (b"<html", "an HTML page (a failed download?)"),
    (b"<?xml", "XML text"),
    (b"ir_version", "protobuf text"),
    (b"<", "ONNX or XML text"),
)

_CONTROL = frozenset(range(32)) - frozenset(b"\t\n\r\f") | {127}


def foreign(head: bytes) -> str | None:
    """Return a description of the file format for the user, or None if the format is unknown.

    ``head`` is the first bytes of the file.
    """
    for offset, signature, meaning in _SIGNATURES:
        if head.startswith(signature, offset):
            return meaning
    return None


def text(head: bytes) -> str | None:
    """Return the kind of text in a file, from its first bytes, or None if the file is not text.

    Call this function only for files that are not valid models, because a model can also begin with printable
    bytes.
    """
    sample = head[:256]
    if not sample or not _CONTROL.isdisjoint(sample):
        return None
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(sample) - 3:  # the sample may end inside a character
            return None
    start = sample.lstrip().lower()
    for prefix, meaning in _TEXTS:
        if start.startswith(prefix):
            return f"{meaning}, not a binary ONNX model"
    return "text, not a binary ONNX model"
