"""Write a converted model.  Large tensors are rounded or copied one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx
from msgspec import Struct
from onnx import TensorProto

from trtlint.conversion.casting import MADE
from trtlint.conversion.narrowing import NarrowTensor
from trtlint.conversion.result import ConversionError
from trtlint.files.replace import replacing, require_replaceable
from trtlint.measurement.formats import Format
from trtlint.model.assembly import ComputedPiece, Piece
from trtlint.model.contents import all_tensors
from trtlint.model.datafile import CopiedTensor, data_file, is_in_file, write_data
from trtlint.model.payload import stored_size
from trtlint.model.tensors import TensorStore
from trtlint.model.wire import header
from trtlint.model.writer import write_to

_MOST_INLINE = (2 << 30) - (64 << 20)
"""Largest total size, in bytes, of the tensors inside the protobuf message.

The rest of the 2 GB that protobuf allows is for the graph.
"""
_RAW_DATA = 9


class ConvertedModel(Struct, frozen=True):
    """A converted model, before it is written.

    Attributes:
        proto: the ONNX protobuf, with markers instead of large tensors.
        made: the large tensors to round, each with a flag: true to clamp numbers beyond the range.
        store: reader of the source's tensors.
        format: the 16-bit type.
    """

    proto: onnx.ModelProto
    made: tuple[tuple[TensorProto, bool], ...]
    store: TensorStore
    format: Format

    def pieces(self, tensor: TensorProto) -> list[Piece] | None:
        """Return the parts of a rounded tensor, or None for a tensor that is copied unchanged."""
        made = self.tensor(tensor)
        if made is None:
            return None
        plain = TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
        return [plain.SerializeToString(), header(_RAW_DATA, made.size), made]

    def tensor(self, tensor: TensorProto) -> NarrowTensor | None:
        """Return an object that rounds a tensor while the file is written, or None to copy the tensor."""
        number = next((entry.value for entry in tensor.external_data if entry.key == MADE), None)
        if number is None:
            return None
        source, clamp = self.made[int(number)]
        return NarrowTensor(source, self.store, self.format, clamp=clamp)


def is_external(proto: onnx.ModelProto) -> bool:
    """Return whether a model has tensors in files of external data."""
    return any(map(is_in_file, all_tensors(proto)))


def write(converted: ConvertedModel, out: Path, protected: tuple[Path, ...], *, external: bool) -> int:
    """Write a converted model and return its size in bytes.

    Args:
        converted: the model.
        out: the file.  External data are written to ``OUT.data``.
        protected: files that must not be replaced.
        external: true if the source has external data.

    Raises:
        ConversionError: sparse tensors are too large.
        ModelError: the source changed, or its tensors cannot be read.
        OSError: a file cannot be read or written.
    """
    require_replaceable(out, protected)
    large = sum(stored_size(tensor) for tensor in all_tensors(converted.proto) if _is_marked(tensor))
    if external or large > _MOST_INLINE:
        return _write_external(converted, out, protected)
    with replacing(out, [converted.store.path, *protected]) as file:
        write_to(file, converted.proto, converted.store, converted.pieces)
    return out.stat().st_size


def _is_marked(tensor: TensorProto) -> bool:
    return bool(tensor.data_location == TensorProto.EXTERNAL)


def _write_external(converted: ConvertedModel, out: Path, protected: tuple[Path, ...]) -> int:
    data = data_file(out)
    proto = onnx.ModelProto()
    proto.CopyFrom(converted.proto)
    protected = (converted.store.path, *protected)
    # If the model cannot be written, the data of an earlier run stay.
    with replacing(data, protected) as file:
        write_data(file, data.name, _large(proto, converted))
        file.flush()
        with replacing(out, protected) as model:
            model.write(proto.SerializeToString())
    return out.stat().st_size + data.stat().st_size


def _large(proto: onnx.ModelProto, converted: ConvertedModel) -> Iterator[tuple[TensorProto, ComputedPiece]]:
    for tensor in filter(_is_marked, all_tensors(proto)):
        yield tensor, converted.tensor(tensor) or CopiedTensor(tensor, converted.store)


def require_writable(proto: onnx.ModelProto) -> None:
    """Check that a model has no large sparse tensors. ONNX does not allow sparse tensors as external data.

    Raises:
        ConversionError: the model has large sparse tensors.
    """
    for sparse in proto.graph.sparse_initializer:
        if _is_marked(sparse.values):
            raise ConversionError("the model has large sparse weights; store them as dense tensors")
