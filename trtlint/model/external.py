"""Read where a tensor's external data are stored.

https://github.com/onnx/onnx/blob/main/docs/ExternalData.md
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import onnx

from trtlint.model.protos import text


def place_of(tensor: onnx.TensorProto) -> tuple[str, int, int | None] | None:
    """Return the location, offset and length of a tensor's external data.

    The length is None if the data extend to the end of the file.  The result is None if the ``external_data``
    fields of the tensor are malformed.
    """
    entries = {text(entry.key): text(entry.value) for entry in tensor.external_data}
    location = entries.get("location")
    try:
        offset = int(entries.get("offset") or 0)
        length = int(entries["length"]) if entries.get("length") else None
    except ValueError:
        return None
    if not location or offset < 0 or (length is not None and length < 0):
        return None
    return location, offset, length


def set_place(
    tensor: onnx.TensorProto, location: str, offset: int | None = None, length: int | None = None
) -> None:
    """Mark a tensor as external data, and store the location, offset and length of the data."""
    tensor.data_location = onnx.TensorProto.EXTERNAL
    del tensor.external_data[:]
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        if value is not None:
            tensor.external_data.add(key=key, value=str(value))


def external_size(tensors: Iterable[onnx.TensorProto]) -> int:
    """Return the number of bytes of external data, not counting tensors without a stated length."""
    places = filter(None, map(place_of, tensors))
    return sum(length or 0 for _, _, length in places)


def misplaced(tensor: onnx.TensorProto) -> str:
    """Return why TensorRT's parser cannot find a tensor's external data, or an empty string if it can.

    The parser appends the location to the folder of the model, so it cannot find an absolute path.  The
    parser also rejects a location outside the folder.
    """
    entries = {text(entry.key): text(entry.value) for entry in tensor.external_data}
    location = entries.get("location", "")
    if not location:
        return "names no file"
    if location.startswith("/"):
        return "is at an absolute path"
    if os.path.normpath(location).split("/", 1)[0] == "..":
        return "is outside the model's folder"
    offset = entries.get("offset", "")
    return "begins at a negative offset" if offset.startswith("-") and offset[1:].isdecimal() else ""


def unreadable_values(tensor: onnx.TensorProto) -> str:
    """Return an error about a tensor whose values cannot be read.

    The error names the external data file of the tensor, if there is one.
    """
    place = place_of(tensor)
    # No file name contains a NUL, which marks a tensor in the model file.
    named = "" if place is None or not place[0].isprintable() else f" file {place[0]!r}"
    return f"the values of tensor {text(tensor.name)!r} cannot be read: check the external data{named}"
