"""Half precision with ONNX's reference evaluator, independent of trtlint's arithmetic and code.

The model is converted to FP16 for real, each float tensor and constant, and every operator is computed by
numpy in that type (https://github.com/onnx/onnx/tree/main/onnx/reference).  Nodes that are kept compute in
FP32 between Casts.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, defs, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from onnx.reference.ops import op_layer_normalization
from onnx.reference.ops.op_rms_normalization import _rms_normalization

Array = np.ndarray[Any, np.dtype[Any]]
Feeds = Mapping[str, Array]
FLOAT, HALF = TensorProto.FLOAT, TensorProto.FLOAT16


class LayerNormalization(OpRun):
    """LayerNormalization with FP32 statistics by ``stash_type``, which the reference ignores."""

    op_domain = ""

    def _run(self, x, scale, bias=None, axis=None, epsilon=None, stash_type=None):  # type: ignore[no-untyped-def]
        compute: Any = op_layer_normalization._layer_normalization
        wide = [None if each is None else each.astype(np.float32) for each in (x, scale, bias)]
        return tuple(y.astype(x.dtype) for y in compute(*wide, axis=axis, epsilon=epsilon))


class InstanceNormalization(OpRun):
    """InstanceNormalization with FP32 statistics, the default of TensorRT's layer."""

    op_domain = ""

    def _run(self, x, scale, bias, epsilon=None):  # type: ignore[no-untyped-def]
        wide, axes = x.astype(np.float32), tuple(range(2, x.ndim))
        centred = wide - wide.mean(axis=axes, keepdims=True)
        root = np.sqrt(np.square(centred).mean(axis=axes, keepdims=True) + np.float32(epsilon))
        shape = (-1, *[1] * (x.ndim - 2))
        scaled = scale.astype(np.float32).reshape(shape) * centred / root
        return ((scaled + bias.astype(np.float32).reshape(shape)).astype(x.dtype),)


class RMSNormalization(OpRun):
    """RMSNormalization with FP32 statistics."""

    op_domain = ""

    def _run(self, x, scale, axis=None, epsilon=None, stash_type=None):  # type: ignore[no-untyped-def]
        wide = x.astype(np.float32), scale.astype(np.float32)
        return (_rms_normalization(*wide, axis=axis, epsilon=epsilon).astype(x.dtype),)


@dataclass(frozen=True)
class Truth:
    """Effects of half precision on a model.

    Attributes:
        origins: nodes with finite inputs and a non-finite output that is finite in FP32.
        errors: by output, max|difference| / max|FP32|, None where it is not finite.
        full: every tensor in FP32.
    """

    origins: frozenset[str]
    errors: dict[str, float | None]
    full: dict[str, Array]


def names(model: ModelProto) -> list[str]:
    """Return the nodes by their trtlint names."""
    return [node.name or f"{node.op_type}_{index}" for index, node in enumerate(model.graph.node)]


def run(model: ModelProto, feeds: Feeds) -> dict[str, Array]:
    """Return every tensor of a model."""
    with np.errstate(all="ignore"):
        evaluator: Any = ReferenceEvaluator(
            model, new_ops=[LayerNormalization, InstanceNormalization, RMSNormalization]
        )
        found: dict[str, Array] = evaluator.run(None, dict(feeds), intermediate=True)
    return found


def truth(model: ModelProto, feeds: Feeds) -> Truth:
    """Return the effects of half precision on a model."""
    full, half = run(model, feeds), run(halved(model), feeds)
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}

    def finite(name: str, tensors: Mapping[str, Array]) -> bool:
        tensor = np.asarray(constants.get(name, tensors.get(f"{name}__h", tensors.get(name, 0))))
        return tensor.dtype.kind != "f" or bool(np.isfinite(tensor).all())

    origins = frozenset(
        name
        for node, name in zip(model.graph.node, names(model), strict=True)
        if any(output and not finite(output, half) and finite(output, full) for output in node.output)
        and all(finite(each, half) for each in node.input if each)
    )
    return Truth(origins, errors(model, full, half), full)


def errors(
    model: ModelProto, full: Mapping[str, Array], half: Mapping[str, Array]
) -> dict[str, float | None]:
    """Return the half-precision error of each output, without outputs that are infinite in FP32."""
    found: dict[str, float | None] = {}
    for output in model.graph.output:
        right, other = (np.asarray(tensors[output.name]) for tensors in (full, half))
        if right.dtype.kind != "f" or not np.isfinite(right).all():
            continue
        if right.shape != other.shape or not np.isfinite(other).all():
            found[output.name] = None
        else:
            difference = np.abs(right.astype(np.float64) - other).max(initial=0)
            found[output.name] = float(difference / (np.abs(right).max(initial=0) or 1))
    return found


