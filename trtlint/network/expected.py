"""ONNX's value of every tensor, from ONNX Runtime, no more of them at once than memory allows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, numpy_helper

from trtlint.compare.alike import IR_VERSION
from trtlint.compare.reference import begun, more_ops, stacks
from trtlint.errors import ExperimentError
from trtlint.files.telemetry import onnx_runtime
from trtlint.model.contents import all_tensors, nodes
from trtlint.model.operators import RANDOM
from trtlint.model.reader import decode, read
from trtlint.model.tensors import TensorStore
from trtlint.model.widening import Types, widen_model
from trtlint.network.layers import Array

_FIRST = 16
"""Tensors of the first run, from whose sizes those of the others are guessed."""
_LEAST = 256 << 20
"""Bytes of tensors that are always held at once."""
_HEAVY = 256 << 20
"""Bytes of weights from which ONNX Runtime makes no copies of them in another order."""
_MOST_FOR_REFERENCE = 16 << 20
"""Bytes of a model that ONNX's reference computes: it is slow."""
_ROOT = Path("/")

Feeds = Mapping[str, Array]


class WeightsMissingError(ExperimentError, ValueError):
    """Weights of the model cannot be read."""


def linked(model: Path, types: Types | None = None) -> ModelProto:
    """Return a model whose large tensors are external data at their places in the files they are in.

    ONNX Runtime maps such tensors into memory, so that no copy of the weights is made.

    Args:
        model: the file.
        types: wider types to compute in, None for the model's own.

    Raises:
        WeightsMissingError: weights cannot be read.
        ModelError: the file is no model.
    """
    raw = read(model, whole=True)
    proto = decode(raw.data)
    for tensor in all_tensors(proto):
        if tensor.data_location == TensorProto.EXTERNAL:
            _relink(tensor, raw.tensors, copied=types is not None and tensor.data_type in types)
    if types is not None:
        widen_model(proto, types)
    proto.ir_version = min(proto.ir_version, IR_VERSION)
    return proto


def _relink(tensor: TensorProto, store: TensorStore, *, copied: bool) -> None:
    place = None if copied else store.place(tensor)
    if place is None or place[0].anchor != _ROOT.anchor:
        values = store.array(tensor)
        if values is None:
            raise WeightsMissingError(f"the values of {tensor.name!r} cannot be read")
        name = tensor.name
        tensor.CopyFrom(numpy_helper.from_array(values, name))
        return
    path, offset, length = place
    del tensor.external_data[:]
    for key, value in (("location", str(path.relative_to(_ROOT))), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=str(value))


def draws(proto: ModelProto) -> bool:
    """Return whether a model draws random numbers."""
    return any(node.op_type in RANDOM for node in nodes(proto))


def session(proto: ModelProto, names: Sequence[str], weights: int) -> Any:
    """Return a session without optimizations that gives more tensors than the model does.

    Args:
        proto: the model.
        names: tensors that it gives besides its outputs.
        weights: bytes of its weights.

    Raises:
        Exception: whatever ONNX Runtime raises for a model that it does not take.
    """
    has = {output.name for output in proto.graph.output}
    extra = [onnx.ValueInfoProto(name=name) for name in names if name not in has]
    proto.graph.output.extend(extra)
    try:
        data = proto.SerializeToString()
    finally:
        if extra:
            del proto.graph.output[-len(extra) :]
    runtime = onnx_runtime()
    runtime.set_default_logger_severity(4)
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.enable_cpu_mem_arena = weights < _HEAVY
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(_ROOT))
    if weights >= _HEAVY:
        options.add_session_config_entry("session.disable_prepacking", "1")
    return runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def reference(model: Path, names: Sequence[str]) -> Any:
    """Return a model in ONNX's reference, with a method ``run`` like that of a session.

    Raises:
        ValueError: the reference is too slow for the model, or computes it otherwise than ONNX says.
        Exception: whatever the reference raises for what it does not know.
    """
    from onnx.reference import ReferenceEvaluator

    if model.stat().st_size > _MOST_FOR_REFERENCE:
        raise ValueError("the model is too large for ONNX's reference")
    proto = onnx.load(model)
    if stacks(proto):
        raise ValueError("ONNX's reference does not stack what iterations of a loop give as ONNX says")
    has = {output.name for output in proto.graph.output}
    proto.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in has)
    return ReferenceEvaluator(begun(proto), new_ops=list(more_ops()))


class Expected:
    """ONNX's tensors for one set of inputs after the other.

    Args:
        session: runs the model in ONNX Runtime or in ONNX's reference.
        proto: the model.
        names: the tensors, in the order in which they will be asked for.
        weights: bytes of the model's weights.
    """

    def __init__(self, session: Any, proto: ModelProto, names: Sequence[str], weights: int) -> None:
        self._session = session
        self._names = list(names)
        self._places = {name: place for place, name in enumerate(self._names)}
        self._budget = max(_LEAST, weights // 4)
        self._whole = draws(proto)
        self._feeds: Feeds = {}
        self._held: dict[str, Array] = {}
        self._mean = 0.0
        self.seconds = 0.0
        self.runs = 0

    def begin(self, feeds: Feeds) -> None:
        """Compute the first tensors for a set of inputs.

        Raises:
            Exception: whatever ONNX Runtime raises for inputs that do not fit.
        """
        self._feeds = dict(feeds)
        self._held.clear()
        self._fetch(0)

    def take(self, name: str) -> Array | None:
        """Return a tensor and forget it; None where ONNX Runtime gives none."""
        if name not in self._held:
            place = self._places.get(name)
            if place is None:
                return None
            self._fetch(place)
        return self._held.pop(name, None)

    def of(self, names: Sequence[str]) -> dict[str, Array]:
        """Return tensors by name, in a run of their own; others than tensors are left out."""
        wanted = [name for name in dict.fromkeys(names) if name in self._places]
        return self._run(wanted) if wanted else {}

    def _fetch(self, place: int) -> None:
        self._held.clear()
        if self._whole or not self._names:
            count = len(self._names)
        elif not self._mean:
            count = _FIRST if len(self._names) > 4 * _FIRST else len(self._names)
        else:
            count = max(1, int(self._budget / self._mean))
        chosen = self._names[place : place + count]
        self._held = self._run(chosen)
        if self._held:
            sizes = sum(array.nbytes for array in self._held.values())
            self._mean = max(self._mean, sizes / len(self._held), 1.0)

    def _run(self, names: Sequence[str]) -> dict[str, Array]:
        began = time.monotonic()
        with np.errstate(all="ignore"):
            found = self._session.run(list(names) or None, dict(self._feeds))
        self.seconds += time.monotonic() - began
        self.runs += 1
        return {
            name: value for name, value in zip(names, found, strict=False) if isinstance(value, np.ndarray)
        }
