"""Narrow arithmetic with numpy and ONNX's reference evaluator, without code of :mod:`trtlint.measurement`.

The reference evaluator computes each operator in FP32. This module then rounds the tensors that the rounding
scheme names, with numpy's ``float16``. Operators with internal sums or squares have their own code here. FP16
accumulators add 16 terms at a time, and round after each step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, helper
from onnx.reference import ReferenceEvaluator

Array = np.ndarray[Any, np.dtype[Any]]
WAYS = ("rounded", "fused", "accumulated")
EVERY = (*WAYS, "unclamped")
"""The three rounding schemes, and ``unclamped``, in which constants beyond the range of FP16 are infinite."""
LARGEST = np.float32(65504)
PRODUCTS = {"MatMul": 2, "Gemm": 2, "Conv": 2, "ConvTranspose": 2, "Einsum": 9, "LSTM": 3, "GRU": 3, "RNN": 3}
"""Products, with the number of their operands."""
TERMS = 16


def half(array: Array) -> Array:
    """Round to FP16, and convert back."""
    if array.dtype != np.float32:
        return array
    with np.errstate(over="ignore"):
        return array.astype(np.float16).astype(np.float32)


def tf32(array: Array) -> Array:
    """Round to ten bits of mantissa, to nearest even."""
    if array.dtype != np.float32:
        return array
    bits = np.ascontiguousarray(array).view(np.uint32).astype(np.uint64)
    bits = (bits + 0xFFF + ((bits >> 13) & 1)) & ~np.uint64(0x1FFF)
    rounded = bits.astype(np.uint32).view(np.float32).reshape(array.shape)
    return np.where(np.isfinite(array), rounded, array).astype(np.float32)


class Judge:
    """An FP32 model that is computed in several rounding schemes.

    Args:
        model: the model, without model-local functions.
        feeds: its inputs.
    """

    def __init__(self, model: ModelProto, feeds: Mapping[str, Array]) -> None:
        self.model = model
        self.feeds = feeds
        self.session: Any = ReferenceEvaluator(model)
        self.opset = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
        self.outputs = [info.name for info in model.graph.output]
        self.exact = self.run("exact")

    def error(self, way: str, keep: frozenset[str] = frozenset()) -> float | None:
        """Return the largest relative difference of an output; None if an output is not finite."""
        found, worst = self.run(way, keep), 0.0
        for name in self.outputs:
            right, other = self.exact[name], found[name]
            if right.dtype.kind != "f" or not right.size or not np.isfinite(right).all():
                continue
            if not np.isfinite(other).all():
                return None
            difference = float(np.abs(right.astype(np.float64) - other).max())
            magnitude = float(np.abs(right).max())
            worst = max(worst, difference / magnitude if magnitude else math.inf if difference else 0.0)
        return worst

    @property
    def judged(self) -> bool:
        """Return whether an output consists of floats and is finite in FP32."""
        found = (self.exact[name] for name in self.outputs)
        return any(each.dtype.kind == "f" and np.isfinite(each).all() for each in found)

    def run(self, way: str, keep: frozenset[str] = frozenset()) -> dict[str, Array]:
        """Compute the model and return its outputs."""
        values: dict[str, Any] = {"": None, **self.feeds, **self.session.rt_inits_}
        stored = set(self.session.rt_inits_)
        paths = names_of([node.onnx_node for node in self.session.rt_nodes_])
        with np.errstate(all="ignore"):
            for path, node in zip(paths, self.session.rt_nodes_, strict=True):
                proto = node.onnx_node
                inputs = [values[name] for name in proto.input]
                folded = proto.op_type == "Constant" or (
                    bool(proto.input) and all(name in stored for name in proto.input if name)
                )
                if folded:
                    stored.update(proto.output)
                if way == "exact" or folded or path in keep:
                    found = compute(node, inputs, values)
                else:
                    clamped = {
                        port: np.where(np.isfinite(array), np.clip(array, -LARGEST, LARGEST), array)
                        for port, array in enumerate(inputs)
                        if proto.input[port] in stored
                        and array is not None
                        and array.dtype == np.float32
                        and way != "unclamped"
                    }
                    found = self._narrow(
                        node,
                        [clamped.get(port, each) for port, each in enumerate(inputs)],
                        values,
                        way,
                        inputs,
                    )
                values.update(zip(proto.output, found, strict=False))
        outputs = {name: values[name] for name in self.outputs}
        if way == "fused":
            exact = {
                name
                for path, node in zip(paths, self.session.rt_nodes_, strict=True)
                if path in keep
                for name in node.onnx_node.output
            }
            outputs = {name: each if name in exact else half(each) for name, each in outputs.items()}
        return outputs

    def _narrow(
        self, node: Any, inputs: list[Any], values: Mapping[str, Any], way: str, whole: list[Any]
    ) -> list[Array]:
        proto = node.onnx_node
        operands = PRODUCTS.get(proto.op_type, 0)
        if way in ("fused", "tf32"):
            rounding = half if way == "fused" else tf32
            ported = [
                rounding(narrow) if port < operands and narrow is not None else each
                for port, (narrow, each) in enumerate(zip(inputs, whole, strict=True))
            ]
            found = compute(node, ported, values)
            return [half(each) for each in found] if operands and way == "fused" else found
        rounded = [None if each is None else half(each) for each in inputs]
        if proto.op_type in ("Resize", "Upsample"):
            rounded[1:] = whole[1:]
        own = OWN.get(proto.op_type)
        computed: Array | None = None
        if own is not None:
            attributes = {each.name: helper.get_attribute_value(each) for each in proto.attribute}
            computed = own(rounded, attributes, self.opset, way == "accumulated")
        if computed is not None:
            return [half(computed)]
        return [
            half(each) if isinstance(each, np.ndarray) else each for each in compute(node, rounded, values)
        ]


def compute(node: Any, inputs: Sequence[Any], values: Mapping[str, Any]) -> list[Any]:
    """Compute an operator with the reference evaluator."""
    context = {"context": dict(values)} if node.need_context() else {}
    found = list(node.run(*inputs, **context))
    # The reference gives FP64 for some operators of FP32.
    wide = any(each is not None and getattr(each, "dtype", None) == np.float64 for each in inputs)
    return [
        each.astype(np.float32)
        if isinstance(each, np.ndarray | np.floating) and each.dtype == np.float64 and not wide
        else np.asarray(each)
        if isinstance(each, np.generic)
        else each
        for each in found
    ]


def names_of(nodes: Sequence[NodeProto]) -> list[str]:
    """Return the names of nodes as trtlint uses them: node name, or operator with position."""
    return [node.name or f"{node.op_type}_{index}" for index, node in enumerate(nodes)]


def _axes(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> tuple[int, ...] | None:
    given = attributes.get("axes")
    if given is None and len(inputs) > 1 and inputs[1] is not None:
        given = inputs[1].tolist()
    return None if given is None else tuple(given)


def _total(array: Array, axes: tuple[int, ...] | None, attributes: Mapping[str, Any]) -> Array:
    along = tuple(range(array.ndim)) if axes is None else axes
    total = np.asarray(array.sum(axis=along, dtype=np.float64))
    if attributes.get("keepdims", 1):
        total = np.expand_dims(total, tuple(axis % array.ndim for axis in along))
    return half(total.astype(np.float32))


def _mean(inputs: list[Any], attributes: Mapping[str, Any], opset: int, accumulate: bool) -> Array:  # noqa: ARG001
    total = _total(inputs[0], _axes(inputs, attributes), attributes)
    return np.asarray(total / np.float32(inputs[0].size / max(1, total.size)))


def _squares(inputs: list[Any], attributes: Mapping[str, Any], opset: int, accumulate: bool) -> Array:  # noqa: ARG001
    return _total(half(inputs[0] * inputs[0]), _axes(inputs, attributes), attributes)


def _length(inputs: list[Any], attributes: Mapping[str, Any], opset: int, accumulate: bool) -> Array:
    return np.asarray(np.sqrt(_squares(inputs, attributes, opset, accumulate)))


def _softmax(inputs: list[Any], attributes: Mapping[str, Any], opset: int, accumulate: bool) -> Array | None:  # noqa: ARG001
    if opset < 13:
        return None
    axis = int(attributes.get("axis", -1))
    powers = half(np.exp(half(inputs[0] - inputs[0].max(axis=axis, keepdims=True))))
    return np.asarray(powers / half(powers.sum(axis=axis, keepdims=True)))


def multiplied(first: Array, second: Array, accumulate: bool) -> Array:
    """Compute a matrix product. With FP16 accumulators, add 16 terms at a time."""
    if not accumulate or first.shape[-1] <= TERMS:
        return np.asarray(np.matmul(first, second))
    total: Any = np.float32(0)
    for start in range(0, first.shape[-1], TERMS):
        part = np.matmul(first[..., start : start + TERMS], second[..., start : start + TERMS, :])
        total = half(np.asarray(total + part, np.float32))
    return np.asarray(total)


def _matmul(inputs: list[Any], attributes: Mapping[str, Any], opset: int, accumulate: bool) -> Array | None:  # noqa: ARG001
    if inputs[1].ndim < 2 or inputs[0].dtype != np.float32:
        return None
    return multiplied(inputs[0], inputs[1], accumulate)


def _gemm(inputs: list[Any], attributes: Mapping[str, Any], opset: int, accumulate: bool) -> Array:  # noqa: ARG001
    first = inputs[0].T if attributes.get("transA", 0) else inputs[0]
    second = inputs[1].T if attributes.get("transB", 0) else inputs[1]
    found = multiplied(first, second, accumulate) * np.float32(attributes.get("alpha", 1.0))
    if len(inputs) < 3 or inputs[2] is None:
        return np.asarray(found)
    return np.asarray(half(found) + np.float32(attributes.get("beta", 1.0)) * inputs[2])


def _convolution(
    inputs: list[Any],
    attributes: Mapping[str, Any],
    opset: int,  # noqa: ARG001
    accumulate: bool,
) -> Array | None:
    """Compute a convolution as a matrix product of image columns."""
    data, weight = inputs[:2]
    spatial = weight.ndim - 2
    pads = list(attributes.get("pads", [0] * (2 * spatial)))
    if attributes.get("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID"):
        return None
    strides = list(attributes.get("strides", [1] * spatial))
    steps = list(attributes.get("dilations", [1] * spatial))
    groups = int(attributes.get("group", 1))
    padded = np.pad(data, [(0, 0), (0, 0), *((pads[axis], pads[spatial + axis]) for axis in range(spatial))])
    sizes = [
        (padded.shape[2 + axis] - steps[axis] * (weight.shape[2 + axis] - 1) - 1) // strides[axis] + 1
        for axis in range(spatial)
    ]
    columns = []
    for place in product(*(range(size) for size in weight.shape[2:])):
        cut = tuple(
            slice(at * step, at * step + (size - 1) * stride + 1, stride)
            for at, step, size, stride in zip(place, steps, sizes, strides, strict=True)
        )
        whole = slice(None), slice(None)
        columns.append(padded[whole + cut].reshape(*data.shape[:2], -1))
    stacked = np.stack(columns, axis=2)  # batch, channel, place, position
    per, out = data.shape[1] // groups, weight.shape[0] // groups
    found = []
    for group in range(groups):
        matrix = stacked[:, group * per : (group + 1) * per].reshape(data.shape[0], -1, stacked.shape[-1])
        kernel = weight[group * out : (group + 1) * out].reshape(out, -1)
        found.append(multiplied(kernel[None], matrix, accumulate and groups == 1))
    result = np.concatenate(found, axis=1).reshape(data.shape[0], weight.shape[0], *sizes)
    if len(inputs) < 3 or inputs[2] is None:
        return result
    return np.asarray(half(result) + inputs[2].reshape(-1, *[1] * spatial))


OWN: Mapping[str, Callable[[list[Any], Mapping[str, Any], int, bool], Array | None]] = {
    "ReduceMean": _mean,
    "ReduceSumSquare": _squares,
    "ReduceL2": _length,
    "Softmax": _softmax,
    "MatMul": _matmul,
    "Gemm": _gemm,
    "Conv": _convolution,
}


def without_functions(model: ModelProto) -> ModelProto:
    """Inline the model-local functions of a model."""
    from onnx import inliner

    return inliner.inline_local_functions(model) if model.functions else model


def stored_feeds(path: str) -> dict[str, Array]:
    """Return the inputs in an archive."""
    with np.load(path) as archive:
        return {name: archive[name] for name in archive.files}
