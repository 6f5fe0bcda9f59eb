"""Read models that are in memory, such as the result of an export, without copying their weights.

The model is copied with its nodes, types and small tensors.  The copy has an index in place of each tensor
above one kilobyte.  If a rule needs the elements of such a tensor, trtlint reads them from the original
model.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from trtlint.errors import ArgumentError
from trtlint.model import reader
from trtlint.model.errors import ModelError
from trtlint.model.external import place_of, set_place
from trtlint.model.payload import Array, stored_size
from trtlint.model.reader import RawModel
from trtlint.model.tensors import LEFT, TensorStore

NAME = "<model>"
"""Name that reports show for a model in memory, in the style of Python's ``<string>``."""

_IR_PACKAGES = ("onnx_ir", "onnxscript.ir")
"""Packages of ONNX IR that define ``Model``, in recent and in old releases of PyTorch's exporter.
https://onnx.ai/ir-py/api/ir_core.html
"""
_HOLDING = frozenset(
    {
        onnx.AttributeProto.UNDEFINED,
        onnx.AttributeProto.TENSOR,
        onnx.AttributeProto.TENSORS,
        onnx.AttributeProto.GRAPH,
        onnx.AttributeProto.GRAPHS,
        onnx.AttributeProto.SPARSE_TENSOR,
        onnx.AttributeProto.SPARSE_TENSORS,
    }
)
"""Types of attributes that may contain large tensors."""

_Values = Callable[[], Array]
"""Function that returns the values of a tensor in the original model."""


class MemoryModel:
    """A model in memory.

    Args:
        model: an ``onnx.ModelProto``, or an ``ONNXProgram`` from ``torch.onnx.export(..., dynamo=True)``, or
            the ONNX IR ``Model`` in an ``ONNXProgram``.  The model is not changed.
        name: name of the argument, for the error message.

    Raises:
        ArgumentError: the model is of a different type.
    """

    def __init__(self, model: Any, name: str = "model") -> None:
        inner = getattr(model, "model", None)
        if isinstance(model, onnx.ModelProto):
            self._model: Any = model
        elif _package(model) or _package(inner):
            self._model = model if _package(model) else inner
        elif isinstance(getattr(type(model), "model_proto", None), property):
            self._model = model.model_proto
        else:
            raise ArgumentError.of(
                name, model, "a path, paths, an onnx.ModelProto, or the result of torch.onnx.export"
            )

    def read(self) -> RawModel:
        """Read the model without the elements of its large tensors.

        Raises:
            ModelError: trtlint cannot lint the model.
        """
        held: list[_Values] = []
        large: dict[str, Any] = {}
        source = self._model
        if package := _package(source):
            source, large = _from_ir(source, package)
        structure = onnx.ModelProto()
        _copy(source, structure, reader.MODEL, held)
        for name, tensor in large.items():
            target = structure.graph.initializer.add(name=name, data_type=int(tensor.dtype.value))
            target.dims.extend(int(size) for size in tensor.shape.numpy())
            _leave(target, tensor.numpy, held)
        return reader.read_structure(structure.SerializeToString(), _MemoryTensors(held))


class _MemoryTensors(TensorStore):
    """Reads the large tensors of a model in memory.

    In the copied model, these tensors are marked as external data.  The external offset is the index of the
    tensor.
    """

    def __init__(self, held: list[_Values]) -> None:
        super().__init__(Path(NAME))
        self._held = held

    def place(self, tensor: onnx.TensorProto) -> None:
        """Return None, because the tensors are in memory and not in a file."""

    def _left(self, tensor: onnx.TensorProto, offset: int, length: int | None) -> Array | None:  # noqa: ARG002
        return np.asarray(self._held[offset]())

    def file_of(self, location: str) -> None:
        """Return None and add a note, because the folder of external data is unknown."""
        self.note(f"external data {location!r} are not in memory: values in them are unknown")


