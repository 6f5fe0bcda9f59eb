"""Handmade Protobuf bytes for files that no library writes."""

from __future__ import annotations

import onnx
from onnx import parser


def varint(value: int) -> bytes:
    """Return a variable-length integer."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number: int, payload: bytes) -> bytes:
    """Return a length-delimited field."""
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def number(field_number: int, value: int) -> bytes:
    """Return a varint field."""
    return varint(field_number << 3) + varint(value)


def model(text: str, ir_version: int = 8, opset: int = 17) -> onnx.ModelProto:
    """Return a model from ONNX text that begins with the graph."""
    return parser.parse_model(f'<ir_version: {ir_version}, opset_import: ["": {opset}]>\n{text}')


IDENTITY = model("g (float[2] x) => (float[2] y) { y = Identity(x) }")
