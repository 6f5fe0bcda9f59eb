"""Decode the elements that a TensorProto holds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import numpy_helper
from onnx.checker import ValidationError

from trtlint.model.errors import ModelError
from trtlint.model.wire import LENGTH, Buffer, fields

Array = np.ndarray[Any, np.dtype[Any]]

PAYLOADS = (
    "raw_data", "float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data",
)  # fmt: skip
"""The TensorProto fields that hold elements."""
PAYLOAD_FIELDS = frozenset(onnx.TensorProto.DESCRIPTOR.fields_by_name[name].number for name in PAYLOADS)
"""The numbers of the fields in ``PAYLOADS``."""
_BITS = {
    number.number: bits
    for name, bits in {"UINT4": 4, "INT4": 4, "FLOAT4E2M1": 4, "UINT2": 2, "INT2": 2}.items()
    if (number := onnx.TensorProto.DataType.DESCRIPTOR.values_by_name.get(name)) is not None
}
"""Bits of an element, for element types with less than a byte."""

MALFORMED = (
    ValueError,
    TypeError,
    KeyError,
    OverflowError,
    NotImplementedError,
    ModelError,
    DecodeError,
    ValidationError,
)
"""Exceptions of onnx, numpy and protobuf for malformed tensors."""


def inline_array(tensor: onnx.TensorProto) -> Array | None:
    """Return the elements that a TensorProto holds itself, or None if it is malformed or names external data.

    External data are not read: ONNX would look for the file in the working directory, and not in the folder
    of the model.
    """
    if tensor.data_location == onnx.TensorProto.EXTERNAL or not _plausible(tensor):
        return None
    try:
        return np.asarray(numpy_helper.to_array(tensor))
    except MALFORMED:
        return None


def read_message(tensor: onnx.TensorProto, data: Buffer) -> Array:
    """Decode the elements of a tensor from its serialized TensorProto.

    Args:
        tensor: the decoded TensorProto.  Only its element type and shape are used.
        data: the whole serialized TensorProto.
    """
    payload = payload_fields(data, 0, len(data))
    if len(payload) == 1:
        number, begin, end = payload[0]
        direct = direct_type(tensor, number)
        if direct is not None:
            return np.frombuffer(data[begin:end], direct)
    # Rare: small types in 32-bit numbers, packed or unpacked integers, strings, types that share bytes.
    message = onnx.TensorProto.FromString(bytes(data[:]))
    # The elements are in this message. With marks of external data, ONNX would open a file instead.
    message.ClearField("data_location")
    del message.external_data[:]
    return np.asarray(numpy_helper.to_array(message))


def payload_fields(data: Buffer, start: int, stop: int) -> list[tuple[int, int, int]]:
    """Return the field number, begin and end of each TensorProto field that holds elements."""
    return [
        (number, begin, end)
        for number, kind, _, begin, end in fields(data, start, stop)
        if number in PAYLOAD_FIELDS and kind == LENGTH
    ]


def stored_size(tensor: onnx.TensorProto) -> int:
    """Return the number of bytes of a tensor's elements, or -1 if its element type or shape is invalid."""
    if any(dim < 0 for dim in tensor.dims):
        return -1
    count = math.prod(tensor.dims)
    if tensor.data_type in _BITS:
        return (count * _BITS[tensor.data_type] + 7) // 8
    dtype = _dtype(tensor.data_type)
    return -1 if dtype is None else int(count) * int(dtype.itemsize)


def _plausible(tensor: onnx.TensorProto) -> bool:
    """Return whether the tensor stores at least as many bytes as its shape requires.

    The check prevents the allocation of much memory for a wrong shape.
    """
    count = int(math.prod(tensor.dims))
    if tensor.HasField("raw_data"):
        return stored_size(tensor) in (-1, len(tensor.raw_data))
    stored = max(len(getattr(tensor, name)) for name in PAYLOADS)
    return count <= stored * (8 // _BITS.get(tensor.data_type, 8))


def _dtype(data_type: int) -> np.dtype[Any] | None:
    try:
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(data_type))
    except (KeyError, ValueError, TypeError):
        return None
    return None if dtype.hasobject or dtype.kind in "US" else dtype


def direct_type(tensor: onnx.TensorProto, number: int) -> np.dtype[Any] | None:
    """Return the numpy dtype of a TensorProto field whose bytes are already an array of elements.

    ``number`` is the field number.  If the field encodes the elements in another way, the result is None.
    """
    if tensor.data_type in _BITS:
        return None
    stored = {
        onnx.TensorProto.FLOAT_DATA_FIELD_NUMBER: (onnx.TensorProto.FLOAT, onnx.TensorProto.COMPLEX64),
        onnx.TensorProto.DOUBLE_DATA_FIELD_NUMBER: (onnx.TensorProto.DOUBLE, onnx.TensorProto.COMPLEX128),
    }
    if number == onnx.TensorProto.RAW_DATA_FIELD_NUMBER or tensor.data_type in stored.get(number, ()):
        dtype = _dtype(tensor.data_type)
        return None if dtype is None else dtype.newbyteorder("<")
    return None