def _package(model: Any) -> str:
    """Return the Python package that defines an ONNX IR model, or an empty string for any other object."""
    module = type(model).__module__
    if type(model).__name__ != "Model":
        return ""
    return next((name for name in _IR_PACKAGES if module == name or module.startswith(f"{name}.")), "")


def _copy(source: Any, target: Any, kind: int, held: list[_Values]) -> None:
    """Copy a protobuf message of type ``kind`` from ``source`` to ``target``.

    The elements of large tensors are not copied.  For each large tensor, a function that returns the elements
    is appended to ``held``.
    """
    parts = reader.PARTS[kind]
    for field, value in source.ListFields():
        part = parts.get(field.number)
        if part == reader.TRAINING:
            continue
        own = getattr(target, field.name)
        if part is None:
            _copy_field(field, value, target)
        elif _is_repeated(value):
            for message in value:
                _copy_part(message, own.add(), part, held)
        else:
            own.SetInParent()
            _copy_part(value, own, part, held)


def _is_repeated(value: Any) -> bool:
    return hasattr(value, "extend")


def _copy_field(field: Any, value: Any, target: Any) -> None:
    if _is_repeated(value):
        getattr(target, field.name).extend(value)
    elif field.message_type is not None:
        getattr(target, field.name).CopyFrom(value)
    else:
        setattr(target, field.name, value)


def _copy_part(message: Any, target: Any, kind: int, held: list[_Values]) -> None:
    """Copy a submessage of type ``kind``.  A node without large tensors is copied in one step."""
    if kind == reader.TENSOR:
        _copy_tensor(message, target, held)
    elif kind == reader.NODE and not any(attribute.type in _HOLDING for attribute in message.attribute):
        target.CopyFrom(message)
    else:
        _copy(message, target, kind, held)


def _copy_tensor(tensor: onnx.TensorProto, target: onnx.TensorProto, held: list[_Values]) -> None:
    # Do not read the length of the payload, because protobuf would copy the payload.
    if tensor.data_location == onnx.TensorProto.EXTERNAL or stored_size(tensor) <= reader.KEPT:
        target.CopyFrom(tensor)
        if (place_of(tensor) or ("",))[0] == LEFT:
            del target.external_data[:]
        return
    target.name, target.data_type = tensor.name, tensor.data_type
    target.dims.extend(tensor.dims)
    _leave(target, lambda: _array(tensor), held)


def _array(tensor: onnx.TensorProto) -> Array:
    return np.asarray(numpy_helper.to_array(tensor))


def _leave(target: onnx.TensorProto, values: _Values, held: list[_Values]) -> None:
    """Mark a copied tensor as external data, and append ``values`` to ``held``.

    The external offset of the tensor is the index of ``values`` in ``held``.
    """
    set_place(target, LEFT, len(held))
    held.append(values)


def _from_ir(model: Any, package: str) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """Convert an ONNX IR model to a ModelProto and a dictionary of its large initializers."""
    serde = import_module(f"{package}.serde")
    initializers = model.graph.initializers
    large = {
        name: value.const_value
        for name, value in initializers.items()
        if value.const_value is not None and value.const_value.nbytes > reader.KEPT
    }
    small = {name: value for name, value in initializers.items() if name not in large}
    proto = onnx.ModelProto()
    try:
        serde.serialize_model_into(proto, _Override(model, graph=_Override(model.graph, initializers=small)))
    except Exception as error:  # incomplete models raise exceptions of any class
        reason = " ".join(str(error).split())
        raise ModelError(f"the library onnx_ir cannot write this model: {reason}") from error
    return proto, large


class _Override:
    """A proxy for the object ``whole``.  Attributes in ``instead`` replace attributes of ``whole``."""

    def __init__(self, whole: Any, **instead: Any) -> None:
        self._whole = whole
        self.__dict__.update(instead)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)

    def __iter__(self) -> Any:
        return iter(self._whole)

    def __len__(self) -> int:
        return len(self._whole)
