"""Compare the tensors of a network with the tensors of the same names in its ONNX model.

After a tensor is compared, later layers read ONNX Runtime's value instead of the network's value.  So each
layer and its ONNX nodes start from the same values, and a rounding error or difference does not reach later
layers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, field, to_builtins
from onnx import ModelProto, TensorProto, helper

from trtlint.dry_build.agreement import TensorDifference
from trtlint.errors import ExperimentError
from trtlint.model.external import external_size
from trtlint.model.protos import opsets
from trtlint.model.widening import FP32, Types
from trtlint.network.candidates import candidates
from trtlint.network.deviations import deviation, is_cut, is_unclear
from trtlint.network.expected import ExpectedTensors, by_reference, by_runtime, linked
from trtlint.network.iterations import OWN
from trtlint.network.judge import Difference, compare, no_numbers, tolerance_of
from trtlint.network.layers import Array, Layer, Network
from trtlint.network.onnxops import RuntimeRefusedError, reason_of
from trtlint.network.parsing import WeightFiles
from trtlint.network.region import Regions, Subgraph
from trtlint.network.run import MissingTensor, Runner, Value
from trtlint.network.twins import Initializers, Twins
from trtlint.network.types import BY_BITS, DTYPES, NATIVE, dtype_of, is_lossy, narrowed, wide

MOST_DIFFERENCES = 20
"""Largest number of differences to examine; each difference needs a separate run."""
_SINGLE: Types = {TensorProto.DOUBLE: TensorProto.FLOAT}
"""Maps DOUBLE to FLOAT, because TensorRT computes DOUBLE tensors as FLOAT.

