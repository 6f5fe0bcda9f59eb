"""Compare the inputs and outputs in a Triton configuration with the inputs and outputs of the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from trtlint.buildcommand.command import ServedTensor, ServerConfiguration
from trtlint.facts.base import Fact
from trtlint.facts.blocks.sizes import shape_text
from trtlint.facts.facts import Facts
from trtlint.model.graph import Value
from trtlint.model.protos import Dimension

_DTYPES: Mapping[str, str] = {
    "TYPE_BOOL": "bool", "TYPE_UINT8": "u8", "TYPE_UINT16": "u16", "TYPE_UINT32": "u32", "TYPE_UINT64": "u64",
    "TYPE_INT8": "i8", "TYPE_INT16": "i16", "TYPE_INT32": "i32", "TYPE_INT64": "i64", "TYPE_FP16": "f16",
    "TYPE_FP32": "f32", "TYPE_FP64": "f64", "TYPE_STRING": "str", "TYPE_BF16": "bf16",
}  # fmt: skip
_TYPES = {dtype: name for name, dtype in _DTYPES.items()}
_SAME_IN_ENGINES = frozenset({"f32", "f16", "bf16"})
"""Types of model inputs that do not change in the engine, in any release."""


_BACKENDS = frozenset({"onnxruntime", "tensorrt"})
"""The backends whose inputs and outputs are the inputs and outputs of the model."""


class ServedTensorFact(Fact, frozen=True, kw_only=True):
    """An input or output in a Triton configuration, or a model input that the configuration does not list.

    Triton's ONNX Runtime backend compares the same properties when it loads a model:
    https://github.com/triton-inference-server/onnxruntime_backend/blob/00fd3e8/src/onnxruntime_utils.cc

    Attributes:
        name: the name of the input or output.
        role: ``input`` or ``output``.
        source: the configuration file; empty for a configuration given as text.
        backend: the backend that runs the model, such as ``onnxruntime`` or ``tensorrt``.
        named: whether the configuration names the tensor.
        is_there: whether the model has an input or output with this name.
        there: for an input, the names of all inputs of the model; for an output, the names of all outputs.
        data_type: the type in the configuration, such as ``TYPE_FP32``; empty if the configuration does not
            name the tensor.
        expected_type: the type in the model, such as ``TYPE_FP32``; empty if unknown.
        type_fits: whether ``data_type`` and ``expected_type`` agree; None if unknown.
        dims: the shape that the server passes to the model, with the batch dimension, such as
            ``-1x3x224x224``.
        declared: the shape in the model, such as ``Nx3x224x224``.  ``?`` is a dynamic dimension without a
            name.  Empty if unknown.
        max_batch_size: the largest batch that the server forms; 0 if the server does not form batches.
        rank_fits: whether ``dims`` and ``declared`` have the same number of dimensions; None if unknown.
        sizes_fit: whether the sizes in ``dims`` and ``declared`` agree; None if unknown.
        batch_fits: whether the first dimension in the model is dynamic. A server that forms batches requires
            a dynamic first dimension. None if unknown, or if the server does not form batches.
    """

    name: str
    role: Literal["input", "output"]
    source: str
    backend: str
    named: bool
    is_there: bool
    there: tuple[str, ...]
    data_type: str = ""
    expected_type: str
    type_fits: bool | None = None
    dims: str = ""
    declared: str
    max_batch_size: int
    rank_fits: bool | None = None
    sizes_fit: bool | None = None
    batch_fits: bool | None = None

    @property
    def place(self) -> str:
        """The location in reports: the configuration file, and the name of the input or output."""
        return f"{self.source} {self.role} {self.name}".strip()


def find(facts: Facts) -> Iterator[ServedTensorFact]:
    """Yield the configured tensors in order, then the model inputs that the configuration does not list.

    The tensors of other backends, such as ``python``, need not be the tensors of the model.
    """
    if facts.command is None or facts.command.served is None:
        return
    served, source = facts.command.served, facts.command.place
    if served.backend not in _BACKENDS:
        return
    graph = facts.model.graph
    for tensor in served.tensors:
        values = graph.inputs if tensor.role == "input" else graph.outputs
        yield _fact(served, source, tensor, {value.name: value for value in values})
    inputs = {tensor.name for tensor in served.tensors if tensor.role == "input"}
    if inputs:  # if the configuration lists no input, the server adds all inputs of the model
        for value in graph.inputs:
            if value.name not in inputs:
                yield _unnamed(served, source, value, tuple(each.name for each in graph.inputs))


def _fact(
    served: ServerConfiguration, source: str, tensor: ServedTensor, values: Mapping[str, Value]
) -> ServedTensorFact:
    value = values.get(tensor.name)
    shape = None if value is None else value.shape
    batched = served.max_batch_size > 0
    dims = (-1, *tensor.dims) if batched else tensor.dims
    comparable = shape is not None and not tensor.ragged and len(shape) > 0
    rank_fits = len(shape) == len(dims) if comparable and shape is not None else None
    return ServedTensorFact(
        name=tensor.name,
        role=tensor.role,
        source=source,
        backend=served.backend,
        named=True,
        is_there=value is not None,
        there=tuple(values),
        data_type=tensor.data_type,
        expected_type=_type(value),
        type_fits=_type_fits(served.backend, tensor, value),
        dims=shape_text(dims),
        declared="" if shape is None else shape_text(shape),
        max_batch_size=served.max_batch_size,
        rank_fits=rank_fits,
        sizes_fit=_sizes_fit(tensor, dims, shape, skip=int(batched)) if rank_fits and shape else None,
        batch_fits=_batch_fits(served, tensor, shape) if comparable and shape else None,
    )


def _unnamed(
    served: ServerConfiguration, source: str, value: Value, there: tuple[str, ...]
) -> ServedTensorFact:
    return ServedTensorFact(
        name=value.name,
        role="input",
        source=source,
        backend=served.backend,
        named=False,
        is_there=True,
        there=there,
        expected_type=_type(value),
        declared="" if value.shape is None else shape_text(value.shape),
        max_batch_size=served.max_batch_size,
    )


def _type(value: Value | None) -> str:
    return "" if value is None or value.dtype is None else _TYPES.get(value.dtype, "")


def _type_fits(backend: str, tensor: ServedTensor, value: Value | None) -> bool | None:
    if value is None or value.dtype is None or value.dtype not in _TYPES:
        return None
    if backend == "tensorrt" and value.dtype not in _SAME_IN_ENGINES:
        return None
    return _DTYPES.get(tensor.data_type) == value.dtype


def _sizes_fit(tensor: ServedTensor, dims: tuple[int, ...], shape: tuple[Dimension, ...], skip: int) -> bool:
    """Return whether the sizes that the server passes equal the static sizes in the model.

    ``dims`` is the shape that the server passes, and ``shape`` is the shape in the model.  The first ``skip``
    dimensions are not compared.  For an output, a size of -1 in the configuration matches any size.
    """
    pairs = list(zip(dims, shape, strict=True))[skip:]
    fixed = [(dim, size) for dim, size in pairs if isinstance(size, int)]
    return all(dim == size or (dim == -1 and tensor.role == "output") for dim, size in fixed)


def _batch_fits(
    served: ServerConfiguration, tensor: ServedTensor, shape: tuple[Dimension, ...]
) -> bool | None:
    if served.max_batch_size == 0 or served.backend != "onnxruntime" or tensor.role == "output":
        return None
    return not isinstance(shape[0], int)
