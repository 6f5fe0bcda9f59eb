"""Read ONNX files without their weights.

The reader parses the protobuf wire format.  It replaces the elements of every tensor above one kilobyte by
their location in the file.  All other data are decoded as usual.  So the time depends on the number of nodes,
not on the size of the weights.  The reader also supports files beyond protobuf's limit of 2 GB.

The field numbers are defined in https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from msgspec import Struct

from trtlint.files.expand import has_no_model
from trtlint.files.regular import IrregularError, open_regular
from trtlint.files.view import open_view
from trtlint.model import sniff
from trtlint.model.errors import ModelError
from trtlint.model.external import set_place
from trtlint.model.payload import PAYLOAD_FIELDS
from trtlint.model.tensors import DATA_LOCATION_FIELD, LEFT, TensorStore
from trtlint.model.wire import LENGTH, VARINT, Buffer, fields, record, varint

KEPT = 1024
"""Bytes of the largest tensor payload that is kept: scalars, axes, shapes, small vectors."""
_UNWALKED = 4096
"""Bytes of the largest message that is copied unchanged.  A larger message may contain a large tensor."""
_DROPPED = 65536
"""Bytes of the longest text or binary field that is kept.

Longer fields contain generated documentation or TensorRT engines, which trtlint does not need.
"""
_MOST_FIELDS = 4_000_000
"""Limit of protobuf fields.  No real graph has so many.  A decoded field takes hundreds of bytes."""
_MOST_BYTES = 1 << 30
_HEAD = 4096
"""Bytes at the start of a file that are read to recognize other formats."""
_DEEPEST = 96
"""Limit of nested messages.  Protobuf itself stops at 100."""

MODEL, GRAPH, NODE, ATTRIBUTE, TENSOR, SPARSE, FUNCTION, TRAINING = range(8)
"""Kinds of protobuf messages.  They are the indices of ``PARTS`` and ``_BULKY``."""
_NAMES = ("model", "graph", "node", "attribute", "tensor", "sparse tensor", "function", "training info")

PARTS: tuple[Mapping[int, int], ...] = (
    {7: GRAPH, 20: TRAINING, 25: FUNCTION},
    {1: NODE, 5: TENSOR, 15: SPARSE},
    {5: ATTRIBUTE},
    {5: TENSOR, 6: GRAPH, 10: TENSOR, 11: GRAPH, 22: SPARSE, 23: SPARSE},
    {},
    {1: TENSOR, 2: TENSOR},
    {7: NODE, 11: ATTRIBUTE},
    {1: GRAPH, 2: GRAPH},
)
"""For each kind of protobuf message, the fields that may contain large tensors.

