"""Compute all tensors of an ONNX model with ONNX Runtime.

If memory is limited, the model is computed in several parts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, numpy_helper

from trtlint.compare.alike import IR_VERSION
from trtlint.compare.reference import evaluator_of
from trtlint.errors import ExperimentError
from trtlint.files.telemetry import onnx_runtime
from trtlint.measurement.seeds import draws
from trtlint.model.contents import all_tensors, nodes
from trtlint.model.external import set_place
from trtlint.model.reader import decode, read
from trtlint.model.tensors import TensorStore
from trtlint.model.widening import Types, widen_model
from trtlint.network.iterations import bound_loops
from trtlint.network.layers import Array
from trtlint.network.onnxops import RuntimeRefusedError, reason_of
from trtlint.network.parts import Parts

_LEAST = 128 << 20
"""Smallest limit, in bytes, for the tensors of one part of a model."""
_HEAVY = 64 << 20
"""If the weights have at least this many bytes, trtlint turns off prepacking, because it copies weights."""
_MOST_FOR_REFERENCE = 16 << 20
"""Size in bytes of the largest model that trtlint computes with ONNX's slow reference evaluator."""
_ROOT = Path("/")

Feeds = Mapping[str, Array]


class WeightsMissingError(ExperimentError):
    """Error: the weights of the model cannot be read."""


def linked(model: Path, types: Types | None = None) -> ModelProto:
    """Read a model, but leave its large tensors in the existing files, as external data.

    ONNX Runtime maps these files into memory, so it does not copy the weights.  Each Loop gets a limit for
    its iterations.

    Args:
        model: the path of the model.
        types: wider types that replace types of the model; None to keep the types of the model.

    Raises:
        WeightsMissingError: weights cannot be read.
        ModelError: the file is not a model.
    """
    raw = read(model, whole=True)
    proto = decode(raw.data)
    for tensor in all_tensors(proto):
        if tensor.data_location == TensorProto.EXTERNAL:
            _relink(tensor, raw.tensors, copied=types is not None and tensor.data_type in types)
    if types is not None:
        widen_model(proto, types)
    bound_loops(proto)
    proto.ir_version = min(proto.ir_version, IR_VERSION)
    return proto


def _relink(tensor: TensorProto, store: TensorStore, *, copied: bool) -> None:
    place = None if copied else store.place(tensor)
    if place is None or place[0].anchor != _ROOT.anchor:
        values = store.array(tensor)
        if values is None:
            raise WeightsMissingError(f"the values of {tensor.name!r} cannot be read")
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
        return
    path, offset, length = place
    set_place(tensor, str(path.relative_to(_ROOT)), offset, length)


def session(proto: ModelProto, names: Sequence[str], weights: int) -> Any:
    """Load a model into ONNX Runtime without optimizations, and return the session.

    Without optimizations, the session can also return intermediate tensors.

    Args:
        proto: the model.
        names: intermediate tensors to return in addition to the outputs.
        weights: size of the weights in bytes.

    Raises:
        Exception: any error of ONNX Runtime.  It means that ONNX Runtime rejects the model.
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
    options.enable_cpu_mem_arena = False  # an arena keeps the memory of the largest run
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(_ROOT))
    if weights >= _HEAVY:
        options.add_session_config_entry("session.disable_prepacking", "1")
    return runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def by_reference(model: Path, names: Sequence[str]) -> _Reference:
    """Return an object that computes tensors of a model with ONNX's reference evaluator.

    ``names`` are the tensors to return.

    Raises:
        ValueError: the evaluator is too slow for the model, or is known to compute the model incorrectly.
        Exception: any error of the evaluator.  It means that the evaluator does not support the model.
    """
    if model.stat().st_size > _MOST_FOR_REFERENCE:
        raise ValueError("the model is too large for ONNX's reference evaluator")
    proto = onnx.load(model)
    bound_loops(proto)
    has = {output.name for output in proto.graph.output}
    proto.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in has)
    return _Reference(evaluator_of(proto), names)


def by_runtime(proto: ModelProto, names: Sequence[str], weights: int) -> Parts:
    """Return an object that computes tensors of a model with ONNX Runtime.

    Args:
        proto: the model.
        names: the tensors to return.
        weights: size of the weights in bytes.

    Raises:
        Exception: any error of ONNX Runtime.  It means that ONNX Runtime rejects the model.
    """
    whole = session(proto, names, weights)
    budget = None if any(map(draws, nodes(proto))) else max(_LEAST, weights // 4)
    return Parts(
        proto,
        names,
        whole,
        lambda part, wanted: session(part, wanted, weights),
        budget,
        keep=weights < _HEAVY,
    )


class _Reference:
    """Computes tensors of a model with ONNX's reference evaluator.

    All tensors of a run stay in memory, because the evaluator would be too slow to compute them again.
    """

    def __init__(self, evaluator: Any, names: Sequence[str]) -> None:
        self._evaluator = evaluator
        self._names = list(names)
        self._found: dict[str, Array] = {}

    def run(self, feeds: Feeds) -> Iterator[dict[str, Array]]:
        found = self._evaluator.run(self._names or None, dict(feeds))
        pairs = zip(self._names, found, strict=False)
        self._found = {name: value for name, value in pairs if isinstance(value, np.ndarray)}
        yield dict(self._found)

    def of(self, _: Feeds, names: Sequence[str]) -> dict[str, Array]:
        return {name: self._found[name] for name in names if name in self._found}


class ExpectedTensors:
    """Computes the tensors of an ONNX model, for one set of inputs at a time.

    Args:
        source: object that computes the tensors.
        names: the tensors that callers will request.
    """

    def __init__(self, source: Parts | _Reference, names: Sequence[str]) -> None:
        self._source = source
        self._names = frozenset(names)
        self._feeds: Feeds = {}
        self._held: dict[str, Array] = {}
        self._rest: Iterator[dict[str, Array]] = iter(())
        self.seconds = 0.0
        self.runs = 0

    def begin(self, feeds: Feeds) -> None:
        """Start to compute the tensors for a set of inputs.

        Raises:
            RuntimeRefusedError: ONNX Runtime rejects the inputs.
            MemoryError: there is too little memory.
        """
        self._feeds = dict(feeds)
        self._held.clear()
        self._rest = self._source.run(self._feeds)
        self.runs += 1
        self._go_on()

    def take(self, name: str) -> Array | None:
        """Return the value of a tensor, or None if ONNX Runtime does not return the tensor.

        This object does not keep the value after the call.

        Raises:
            RuntimeRefusedError: ONNX Runtime rejects the inputs.
            MemoryError: there is too little memory.
        """
        while name not in self._held and self._go_on():
            pass
        return self._held.pop(name, None)

    def of(self, names: Sequence[str]) -> dict[str, Array]:
        """Compute the tensors ``names`` in a separate run. Sequences and optionals are left out."""
        wanted = [name for name in dict.fromkeys(names) if name in self._names]
        return self._source.of(self._feeds, wanted) if wanted else {}

    def _go_on(self) -> bool:
        began = time.monotonic()
        try:
            with np.errstate(all="ignore"):
                found = next(self._rest, None)
        except Exception as error:  # noqa: BLE001 - ONNX Runtime's exceptions have no common class
            raise RuntimeRefusedError(reason_of(error)) from None
        self.seconds += time.monotonic() - began
        self._held.update(found or {})
        return found is not None
