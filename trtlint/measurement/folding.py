"""Find the operators that TensorRT folds into stored weights before it converts the weights to FP16.

The parser converts a ``BatchNormalization`` with stored parameters to one scale and one shift for each
channel. The parser computes scale and shift in the type of the file:
https://github.com/onnx/onnx-tensorrt/blob/main/onnxOpImporters.cpp (``batchnormWeightHelper``).
The builder then fuses the scale into the preceding convolution, by changing the convolution's weights:
https://docs.nvidia.com/deeplearning/tensorrt/latest/performance/fusion-catalog.html
("Convolution and Scale"). So neither the variance nor the numbers between convolution and scale are ever
FP16. The builder also folds the operators that read only stored tensors.

trtlint folds operators only in FP32 models. A model with 16-bit types already sets the type of every tensor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field

from trtlint.measurement.writing import FormulaWriter
from trtlint.model.graph import WITH_BODIES, Graph, Node, Value
from trtlint.model.operators import RANDOM
from trtlint.model.tensors import TensorStore
from trtlint.model.values import Constants

Array = np.ndarray[Any, np.dtype[Any]]

_EPSILON = 1e-5
_SCALE, _SHIFT, _MEAN, _VARIANCE = range(1, 5)
_PARAMETERS = range(_SCALE, _VARIANCE + 1)
_WEIGHT, _BIAS = 1, 2
_LEAST_OPSET = 9
"""First opset in which BatchNormalization has no attribute ``spatial``."""
_SPATIAL_OPSET = 7
_UNFOLDED = WITH_BODIES | RANDOM | {"SequenceMap"}
"""Operators that the builder never folds into constants."""


class Affine(Struct, frozen=True):
    """A BatchNormalization as TensorRT computes it: ``scale * x + shift`` for each channel.

    Attributes:
        scale: one FP32 number per channel.
        shift: one FP32 number per channel. With a convolution, these numbers are the convolution's new bias.
        convolution: the node whose weights include the scale; None without a convolution.
    """

    scale: Array
    shift: Array
    convolution: Node | None = None


class Folding(Struct, frozen=True):
    """The operators of a model that TensorRT folds into stored weights.

    Attributes:
        affine: for the path of each folded BatchNormalization, its scale and shift.
        partner: maps the path of each convolution with a folded BatchNormalization to the path of the
            BatchNormalization, and vice versa.
        constants: paths of the nodes that read only stored tensors.
        hidden: values that TensorRT never converts to the low-precision type, because only folded nodes read
            them.
    """

    affine: Mapping[str, Affine] = field(default_factory=dict)
    partner: Mapping[str, str] = field(default_factory=dict)
    constants: frozenset[str] = frozenset()
    hidden: frozenset[Value] = frozenset()

    def together(self, path: str) -> frozenset[str]:
        """Return the paths of all nodes that TensorRT folds into the layer of the node ``path``."""
        return frozenset({path, self.partner.get(path, path)})


def find_folding(graph: Graph, tensors: TensorStore, opset: int) -> Folding:
    """Find the operators that TensorRT folds in an FP32 model."""
    constants = _constant_nodes(graph.nodes)
    known = Constants(graph, tensors)
    affine: dict[str, Affine] = {}
    partner: dict[str, str] = {}
    for node in graph.of_onnx("BatchNormalization"):
        found = _affine(node, known, opset)
        if found is None:
            continue
        joined = _into_convolution(node, found, known, constants)
        affine[node.path] = joined
        if joined.convolution is not None:
            partner |= {node.path: joined.convolution.path, joined.convolution.path: node.path}
    hidden = frozenset(
        value
        for same in graph.values.values()
        for value in same
        if value.uses
        and not value.is_output
        and not value.leaves_body
        and all(_folds_input(reader, port, affine, partner, constants) for reader, port in value.uses)
    )
    return Folding(affine, partner, constants, hidden)


def _folds_input(
    reader: Node,
    port: int,
    affine: Mapping[str, Affine],
    partner: Mapping[str, str],
    constants: frozenset[str],
) -> bool:
    """Return whether TensorRT folds input ``port`` of ``reader`` before it rounds this input."""
    if reader.path in constants:
        return True
    if reader.path in affine:
        return port in _PARAMETERS or affine[reader.path].convolution is not None
    return reader.path in partner and port in (_WEIGHT, _BIAS)


def _constant_nodes(nodes: Sequence[Node]) -> frozenset[str]:
    """Return the paths of the main graph's nodes that depend only on stored tensors."""
    found: set[str] = set()
    for node in nodes:
        if node.scope or node.domain or node.op in _UNFOLDED or node.op == "Constant":
            continue
        values = [value for value in node.inputs if value is not None]
        if values and all(_is_stored(value) or _made_by(value, found) for value in values):
            found.add(node.path)
    return frozenset(found)


