"""Tests of Protobuf fields and numbers, byte by byte."""

from __future__ import annotations

import pytest

from tests.model.wirebytes import field, number
from tests.model.wirebytes import varint as encoded
from trtlint.model.errors import ModelError
from trtlint.model.wire import Field, fields, header, record, varint


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**32, 2**63, 2**64 - 1])
def test_numbers_of_up_to_ten_bytes(value: int) -> None:
    data = b"ab" + encoded(value)
    assert varint(data + b"\x01", 2, len(data) + 1) == (value, len(data))
    assert varint(data, 2, len(data)) == (value, len(data))


@pytest.mark.parametrize(
    ("data", "pos", "end", "message"),
    [
        (b"\xff" * 9 + b"\x80\x01", 0, 11, "not an ONNX model: a protobuf integer has more than ten bytes"),
        (b"\xff" * 10, 0, 10, "not an ONNX model: a protobuf integer is cut off"),
        (b"\xff" * 3 + b"\x01", 1, 3, "not an ONNX model: a protobuf integer is cut off"),
        (b"a", 1, 1, "not an ONNX model: a protobuf integer is cut off"),
    ],
)
def test_numbers_without_an_end(data: bytes, pos: int, end: int, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        varint(data, pos, end)
    assert (caught.value.message, caught.value.offset) == (message, pos)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (number(1, 5), [(1, 0, 0, 1, 2)]),
        (number(1, 127) + number(15, 128), [(1, 0, 0, 1, 2), (15, 0, 2, 3, 5)]),
        (number(16, 0), [(16, 0, 0, 2, 3)]),
        (field(2, b""), [(2, 2, 0, 2, 2)]),
        (field(2, b"x" * 127), [(2, 2, 0, 2, 129)]),
        (field(2, b"x" * 128), [(2, 2, 0, 3, 131)]),
        (field(2000, b"xy") + number(1, 1), [(2000, 2, 0, 3, 5), (1, 0, 5, 6, 7)]),
        (
            b"\x0d1234" + b"\x1112345678" + b"\x08\x00",
            [(1, 5, 0, 1, 5), (2, 1, 5, 6, 14), (1, 0, 14, 15, 16)],
        ),
    ],
)  # fmt: skip
def test_fields_and_their_places(data: bytes, expected: list[Field]) -> None:
    assert list(fields(data, 0, len(data))) == expected
    shifted = [(kind, wire, at + 3, begin + 3, stop + 3) for kind, wire, at, begin, stop in expected]
    assert list(fields(b"\x08\x01x" + data + b"\xff\xff", 3, len(data) + 3)) == shifted


@pytest.mark.parametrize(
    ("data", "end", "message", "offset"),
    [
        (b"\x08\x01\x00\x01", 4, "not an ONNX model: a protobuf field has the number 0", 2),
        (b"\x07", 1, "not an ONNX model: ONNX does not use the protobuf wire type 7", 0),
        (b"\x0b", 1, "not an ONNX model: ONNX does not use the protobuf wire type 3", 0),
        (b"\x08", 1, "not an ONNX model: a protobuf integer is cut off", 1),
        (b"\x0a", 1, "not an ONNX model: a protobuf integer is cut off", 1),
        (b"\x0a\x80", 2, "not an ONNX model: a protobuf integer is cut off", 1),
        (b"\x80\x80", 2, "not an ONNX model: a protobuf integer is cut off", 0),
        (
            b"\x08\x01\x0a\x05abc", 7,
            "truncated: the file ends inside the field that begins at byte 2; 2 bytes are missing", 7,
        ),
        (
            b"\x0d123", 4,
            "truncated: the file ends inside the field that begins at byte 0; 1 bytes are missing", 4,
        ),
        (
            b"\x0a\x05abcde", 6,
            "the file is damaged: a field needs 1 more bytes than the message around it has", 0,
        ),
    ],
)  # fmt: skip
def test_bytes_that_are_no_fields(data: bytes, end: int, message: str, offset: int) -> None:
    with pytest.raises(ModelError) as caught:
        list(fields(data, 0, end))
    assert (caught.value.message, caught.value.offset) == (message, offset)


@pytest.mark.parametrize("size", [0, 1, 127, 128, 20000])
def test_records(size: int) -> None:
    assert header(7, size) == encoded(7 << 3 | 2) + encoded(size)
    assert record(300, b"x" * size) == field(300, b"x" * size)