The key is the number of a field.  The value is the kind of the message in this field.
"""
_BULKY: tuple[frozenset[int], ...] = (
    frozenset({6}),  # doc_string
    frozenset({10}),  # doc_string
    frozenset({6}),  # doc_string
    frozenset({4, 9, 13}),  # s, strings, doc_string
    frozenset({12}),  # doc_string
    frozenset(),
    frozenset({8}),  # doc_string
    frozenset(),
)
"""For each kind of message, the fields that are removed if they are long."""

_VALUE_INFO = 13
"""The field of a graph that declares the types of intermediate values."""
_GRAPH_FIELD, _FUNCTIONS, _IR_VERSION, _OPSETS = 7, 25, 1, 8
_HAS_OPSETS = 3
"""The first IR version in which a model must import operator sets."""


class RawModel(Struct, frozen=True):
    """A model as read from its file, without the elements of large tensors.

    Attributes:
        data: the model as a serialized ModelProto.  A tensor without its elements is marked as external data
            at the location :data:`~trtlint.model.tensors.LEFT`.
        tensors: reads the values of any tensor of the model.
        has_functions: whether the model defines functions.
        declared: declared types of intermediate values in the main graph (``value_info``), as a serialized
            ModelProto that has only these types.  ``data`` does not contain these types, so inference does
            not rely on them.
        domains: the operator domains that the model imports, except ONNX's domain.
    """

    data: bytes
    tensors: TensorStore
    has_functions: bool = False
    declared: bytes = b""
    domains: frozenset[str] = frozenset()


def read(path: Path, *, whole: bool = False) -> RawModel:
    """Read an ONNX file without the elements of its large tensors.

    Args:
        path: the file.
        whole: True to remove only the elements of large tensors, so that the model can be written to a file
            again.  If False, long texts, binary data and training data are also removed.

    Raises:
        ModelError: the file cannot be read or is not an ONNX model.
    """
    try:
        with open_regular(path) as file:
            status = os.fstat(file.fileno())
            if status.st_size == 0:
                raise ModelError("the file is empty")
            tensors = TensorStore(path, status)
            try:
                return read_structure(open_view(file, status.st_size), tensors, whole=whole)
            finally:
                # If the file changed, the data may mix an old and a new version of the file.
                if not tensors.is_of(os.fstat(file.fileno())):
                    raise ModelError("the file changed while it was read")
    except IrregularError as error:
        reason = "this folder contains no *.onnx file" if has_no_model(path) else error.strerror
        raise ModelError(reason) from error
    except OSError as error:
        raise ModelError(f"cannot be read: {error.strerror or error}") from error


def read_structure(data: Buffer, tensors: TensorStore, *, whole: bool = False) -> RawModel:
    """Read a model from its bytes, without the elements of its large tensors.

    Args:
        data: the bytes of the model.
        tensors: reads the values of the model's tensors.
        whole: see :func:`read`.

    Raises:
        ModelError: the bytes are not an ONNX model.
    """
    head = bytes(data[:_HEAD])
    foreign = sniff.foreign(head)
    if foreign:
        raise ModelError(foreign)
    compactor = _Compactor(data, whole=whole)
    try:
        compact = compactor.message(MODEL, 0, len(data), 0)
        compactor.require_model()
    except ModelError as error:
        text = sniff.text(head)
        if text:
            raise ModelError(text) from error
        raise
    return RawModel(
        compact,
        tensors,
        has_functions=_FUNCTIONS in compactor.seen,
        declared=record(_GRAPH_FIELD, b"".join(compactor.declared)),
        domains=frozenset(compactor.domains - {"", "ai.onnx"}),
    )


def decode(data: bytes) -> onnx.ModelProto:
    """Decode a serialized ModelProto.

    Raises:
        ModelError: the bytes are not a ModelProto.
    """
    try:
        return onnx.ModelProto.FromString(data)
    except (DecodeError, ValueError) as error:  # the exception depends on the protobuf implementation
        raise ModelError(f"not an ONNX model: protobuf cannot decode it ({error})") from error


class _Compactor:
    """Copies a serialized model without the elements of large tensors."""

    def __init__(self, data: Buffer, *, whole: bool = False) -> None:
        self.data = data
        self._whole = whole
        self.seen: set[int] = set()
        self.declared: list[bytes] = []
        self.domains: set[str] = set()
        self._ir_version = 0
        self._left = _MOST_FIELDS

    def require_model(self) -> None:
        """Raise a ModelError if the top-level fields are not fields of a ModelProto."""
        if _GRAPH_FIELD not in self.seen:
            raise ModelError("not an ONNX model: it contains no graph")
        if _IR_VERSION not in self.seen:
            raise ModelError("not an ONNX model: it has no ir_version")
        if _OPSETS not in self.seen and self._ir_version >= _HAS_OPSETS:
            raise ModelError("not an ONNX model, or the file is cut off: it has no opset_import")

    def message(self, kind: int, start: int, end: int, depth: int) -> bytes:
        """Return the protobuf message in ``data[start:end]`` without the elements of large tensors."""
        if depth > _DEEPEST:
            raise ModelError(
                f"the graphs are nested too deep: {depth} protobuf messages inside each other", offset=start
            )
        parts, bulky = PARTS[kind], _BULKY[kind]
        pieces: list[bytes] = []
        copied = start
        count = 0
        main = kind == GRAPH and depth == 1 and not self._whole
        for number, wire, at, begin, stop in fields(self.data, start, end):
            count += 1
            if count > self._left:
                raise _too_many(at)
            if kind == MODEL:
                self._top(number, wire, begin, stop)
            size = stop - begin
            if kind == MODEL and number == _GRAPH_FIELD and size <= _UNWALKED and wire == LENGTH:
                pieces += (bytes(self.data[copied:at]), record(number, self.message(GRAPH, begin, stop, 1)))
                copied = stop
                continue
            if number == _VALUE_INFO and main and wire == LENGTH:
                if copied < at:
                    pieces.append(bytes(self.data[copied:at]))
                self.declared.append(bytes(self.data[at:stop]))
                copied = stop
                continue
            if size <= KEPT or wire != LENGTH:
                continue
            part = parts.get(number)
            if part == TRAINING and not self._whole:
                new = None
            elif part == TENSOR:
                new = self._tensor(begin, stop)
                if new is None:
                    continue
            elif part is not None:
                if size <= _UNWALKED:
                    continue
                new = self.message(part, begin, stop, depth + 1)
            elif number in bulky and size > _DROPPED and not self._whole:
                new = None
            else:
                continue
            pieces.append(bytes(self.data[copied:at]))
            copied = stop
            if new is not None:
                pieces.append(record(number, new))
        self._left -= count
        if sum(map(len, pieces)) + end - copied > _MOST_BYTES:
            raise ModelError(f"the {_NAMES[kind]} exceeds 1 GB, not counting its tensors", offset=start)
        pieces.append(bytes(self.data[copied:end]))
        return b"".join(pieces)

    def _top(self, number: int, wire: int, begin: int, stop: int) -> None:
        expected = VARINT if number == _IR_VERSION else LENGTH
        if wire == expected:
            self.seen.add(number)
            if number == _IR_VERSION:
                self._ir_version = self.data[begin] if stop - begin == 1 else _HAS_OPSETS
            elif number == _OPSETS and stop - begin <= KEPT:
                with suppress(DecodeError, ValueError):
                    self.domains.add(onnx.OperatorSetIdProto.FromString(bytes(self.data[begin:stop])).domain)

    def _tensor(self, start: int, end: int) -> bytes | None:
        """Return the tensor in ``data[start:end]`` without its elements, or None if the tensor is small."""
        pieces: list[bytes] = []
        copied, payload, external, count = start, 0, False, 0
        for number, wire, at, begin, stop in fields(self.data, start, end):
            count += 1
            if count > self._left:
                raise _too_many(at)
            if number in PAYLOAD_FIELDS:
                payload += stop - begin
            elif number == DATA_LOCATION_FIELD and wire == VARINT:
                # protobuf keeps the lower 32 bits of an enum, which may be encoded in up to ten bytes
                external = varint(self.data, begin, stop)[0] & 0xFFFF_FFFF == onnx.TensorProto.EXTERNAL
                continue
            elif self._whole or not (number in _BULKY[TENSOR] and stop - begin > _DROPPED):
                continue
            pieces.append(bytes(self.data[copied:at]))
            copied = stop
        self._left -= count
        if payload <= KEPT:
            return None
        pieces.append(bytes(self.data[copied:end]))
        if not external:
            pieces.append(_stub(start, end - start))
        return b"".join(pieces)


def _too_many(offset: int) -> ModelError:
    return ModelError(
        f"the model has more than {_MOST_FIELDS:,} protobuf fields; simplify the graph", offset=offset
    )


def _stub(offset: int, length: int) -> bytes:
    """Return TensorProto fields that replace the elements of a tensor by their place in the model file.

    The fields mark the tensor as external data.
    """
    tensor = onnx.TensorProto()
    set_place(tensor, LEFT, offset, length)
    return bytes(tensor.SerializeToString(deterministic=True))
