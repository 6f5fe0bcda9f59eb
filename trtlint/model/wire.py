"""Read the protobuf wire format without decoding messages.

Format: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from collections.abc import Iterator

from trtlint.files.view import View
from trtlint.model.errors import ModelError

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
"""Wire types.  The wire types 3 and 4 delimit groups, and ONNX messages have no groups."""

Buffer = bytes | memoryview | View
Field = tuple[int, int, int, int, int]
"""Field number, wire type, offset of the tag, offset of the value, end offset of the value."""

_LONGEST_VARINT = 10
_FIXED = {FIXED32: 4, FIXED64: 8}


def varint(data: Buffer, pos: int, end: int) -> tuple[int, int]:
    """Decode the variable-length integer at ``pos``.  Return the integer and the offset after it.

    Raises:
        ModelError: the integer has more than ten bytes, or extends past ``end``.
    """
    value, start = 0, pos
    while pos < end and pos - start < _LONGEST_VARINT:
        byte = data[pos]
        value |= (byte & 0x7F) << (7 * (pos - start))
        pos += 1
        if byte < 0x80:
            return value, pos
    reason = "has more than ten bytes" if pos < end else "is cut off"
    raise ModelError(f"not an ONNX model: a protobuf integer {reason}", offset=start)


def fields(data: Buffer, start: int, end: int) -> Iterator[Field]:
    """Yield the fields of the message in ``data[start:end]``, without the fields of nested messages.

    For a length-delimited field, the byte range contains the value, but not the preceding length prefix.

    Raises:
        ModelError: the bytes are not a sequence of fields.  The error has the offset.
    """
    pos = start
    while pos < end:
        at = pos
        tag = data[pos]
        pos += 1
        if tag > 0x7F:
            tag, pos = varint(data, at, end)
        kind = tag & 7
        if kind == LENGTH:
            size = data[pos] if pos < end else 0x80
            if size > 0x7F:
                size, pos = varint(data, pos, end)
            else:
                pos += 1
            begin = pos
            pos += size
        elif kind == VARINT:
            begin = pos
            if pos < end and data[pos] < 0x80:
                pos += 1
            else:
                _, pos = varint(data, pos, end)
        elif kind in _FIXED:
            begin = pos
            pos += _FIXED[kind]
        else:
            raise ModelError(f"not an ONNX model: ONNX does not use the protobuf wire type {kind}", offset=at)
        if pos > end:
            raise _overrun(data, at, pos, end)
        if tag < 8:
            raise ModelError("not an ONNX model: a protobuf field has the number 0", offset=at)
        yield tag >> 3, kind, at, begin, pos


def _overrun(data: Buffer, at: int, wanted: int, end: int) -> ModelError:
    if end < len(data):
        more = f"a field needs {wanted - end} more bytes than the message around it has"
        return ModelError(f"the file is damaged: {more}", offset=at)
    return ModelError(
        f"truncated: the file ends inside the field that begins at byte {at}; {wanted - end} bytes "
        "are missing",
        offset=end,
    )


def header(number: int, length: int) -> bytes:
    """Return the bytes that precede the value of a length-delimited field: its tag and length."""
    return _encode(number << 3 | LENGTH) + _encode(length)


def record(number: int, payload: bytes) -> bytes:
    """Return the bytes of a length-delimited field: tag, length and ``payload``."""
    return header(number, len(payload)) + payload


def _encode(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