def _is_stored(value: Value) -> bool:
    maker = value.producer
    if maker is None:
        return value.initializer is not None
    return maker.op == "Constant" and not maker.domain and not maker.scope


def _made_by(value: Value, paths: set[str] | frozenset[str]) -> bool:
    return value.producer is not None and value.producer.path in paths


def _affine(node: Node, known: Constants, opset: int) -> Affine | None:
    """Return scale and shift of a BatchNormalization, or None if TensorRT does not fold it.

    Scale and shift are computed in FP64 and returned in FP32.
    """
    if opset < _SPATIAL_OPSET or (opset < _LEAST_OPSET and node.integer("spatial", 1) != 1):
        return None
    rank = None if not node.inputs or node.inputs[0] is None else node.inputs[0].rank
    used = [value for value in node.outputs if value.name]
    if rank is None or rank < 2 or len(used) != 1 or node.integer("training_mode", 0):
        return None
    found: list[Array] = []
    for port in _PARAMETERS:
        value = node.input(port)
        array = None if value is None or value.dtype != "f32" else _numbers(value, known)
        if array is None or array.ndim != 1:
            return None
        found.append(array)
    scale, shift, mean, variance = found
    if len({array.size for array in found}) != 1:
        return None
    with np.errstate(all="ignore"):
        factor = scale / np.sqrt(variance + float(node.number("epsilon", _EPSILON)))
        moved = shift - mean * factor
    return _in_fp32(factor, moved)


def _in_fp32(scale: Array, shift: Array, convolution: Node | None = None) -> Affine | None:
    """Return scale and shift in FP32, or None if one of their numbers is not finite."""
    with np.errstate(all="ignore"):
        narrow = scale.astype(np.float32), shift.astype(np.float32)
    finite = all(bool(np.isfinite(each).all()) for each in narrow)
    return Affine(*narrow, convolution) if finite else None


def _numbers(value: Value | None, known: Constants) -> Array | None:
    """Return the elements of a stored value in FP64, or None if they are unknown."""
    array = known.array(value)
    if array is None or np.ma.is_masked(array):
        return None
    return np.asarray(array, np.float64)


def _into_convolution(node: Node, own: Affine, known: Constants, constants: frozenset[str]) -> Affine:
    """Fold a BatchNormalization into the preceding convolution.

    If this is not possible, for example because another node reads the convolution, return ``own`` unchanged.
    """
    value = node.input(0)
    conv = None if value is None else value.producer
    if value is None or conv is None or conv.op != "Conv" or conv.domain or conv.scope != node.scope:
        return own
    weight = conv.input(_WEIGHT)
    if value.is_output or value.leaves_body or len(value.uses) != 1 or weight is None or not weight.rank:
        return own
    if weight.dtype != "f32" or not (_is_stored(weight) or _made_by(weight, constants)):
        return own
    bias: Array | None = np.zeros(own.scale.size)
    if conv.input(_BIAS) is not None:
        bias = _numbers(conv.input(_BIAS), known)
    if bias is None or bias.shape != own.scale.shape:
        return own
    joined = own.shift.astype(np.float64) + bias * own.scale.astype(np.float64)
    return _in_fp32(own.scale, joined, conv) or own


def batch_normalization(node: Node, affine: Affine, tensor: str, write: FormulaWriter) -> str:
    """Add operators that compute a BatchNormalization as TensorRT does.

    Args:
        node: the BatchNormalization.
        affine: the scale and shift.
        tensor: name of the input; unused if a convolution includes the scale.
        write: writer of the graph.

    Returns:
        The name of the result before rounding.
    """
    conv = affine.convolution
    if conv is None:
        value = node.input(0)
        beyond = 0 if value is None or value.rank is None else value.rank - 2
        scale, shift = (
            write.parameter(write.constant(each.reshape(-1, *[1] * beyond)))
            for each in (affine.scale, affine.shift)
        )
        return write.add("Add", [write.add("Mul", [tensor, scale]), shift])
    source, weight = conv.input(0), conv.input(_WEIGHT)
    beyond = 0 if weight is None or weight.rank is None else weight.rank - 2
    scale = write.constant(affine.scale.reshape(-1, *[1] * (beyond + 1)))
    weights = write.stored(write.add("Mul", [write.read(weight, rounded=False), scale]))
    (product,) = write.add_copy(conv.proto, [write.read(source, rounded=True), weights], conv)
    product = write.step(node, product)
    shift = write.parameter(write.constant(affine.shift.reshape(-1, *[1] * beyond)))
    return write.add("Add", [product, shift])
