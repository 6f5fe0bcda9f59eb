"""Run a model in ONNX Runtime in several parts, so that few tensors are in memory at once.

ONNX Runtime always computes the whole model, even if only a few tensors are requested.  If all tensors
together need too much memory, trtlint splits the model.  Each part is a model with its own session.  If a
later part reads a tensor of an earlier part, the tensor becomes an input of the later part.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from trtlint.files.telemetry import onnx_runtime
from trtlint.model.contents import nodes as all_nodes
from trtlint.model.contents import reads
from trtlint.network.layers import Array
from trtlint.network.types import BY_BITS, NATIVE

_FIRST = 32
"""Number of nodes in the first part."""
_GROWTH = 4
"""Largest ratio of the number of nodes in a part to the number of nodes in the previous part."""
_NOT_TENSORS = ("Sequence", "Optional", "ZipMap")
"""If an operator type contains one of these words, some inputs or outputs of the operator are not tensors."""

_HALVES = frozenset({TensorProto.FLOAT16, TensorProto.BFLOAT16})
"""16-bit types.  For most operators, ONNX Runtime converts tensors of these types to FP32 copies."""
_BITS = {helper.np_dtype_to_tensor_dtype(dtype): dtype for dtype in BY_BITS}
"""The NumPy type of each ONNX type whose tensors ONNX Runtime returns as raw bits.

The keys are numbers of ONNX types.
"""

Feeds = Mapping[str, Array]
Open = Callable[[ModelProto, Sequence[str]], Any]
"""A function that takes a model and names of intermediate tensors, and returns a session.