def kept_error(model: ModelProto, feeds: Feeds, keep: Sequence[str], full: Mapping[str, Array]) -> float:
    """Return the largest error with these nodes in FP32, infinite if an output is not finite."""
    found = errors(model, full, run(halved(model, frozenset(keep)), feeds))
    return max((float("inf") if error is None else error for error in found.values()), default=0.0)


def halved(model: ModelProto, keep: frozenset[str] = frozenset()) -> ModelProto:
    """Return the model in FP16 except some nodes. Constants beyond FP16 become its largest number."""
    return _Halving(model, keep).result()


class _Halving:
    def __init__(self, model: ModelProto, keep: frozenset[str]) -> None:
        self.model = copy.deepcopy(model)
        self.keep = keep
        inferred = onnx.shape_inference.infer_shapes(model).graph
        self.types = {
            info.name: info.type.tensor_type.elem_type
            for info in (*inferred.value_info, *inferred.input, *inferred.output)
        }
        self.types.update((tensor.name, tensor.data_type) for tensor in model.graph.initializer)
        self.both = {info.name for info in model.graph.input}
        self.both |= {tensor.name for tensor in model.graph.initializer}
        self.has: dict[str, int] = {}
        self.nodes: list[onnx.NodeProto] = []

    def result(self) -> ModelProto:
        graph = self.model.graph
        for info in graph.input:
            if self.types[info.name] == FLOAT:
                self.nodes.append(helper.make_node("Cast", [info.name], [f"{info.name}__h"], to=HALF))
        for tensor in list(graph.initializer):
            if tensor.data_type == FLOAT:
                graph.initializer.append(_half(tensor, f"{tensor.name}__h"))
        for node, name in zip(list(graph.node), names(self.model), strict=True):
            self._node(node, name in self.keep)
        del graph.node[:], graph.value_info[:]
        graph.node.extend(self.nodes)
        for output in graph.output:
            if self.has.get(output.name) == HALF:
                output.type.tensor_type.elem_type = HALF
        return self.model

    def _read(self, name: str, wanted: int) -> str:
        if self.types.get(name) != FLOAT or (name in self.both and wanted == FLOAT):
            return name
        other = f"{name}__{'h' if wanted == HALF else 'f'}"
        if name in self.both:
            return other
        if self.has.get(name) == wanted:
            return name
        if other not in self.has:
            self.nodes.append(helper.make_node("Cast", [name], [other], to=wanted))
            self.has[other] = wanted
        return other

    def _node(self, node: onnx.NodeProto, kept: bool) -> None:
        reads, writes = _ports(node, self.model)
        for port, name in enumerate(node.input):
            node.input[port] = self._read(name, HALF if not kept and reads(port) else FLOAT)
        if not kept:
            _halve_attributes(node)
        self.nodes.append(node)
        for port, name in enumerate(node.output):
            if self.types.get(name) == FLOAT:
                self.has[name] = HALF if not kept and writes(port) else FLOAT


def _ports(node: onnx.NodeProto, model: ModelProto) -> tuple[Callable[[int], bool], Callable[[int], bool]]:
    opset = next(entry.version for entry in model.opset_import if entry.domain == node.domain)
    schema = defs.get_schema(node.op_type, opset, node.domain)
    allowed = {entry.type_param_str: entry.allowed_type_strs for entry in schema.type_constraints}

    def takes(ports: Sequence[Any]) -> Callable[[int], bool]:
        def at(port: int) -> bool:
            type_ = ports[min(port, len(ports) - 1)].type_str
            return "tensor(float16)" in allowed.get(type_, [type_])

        return at

    return takes(schema.inputs), takes(schema.outputs)


def _halve_attributes(node: onnx.NodeProto) -> None:
    for attribute in node.attribute:
        if attribute.name in ("to", "dtype") and attribute.i == FLOAT:
            attribute.i = HALF
        elif attribute.name == "value" and attribute.t.data_type == FLOAT:
            attribute.t.CopyFrom(_half(attribute.t, ""))
        elif attribute.name == "value_float":
            value = numpy_helper.from_array(np.float16(attribute.f))
            attribute.CopyFrom(helper.make_attribute("value", value))
    if node.op_type == "ConstantOfShape" and not node.attribute:
        zero = numpy_helper.from_array(np.zeros(1, np.float16))
        node.attribute.append(helper.make_attribute("value", zero))


def _half(tensor: TensorProto, name: str) -> TensorProto:
    array = numpy_helper.to_array(tensor)
    clipped = np.where(np.isfinite(array), np.clip(array, -65504, 65504), array)
    return numpy_helper.from_array(clipped.astype(np.float16), name)