https://github.com/onnx/onnx-tensorrt/blob/main/docs/operators.md
"""
_PACKED = frozenset({TensorProto.INT4, TensorProto.UINT4, TensorProto.FLOAT4E2M1})
_CANCELLED = 1e-4
"""Largest rounding error of a subtraction of nearly equal FP32 numbers, relative to the largest operand."""
_STEPS = 100
"""Number of progress reports in one run of the network."""

Feeds = Mapping[str, Array]
Progress = Callable[[float], None]


class NotComparableError(ExperimentError):
    """Error: a model and its network cannot be compared. The message is the reason."""


class _ComparisonResults(Struct, eq=False):
    """Results of the comparison so far.  Keys are the names of the tensors."""

    compared: set[str] = field(default_factory=set)
    missing: dict[str, str] = field(default_factory=dict)
    unclear: dict[str, str] = field(default_factory=dict)
    deviations: set[str] = field(default_factory=set)
    differences: dict[str, TensorDifference] = field(default_factory=dict)
    sets: int = 0


class NetworkComparer:
    """Compares a network with its ONNX model on several sets of inputs, one after the other.

    Args:
        path: the model.
        network: the network that the parser made from the model.
        files: the files with weights, which are mapped into memory.
        progress: function that receives the finished share of the work, 0 to 1.

    Attributes:
        proto: the model, with its large tensors as external data.

    Raises:
        NotComparableError: ONNX Runtime rejects the model.
    """

    def __init__(self, path: Path, network: Network, files: WeightFiles, progress: Progress) -> None:
        self._network = network
        self._progress = progress
        self._kinds = frozenset(tensor.dtype for tensor in network.tensors)
        self._runner = Runner(network, self._compare_tensor, self._value_of_twin)
        self._files = files
        self.widened = False
        self.by_reference = False
        proto = linked(path)
        self._candidates = candidates(proto, network)
        self._weights = external_size(proto.graph.initializer)
        self._expected, proto = self._choose_runtime(path, proto)
        self.proto = proto
        self._regions = Regions(proto)
        self._initializers = Initializers(proto, files)
        self._twins = Twins(proto, network, self._candidates, self._initializers)
        self._shared: dict[int, str] = {}
        self._done: set[int] = set()
        self._opset = opsets(proto).get("", 1)
        self._settled: set[str] = set()
        self._found = _ComparisonResults()
        self._seen = 0
        self._feeds: Feeds = {}
        self._name = ""

    @property
    def types(self) -> dict[str, np.dtype[Any]]:
        """Return the types of the model's inputs."""
        return {
            info.name: np.dtype(helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type))
            for info in self.proto.graph.input
        }

    def run(self, name: str, feeds: Feeds) -> str:
        """Compare network and model on one set of inputs. Return ONNX Runtime's error, or an empty string.

        Args:
            name: the name of the inputs in the report.
            feeds: the inputs, by name.

        Raises:
            MemoryError: there is too little memory.
        """
        before = self._found
        self._found = deepcopy(before)
        self._name, self._feeds = name, feeds
        self._settled = set()
        self._seen = 0
        self._done.clear()
        self._shared = {
            tensor: name
            for tensor in self._network.inputs
            if (name := self._network.tensors[tensor].name) in feeds
        }
        try:
            self._expected.begin(feeds)
            self._runner.run(feeds)
        except RuntimeRefusedError as error:
            self._found = before  # discard the results for rejected inputs
            return str(error)
        self._found.sets += 1
        return ""

    def agreement(self) -> dict[str, Any]:
        """Return the results as JSON data.  The keys are fields of :class:`Agreement`."""
        graph = self.proto.graph
        nodes = [node for node in graph.node if node.op_type != "Constant"]
        outputs = (name for node in nodes for name in node.output if name and not name.startswith(OWN))
        names = list(dict.fromkeys(outputs))
        order = {name: place for place, name in enumerate(names)}
        named = set(self._candidates.values())
        missing = {name: why for name, why in self._found.missing.items() if name not in self._found.compared}
        reasons = Counter(missing[name] for name in names if name in missing)
        return {
            "tensors": len(names),
            "compared": sum(name in self._found.compared for name in names),
            "unnamed": sum(name not in named for name in names),
            "uncomputed": sum(name in named and name not in self._found.compared for name in names),
            "reasons": [{"reason": why, "tensors": count} for why, count in reasons.most_common(8)],
            "sets": self._found.sets,
            "differences": [
                to_builtins(self._found.differences[name])
                for name in sorted(self._found.differences, key=lambda name: order.get(name, len(order)))
            ],
            "unclear": [
                {"tensor": name, "op": self._found.unclear[name]}
                for name in sorted(self._found.unclear, key=lambda name: order.get(name, len(order)))
            ],
            "deviations": sorted(self._found.deviations),
            "widened": self.widened,
            "onnxruntime_seconds": self._expected.seconds / max(1, self._expected.runs),
        }

    def _choose_runtime(self, path: Path, proto: ModelProto) -> tuple[ExpectedTensors, ModelProto]:
        """Choose the program that computes the ONNX model: ONNX Runtime or ONNX's reference evaluator.

        Raises:
            NotComparableError: both reject the model.
        """
        names = self._names(NATIVE | BY_BITS)
        try:
            elements = (info.type.tensor_type.elem_type for info in proto.graph.input)
            if not _PACKED.isdisjoint(elements):
                raise ValueError("ONNX Runtime's Python API accepts no 4-bit arrays")
            return ExpectedTensors(by_runtime(proto, names, self._weights), names), proto
        except Exception as error:  # noqa: BLE001 - ONNX Runtime's exceptions have no common class
            reason = reason_of(error)
        if not self._kinds.isdisjoint({"HALF", "BF16"}):
            wide, names = linked(path, FP32), self._names(NATIVE | {dtype_of("BF16")})
            with suppress(Exception):
                found = ExpectedTensors(by_runtime(wide, names, self._weights), names)
                self.widened = True
                return found, wide
        names = self._names(frozenset(DTYPES.values()))
        try:
            found = ExpectedTensors(by_reference(path, names), names)
        except Exception:  # noqa: BLE001 - ONNX's reference raises many classes for unsupported models
            raise NotComparableError(f"ONNX Runtime rejects the model: {reason}") from None
        self.by_reference = True
        return found, proto

    def _names(self, types: Collection[np.dtype[Any]]) -> list[str]:
        """Return the names of the tensors to compare, in the order of computation."""
        return [
            self._candidates[tensor]
            for step in self._runner.steps
            for tensor in step.gives
            if tensor in self._candidates and dtype_of(self._network.tensors[tensor].dtype) in types
        ]

    def _compare_tensor(self, tensor: int, layer: Layer, value: Value) -> Value:
        """Compare the network tensor at position ``tensor`` with ONNX's tensor.

        Return the value for the layers that follow.
        """
        name = self._candidates.get(tensor)
        if name is None:
            return value
        self._seen += 1
        if self._seen % max(1, len(self._candidates) // _STEPS) == 0:
            self._progress(self._seen / len(self._candidates))
            self._files.release()
        if tensor in self._done:
            return value
        expected = self._expected.take(name)
        if expected is None:
            self._found.missing[name] = "ONNX Runtime does not return the tensor"
            return value
        if isinstance(value, MissingTensor):
            self._found.missing.setdefault(name, value.reason)
            return self._forced(tensor, expected)
        kind = self._network.tensors[tensor].dtype
        if reason := no_numbers(expected, value):
            self._found.missing.setdefault(name, reason)
            return self._forced(tensor, expected)
        self._found.compared.add(name)
        found = compare(value, expected, kind, tolerance_of(kind, self._kinds))
        if (
            found is not None
            and name not in self._found.differences
            and len(self._found.differences) < MOST_DIFFERENCES
        ):
            self._record_difference(name, layer, (value, expected), found, kind)
        if found is not None and is_lossy(value, expected):
            return value
        self._settled.add(name)
        return self._forced(tensor, expected)

    def _value_of_twin(self, layer: Layer, inputs: Sequence[Any]) -> Array | None:
        """Return the result of the ONNX node with the same inputs, weights and settings as a layer.

        Return None if there is no such node.
        """
        tensor = layer.outputs[0]
        if self.by_reference or not self._twins.is_twin(layer, inputs, self._shared):
            return None
        name = self._candidates[tensor]
        expected = self._expected.take(name)
        if expected is not None:
            if reason := no_numbers(expected):
                self._found.missing.setdefault(name, reason)
            else:
                self._found.compared.add(name)
            self._settled.add(name)
            self._done.add(tensor)
            self._shared[tensor] = name
        return expected

    def _forced(self, tensor: int, expected: Array) -> Value:
        value = narrowed(expected, self._network.tensors[tensor].dtype)
        if value.dtype == expected.dtype:
            self._shared[tensor] = self._candidates[tensor]
        return value

    def _record_difference(
        self, name: str, layer: Layer, values: tuple[Array, Array], found: Difference, kind: str
    ) -> None:
        """Record a difference, unless trtlint can explain it, for example by a documented deviation."""
        got, expected = values
        region = self._regions.of(name, self._settled)
        node = region.nodes[-1]
        known = self._known((*region.inputs, *node.input))
        inputs = [known.get(each) for each in node.input]
        explained = deviation(node, inputs, values, found, self._opset)
        if node.op_type == "Loop" and got.ndim == expected.ndim > 0:
            cut = is_cut(self.proto.graph, name, got, expected)
            explained = "extra rows at the end of a Loop output, which a Slice removes" if cut else explained
        if explained:
            self._found.deviations.add(explained)
            return
        if any(each in self._found.differences for inner in region.nodes[:-1] for each in inner.output):
            return  # a difference in an earlier tensor explains this difference
        if _involves_double(expected, known) and self._agrees_in_fp32(region, name, known, got, kind):
            self._found.deviations.add("DOUBLE is computed as FLOAT")
            return
        opinion = None if self.by_reference else self._regions.second_opinion(region, name, known)
        if opinion is not None and not self._disagree(got, opinion, kind) and self._is_rounding(found, known):
            return
        if opinion is not None and self._is_overflow(got, expected, opinion, kind):
            return
        doubtful = any(map(is_unclear, region.nodes))
        if doubtful if opinion is None else self._disagree(opinion, expected, kind):
            self._found.unclear[name] = node.op_type
            return
        self._found.differences[name] = self._difference(name, layer, region, found, got, opinion is not None)

    def _agrees_in_fp32(
        self, region: Subgraph, name: str, known: Mapping[str, Array], got: Array, kind: str
    ) -> bool:
        """Return whether the network agrees with ONNX if ``region`` is computed in FP32 instead of DOUBLE."""
        single = {
            each: array.astype(np.float32) if array.dtype == np.float64 else array
            for each, array in known.items()
        }
        opinion = self._regions.second_opinion(region, name, single, _SINGLE)
        return opinion is not None and not self._disagree(got, opinion, kind)

    def _is_overflow(self, got: Array, expected: Array, opinion: Array, kind: str) -> bool:
        """Return whether a 16-bit overflow explains why ``got`` differs from the FP32 result ``expected``."""
        if self._kinds.isdisjoint({"HALF", "BF16"}) or not got.shape == opinion.shape == expected.shape:
            return False
        both = ~np.isfinite(wide(got)) & ~np.isfinite(wide(opinion))
        return bool(both.any()) and not self._disagree(got, np.where(both, got, expected), kind)

    def _is_rounding(self, found: Difference, known: Mapping[str, Array]) -> bool:
        """Return whether rounding explains a difference between the network and ONNX Runtime.

        Call this function if the network agrees with ONNX's reference evaluator, but not with ONNX Runtime.
        In a model with 16-bit types, ONNX Runtime keeps FP32 where the model rounds to 16 bits. In an FP32
        model, subtracting nearly equal numbers gives a rounding error that is small compared with them.
        """
        if not self._kinds.isdisjoint({"HALF", "BF16"}):
            return True
        largest = max(map(_largest, known.values()), default=0.0)
        return found.worst is not None and found.worst <= _CANCELLED * largest

    def _disagree(self, opinion: Array, expected: Array, kind: str) -> bool:
        return compare(opinion, expected, kind, tolerance_of(kind, self._kinds)) is not None

    def _difference(
        self, name: str, layer: Layer, region: Subgraph, found: Difference, got: Array, both: bool
    ) -> TensorDifference:
        node = region.nodes[-1]
        return TensorDifference(
            node=node.name,
            op=node.op_type,
            tensor=name,
            layer=layer.name,
            layer_kind=layer.kind,
            expected=found.expected,
            got=found.got,
            place=found.place,
            worst=found.worst,
            differing=got.size if found.beyond is None else int(np.count_nonzero(found.beyond)),
            elements=got.size,
            others=tuple(region.others[-8:]),
            oracles="both" if both else "reference" if self.by_reference else "onnxruntime",
            inputs=self._name,
        )

    def _known(self, names: tuple[str, ...]) -> dict[str, Array]:
        """Return ONNX's values of ``names``, by name. Tensors that no runtime can compute are left out."""
        found = {name: array for name, array in self._feeds.items() if name in names}
        stored = ((name, self._initializers.array(name)) for name in names)
        found.update((name, array) for name, array in stored if array is not None)
        found.update(self._expected.of([name for name in names if name not in found]))
        return found


def _largest(array: Array) -> float:
    """Return the largest finite magnitude of an array."""
    numbers = np.abs(array.astype(np.float64))
    return float(np.max(numbers[np.isfinite(numbers)], initial=0.0))


def _involves_double(expected: Array, known: Mapping[str, Array]) -> bool:
    """Return whether a tensor or one of its source tensors has the type DOUBLE."""
    return any(array.dtype == np.float64 for array in (expected, *known.values()))