The session returns these tensors and the outputs of the model.
"""


class _Part(Struct, frozen=True, eq=False):
    """Consecutive nodes that run as one session.

    Attributes:
        model: the nodes as a model.
        outputs: the tensors that the session returns.
        inputs: the tensors that the nodes read from earlier parts or from the inputs of the model.
        gives: the outputs that the caller of :class:`Parts` requested.
        keeps: the outputs that later parts read.
        end: the position of the first node after the part.
    """

    model: ModelProto
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    gives: tuple[str, ...]
    keeps: tuple[str, ...]
    end: int


class Parts:
    """Runs a model in several parts, on one set of inputs at a time.

    Args:
        proto: the model.
        names: the tensors to return.
        whole: a session of the whole model.
        make: function that makes the session of a part.
        budget: approximate limit for the bytes of all tensors of a part; None to run the model in one part.
        keep: whether to keep the sessions of parts in memory, together with their weights.
    """

    def __init__(
        self,
        proto: ModelProto,
        names: Sequence[str],
        whole: Any,
        make: Open,
        budget: int | None,
        *,
        keep: bool = True,
    ) -> None:
        self._proto = proto
        self._names = tuple(names)
        self._wanted = frozenset(names)
        self._whole = whole
        self._open = make
        self._budget = budget or 0
        self._keep = keep
        self._parts: list[_Part] = []
        self._sessions: dict[int, Any] = {}
        self._size = _FIRST
        self._nodes = list(proto.graph.node)
        self._widened = {
            tensor.name: 4 * math.prod(tensor.dims)
            for tensor in proto.graph.initializer
            if tensor.data_type in _HALVES
        }
        self._last_read = {name: at for at, node in enumerate(self._nodes) for name in reads(node)}
        self._single = budget is None or not self._can_be_cut()
        self._fed = 0
        self._sizes: dict[str, float] = {}

    def run(self, feeds: Feeds) -> Iterator[dict[str, Array]]:
        """Run all parts, and yield the requested tensors of each part, by name.

        Raises:
            Exception: any error of ONNX Runtime.  It means that ONNX Runtime rejects the inputs.
        """
        return self._run(feeds, self._wanted)

    def of(self, feeds: Feeds, names: Sequence[str]) -> dict[str, Array]:
        """Compute the tensors ``names`` again, in a separate run."""
        wanted, found = frozenset(names), {}
        for tensors in self._run(feeds, wanted):
            found.update(tensors)
            if len(found) == len(wanted):
                break
        return found

    def _run(self, feeds: Feeds, wanted: frozenset[str]) -> Iterator[dict[str, Array]]:
        values = {name: _value(array) for name, array in feeds.items()}
        self._discard_if_larger(sum(array.nbytes for array in feeds.values()))
        if not (self._single or self._parts):
            self._sizes = self._known_sizes(feeds)
        if self._single or (not self._parts and sum(map(self._cost, self._nodes)) <= self._budget):
            names = [name for name in self._names if name in wanted]
            yield _arrays(names, self._whole.run_with_ort_values(names or None, values))
            return
        place, begin = 0, 0
        while begin < len(self._nodes):
            if place == len(self._parts):
                self._parts.append(self._part(begin, values))
            part = self._parts[place]
            names = [*dict.fromkeys((*(name for name in part.gives if name in wanted), *part.keeps))]
            fed = {name: values[name] for name in part.inputs}
            session = self._sessions.pop(place, None) or self._open(part.model, part.outputs)
            found = session.run_with_ort_values(names, fed) if names else []
            if self._keep:
                self._sessions[place] = session
            del fed, session
            tensors = dict(zip(names, found, strict=True))
            del found
            if wanted is self._wanted and place == len(self._parts) - 1:
                given = sum(each.tensor_size_in_bytes() for each in tensors.values())
                weights = (
                    self._widened.get(name, 0)
                    for node in self._nodes[begin : part.end]
                    for name in node.input
                )
                self._choose_length(given + sum(weights), part.end - begin)
            values.update((name, tensors[name]) for name in part.keeps)
            begin, place = part.end, place + 1
            for name in [name for name in values if self._last_read.get(name, -1) < begin]:
                del values[name]
            chosen = [name for name in names if name in wanted]
            arrays = _arrays(chosen, [tensors[name] for name in chosen])
            tensors.clear()
            yield arrays

    def _discard_if_larger(self, size: int) -> None:
        """Discard the parts if the inputs are much larger than the inputs for which the parts were made.

        ``size`` is the size of the inputs in bytes.
        """
        if size > 2 * self._fed:
            self._parts.clear()
            self._sessions.clear()
            self._size = _FIRST
            self._fed = size

    def _choose_length(self, size: int, count: int) -> None:
        """Set the number of nodes in the next part.

        Args:
            size: bytes of the tensors in the previous part.
            count: number of nodes in the previous part.
        """
        fits = int(self._budget * count / max(1, size))
        self._size = max(1, min(fits, _GROWTH * count))

    def _end(self, begin: int) -> int:
        """Return the position after the last node of a part that begins at position ``begin``.

        The length of the part depends on the shapes of its tensors. If the shapes are unknown, the length
        depends on the previous part.
        """
        left = float(self._budget)
        for place in range(begin, len(self._nodes)):
            left -= self._cost(self._nodes[place])
            if left == -math.inf:
                return begin + self._size
            if left < 0:
                return max(place, begin + 1)
        return len(self._nodes) if self._sizes else begin + self._size

    def _cost(self, node: NodeProto) -> float:
        """Return the size of a node in bytes: its requested outputs, and its weights converted to FP32."""
        given = sum(self._sizes.get(name, 0.0) for name in node.output)
        return given + sum(self._widened.get(name, 0) for name in node.input)

    def _part(self, begin: int, values: Mapping[str, Any]) -> _Part:
        end = min(self._end(begin), len(self._nodes))
        chosen = self._nodes[begin:end]
        outputs = [name for node in chosen for name in node.output if name]
        needed = dict.fromkeys(name for node in chosen for name in reads(node))
        inputs = tuple(name for name in needed if name in values)
        graph = GraphProto(name="part", node=chosen)
        graph.input.extend(_declared(name, values[name]) for name in inputs)
        graph.initializer.extend(
            each for each in self._proto.graph.initializer if each.name in needed and each.name not in values
        )
        model = ModelProto(ir_version=self._proto.ir_version, graph=graph)
        model.opset_import.extend(self._proto.opset_import)
        model.functions.extend(self._proto.functions)
        gives = tuple(name for name in outputs if name in self._wanted)
        keeps = tuple(name for name in outputs if self._last_read.get(name, -1) >= end)
        return _Part(model, tuple(dict.fromkeys((*gives, *keeps))), inputs, gives, keeps, end)

    def _can_be_cut(self) -> bool:
        """Return whether the model can be split.

        The nodes of the model must be in computation order, and must exchange only tensors (no sequences or
        optionals).
        """
        if self._proto.graph.sparse_initializer or len(self._nodes) <= _FIRST:
            return False
        if any(word in node.op_type for node in all_nodes(self._proto) for word in _NOT_TENSORS):
            return False
        giver = {name: at for at, node in enumerate(self._nodes) for name in node.output if name}
        return all(giver.get(name, -1) < at for at, node in enumerate(self._nodes) for name in reads(node))

    def _known_sizes(self, feeds: Feeds) -> dict[str, float]:
        """Return the size of each requested tensor in bytes, from shapes that ONNX Runtime infers.

        If a shape is unknown, the size is infinity.
        """
        sizes = {
            str(dim): size
            for each in self._whole.get_inputs()
            if each.name in feeds
            for dim, size in zip(each.shape, feeds[each.name].shape, strict=False)
        }
        found = {}
        for each in self._whole.get_outputs():
            if each.name in self._wanted:
                dims = [dim if isinstance(dim, int) else sizes.get(str(dim), math.inf) for dim in each.shape]
                found[each.name] = math.prod(dims) * (8 if "64" in each.type else 4)
        return found


def _value(array: Array) -> Any:
    """Convert an array to a value of ONNX Runtime, without a copy if possible."""
    kind = onnx_runtime().OrtValue
    if array.dtype in NATIVE or array.dtype.kind in "fiub":
        return kind.ortvalue_from_numpy(np.asarray(array, order="C"))
    if array.dtype not in BY_BITS:  # the remaining types have two numbers in a byte
        raise ValueError(f"ONNX Runtime's Python API takes no array of {array.dtype.name}")
    bits = np.asarray(array, order="C").view(f"u{array.dtype.itemsize}")
    return kind.ortvalue_from_numpy_with_onnx_type(bits, helper.np_dtype_to_tensor_dtype(array.dtype))


def _arrays(names: Sequence[str], values: Sequence[Any]) -> dict[str, Array]:
    """Convert tensors of ONNX Runtime to arrays, by name. Sequences and optionals are skipped."""
    pairs = zip(names, values, strict=False)
    return {name: _array(value) for name, value in pairs if value.is_tensor()}


def _array(value: Any) -> Array:
    """Convert a tensor of ONNX Runtime to an array that shares the memory of the tensor.

    For types that NumPy lacks, the array is a copy.
    """
    dtype = _BITS.get(value.element_type())
    if dtype is None:
        return np.asarray(value.numpy())
    data = ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes())
    return np.asarray(np.frombuffer(data, dtype).reshape(value.shape()))


def _declared(name: str, value: Any) -> ValueInfoProto:
    """Return a declaration of a model input with the type of a tensor, but without its shape."""
    info = ValueInfoProto(name=name)
    info.type.tensor_type.elem_type = value.element_type()
    return info
