"""Convert a layer of TensorRT to ONNX operators that compute the same result.

Layers: https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/operators/index.html
Operators: https://onnx.ai/onnx/operators/
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

Tensor = tuple[str, str, Any]
"""Name, TensorRT element type and shape of a tensor.

A dynamic size is -1. The shape is None if the rank is unknown.
"""
_FOREIGN = "tensorrt"
"""Domain of operators that represent layers for which ONNX has no operator."""
TYPES: Mapping[str, int] = {
    "FLOAT": 1, "UINT8": 2, "INT8": 3, "INT32": 6, "INT64": 7, "BOOL": 9, "HALF": 10, "BF16": 16, "FP8": 17,
    "INT4": 22, "FP4": 23,
}  # fmt: skip
"""For TensorRT's name of each element type, the number of the type in ONNX.

https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/python-api/infer/FoundationalTypes/DataType.html
"""

_ELEMENTWISE: Mapping[str, str] = {
    "SUM": "Add", "PROD": "Mul", "MAX": "Max", "MIN": "Min", "SUB": "Sub", "DIV": "Div", "POW": "Pow",
    "AND": "And", "OR": "Or", "XOR": "Xor", "EQUAL": "Equal", "GREATER": "Greater", "LESS": "Less",
}  # fmt: skip
_ACTIVATIONS: Mapping[str, str] = {
    "RELU": "Relu", "SIGMOID": "Sigmoid", "TANH": "Tanh", "LEAKY_RELU": "LeakyRelu", "ELU": "Elu",
    "SELU": "Selu", "SOFTSIGN": "Softsign", "SOFTPLUS": "Softplus", "HARD_SIGMOID": "HardSigmoid",
    "THRESHOLDED_RELU": "ThresholdedRelu", "GELU_ERF": "Gelu", "GELU_TANH": "Gelu",
}  # fmt: skip
_PARAMETERS: Mapping[str, int] = {"LeakyRelu": 1, "Elu": 1, "ThresholdedRelu": 1, "HardSigmoid": 2}
"""Number of parameters of an activation: the first is ``alpha``, the second ``beta``."""
_UNARY: Mapping[str, str] = {
    "EXP": "Exp", "LOG": "Log", "SQRT": "Sqrt", "RECIP": "Reciprocal", "ABS": "Abs", "NEG": "Neg",
    "SIN": "Sin", "COS": "Cos", "TAN": "Tan", "ERF": "Erf", "CEIL": "Ceil", "FLOOR": "Floor",
    "ROUND": "Round", "SIGN": "Sign", "NOT": "Not", "ISINF": "IsInf", "ISNAN": "IsNaN",
}  # fmt: skip
_REDUCE: Mapping[str, str] = {
    "SUM": "ReduceSum", "PROD": "ReduceProd", "MAX": "ReduceMax", "MIN": "ReduceMin", "AVG": "ReduceMean",
}  # fmt: skip
_POOLING: Mapping[str, str] = {"MAX": "MaxPool", "AVERAGE": "AveragePool"}
_TRAILING: Mapping[str, str] = {
    "SELECT": "Where", "EINSUM": "Einsum", "SHAPE": "Shape", "NON_ZERO": "NonZero", "IDENTITY": "Identity",
    "ATTENTION_OUTPUT": "Identity",
}  # fmt: skip
"""Layers that correspond to a single ONNX operator.  Layer and operator have the same inputs."""


class Substitute(Struct, frozen=True):
    """One of the ONNX operators that replace a layer.

    The first input of the operator is the result of the previous operator for the same layer.

    Attributes:
        op: the operator.
        attributes: the attributes of the operator.
        stored: the type, shape and bytes of each stored input. Stored inputs come after all other inputs of
            the operator.
        rest: true if the operator also has the second and all later inputs of the layer.
        shape: shape of the result. The last operator of a layer needs no shape.
        domain: the domain of the operator.
    """

    op: str
    attributes: tuple[tuple[str, Any], ...] = ()
    stored: tuple[tuple[str, Sequence[int], bytes | None], ...] = ()
    rest: bool = True
    shape: Any = None
    domain: str = ""


class Operators:
    """The ONNX operators for one layer.

    Args:
        kind: the kind of the layer.
        settings: the attributes of the layer, as in TensorRT's Python API.
        inputs: the inputs of the layer.
        outputs: the outputs of the layer.
    """

    def __init__(
        self,
        kind: str,
        settings: Mapping[str, Any],
        inputs: Sequence[Tensor | None],
        outputs: Sequence[Tensor],
    ) -> None:
        self._kind, self._settings = kind, settings
        self._inputs, self._outputs = inputs, outputs

    def made(self) -> list[Substitute]:
        """Return the operators in the order of computation."""
        found = _MAKERS.get(self._kind, Operators._one)(self)
        return found or [Substitute(self._kind, domain=_FOREIGN)]

    def _one(self) -> list[Substitute]:
        op = _TRAILING.get(self._kind)
        return [] if op is None else [Substitute(op, self._kept("equation"))]

    def _named(self, table: Mapping[str, str], key: str) -> str | None:
        return table.get(str(self._settings.get(key)))

    def _kept(self, *names: str) -> tuple[tuple[str, Any], ...]:
        return tuple((name, self._settings[name]) for name in names if name in self._settings)

    def _shape(self, port: int = 0) -> Sequence[int] | None:
        found = self._inputs[port] if port < len(self._inputs) else None
        return None if found is None else found[2]

    def _output(self) -> Tensor:
        """Return the only output."""
        (found,) = self._outputs
        return found

    def _operation(self) -> list[Substitute]:
        op = self._named(_UNARY if self._kind == "UNARY" else _ELEMENTWISE, "op")
        return [] if op is None else [Substitute(op)]

    def _activation(self) -> list[Substitute]:
        alpha, beta = self._settings.get("alpha", 0.0), self._settings.get("beta", 0.0)
        if self._settings.get("type") == "CLIP":
            bounds = [("FLOAT", (), struct.pack("<f", float(each))) for each in (alpha, beta)]
            return [Substitute("Clip", stored=tuple(bounds))]
        op = self._named(_ACTIVATIONS, "type")
        if op is None:
            return []
        given = (("alpha", float(alpha)), ("beta", float(beta)))
        return [Substitute(op, given[: _PARAMETERS.get(op, 0)])]

    def _reduce(self) -> list[Substitute]:
        op = self._named(_REDUCE, "op")
        axes = _axes(self._settings.get("axes"))
        if op is None or axes is None:
            return []
        keep = int(bool(self._settings.get("keep_dims")))
        return [Substitute(op, (("keepdims", keep),), (_integers(axes),), rest=False)]

    def _softmax(self) -> list[Substitute]:
        axes = _axes(self._settings.get("axes"))
        if axes is None or len(axes) != 1:
            return []
        (axis,) = axes
        return [Substitute("Softmax", (("axis", axis),))]

    def _cast(self) -> list[Substitute]:
        (before,) = self._inputs
        same = before is not None and before[1] == self._output()[1]
        return [Substitute("Identity")] if same else [Substitute("Cast", (("to", TYPES[self._output()[1]]),))]

    def _shuffle(self) -> list[Substitute]:
        """Return ``Transpose``, ``Reshape`` and ``Transpose``. Operators without effect are left out."""
        before, after = self._shape(), self._output()[2]
        if before is None or after is None:
            return []
        first = _permutation(self._settings.get("first_transpose"), len(before))
        second = _permutation(self._settings.get("second_transpose"), len(after))
        middle = [before[axis] for axis in first]
        inner = [after[second.index(axis)] for axis in range(len(after))]
        found: list[Substitute] = []
        if _moves(first, before):
            found.append(Substitute("Transpose", (("perm", first),), rest=False, shape=middle))
        computed = len(self._inputs) > 1 and self._inputs[1] is not None
        if computed or list(before if not found else middle) != inner:
            stored = () if computed else (_integers(inner),)
            found.append(Substitute("Reshape", (), stored, rest=computed, shape=inner))
        if _moves(second, inner):
            found.append(Substitute("Transpose", (("perm", second),), rest=False))
        elif found and inner != list(after):
            found.append(Substitute("Reshape", (), (_integers(after),), rest=False))
        return found or [Substitute("Identity", rest=False)]

    def _slice(self) -> list[Substitute]:
        before, after = self._shape(), self._output()[2]
        start, stride = self._settings.get("start"), self._settings.get("stride")
        size = self._settings.get("shape")
        plain = self._settings.get("mode") in ("STRICT_BOUNDS", "DEFAULT") and len(self._inputs) == 1
        if not plain or before is None or after is None or start is None or stride is None or size is None:
            return []
        if self._settings.get("axes") is not None or not len(before) == len(start) == len(stride):
            return []
        repeated = [axis for axis, step in enumerate(stride) if step == 0]
        if repeated:
            whole = all(
                before[axis] == 1 if axis in repeated else before[axis] == after[axis]
                for axis in range(len(before))
            )
            return [Substitute("Expand", (), (_integers(after),))] if whole else []
        if list(before) == list(after) and set(start) <= {0} and set(stride) <= {1} and -1 not in before:
            return [Substitute("Identity")]
        cut = [
            axis
            for axis in range(len(before))
            if not (start[axis] == 0 and stride[axis] == 1 and before[axis] == after[axis])
        ]
        if any(after[axis] < 0 or stride[axis] < 1 for axis in cut):
            return []
        ends = [start[axis] + (after[axis] - 1) * stride[axis] + 1 for axis in cut]
        bounds = [start[axis] for axis in cut], ends, cut, [stride[axis] for axis in cut]
        return [Substitute("Slice", (), tuple(map(_integers, bounds)))]

    def _matrix_multiply(self) -> list[Substitute]:
        ops = self._settings.get("op0"), self._settings.get("op1")
        return [Substitute("MatMul")] if set(ops) <= {"NONE", "TRANSPOSE"} else []

    def _kernel(self) -> list[Substitute]:
        op = "Conv" if self._kind == "CONVOLUTION" else "ConvTranspose"
        size, before, after = self._settings.get("kernel_size_nd"), self._shape(), self._output()[2]
        if size is None or before is None or after is None:
            return []
        groups = int(self._settings.get("num_groups") or 1)
        maps = int(self._settings["num_output_maps"])
        first, second = (maps, before[1]) if op == "Conv" else (before[1], maps)
        stored: list[tuple[str, Sequence[int], bytes | None]] = []
        if self._settings.get("kernel"):
            channels = max(second, 0) // groups
            stored.append((self._output()[1], [first, channels, *size], None))
            if self._settings.get("bias"):
                stored.append((self._output()[1], [maps], None))
        padding = [*(self._settings.get("pre_padding") or ()), *(self._settings.get("post_padding") or ())]
        attributes: list[tuple[str, Any]] = [("group", groups), ("kernel_shape", list(size))]
        for name, key in (("strides", "stride_nd"), ("dilations", "dilation_nd")):
            if self._settings.get(key):
                attributes.append((name, list(self._settings[key])))
        if len(padding) == 2 * len(size):
            attributes.append(("pads", padding))
        return [Substitute(op, tuple(attributes), tuple(stored))]

    def _scale(self) -> list[Substitute]:
        """Return the ``Mul`` that scales each channel, and the ``Add`` that shifts each channel."""
        before = self._shape()
        if before is None or self._settings.get("power"):
            return []
        axis = int(self._settings.get("channel_axis", 1))
        found = []
        for op, name in (("Mul", "scale"), ("Add", "shift")):
            if size := self._settings.get(name):
                shape = [1] * len(before)
                if axis < len(shape):
                    shape[axis] = size
                found.append(Substitute(op, (), ((self._output()[1], shape, None),), shape=before))
        return found or [Substitute("Identity")]

    def _normalization(self) -> list[Substitute]:
        """Return the normalization over the last axes or over groups of channels."""
        shape, axes = self._shape(), _axes(self._settings.get("axes"))
        if shape is None or not axes:
            return []
        epsilon = ("epsilon", float(self._settings.get("epsilon", 1e-5)))
        half = self._settings.get("compute_precision") == "HALF"
        stash = ("stash_type", TYPES["HALF" if half else "FLOAT"])
        groups = self._settings.get("num_groups")
        if groups and groups > 1:
            return [Substitute("GroupNormalization", (epsilon, stash, ("num_groups", groups)))]
        if axes != tuple(range(len(shape) - len(axes), len(shape))):
            return []
        if axes[0] > 1 and self._per_channel():
            return [Substitute("InstanceNormalization", (epsilon,))]
        return [Substitute("LayerNormalization", (epsilon, stash, ("axis", axes[0])))]

    def _per_channel(self) -> bool:
        """Return whether the weight of a normalization has one value for each channel."""
        shape, weight = self._shape(), self._shape(1)
        if shape is None or weight is None or len(weight) != len(shape) or len(shape) < 3:
            return False
        return weight[1] == shape[1] and all(size == 1 for size in weight[2:])

    def _pooling(self) -> list[Substitute]:
        op, size = self._named(_POOLING, "type"), self._settings.get("window_size_nd")
        return [] if op is None or size is None else [Substitute(op, (("kernel_shape", list(size)),))]

    def _concatenation(self) -> list[Substitute]:
        return [Substitute("Concat", (("axis", int(self._settings.get("axis", 0))),))]

    def _gather(self) -> list[Substitute]:
        plain = self._settings.get("mode") in (None, "DEFAULT")
        batched = self._settings.get("num_elementwise_dims")
        axis = int(self._settings.get("axis", 0))
        return [Substitute("Gather", (("axis", axis),))] if plain and not batched else []

    def _attention(self) -> list[Substitute]:
        """Return the operator ``Attention``. Its scale is 1, because the layer does not scale the scores."""
        causal = int(bool(self._settings.get("causal")))
        return [Substitute("Attention", (("scale", 1.0), ("is_causal", causal)))]


def _axes(mask: Any) -> tuple[int, ...] | None:
    """Return the indexes of the axes whose bits are set in a mask, or None if the mask is invalid."""
    return None if not isinstance(mask, int) else tuple(axis for axis in range(8) if mask >> axis & 1)


def _permutation(order: Any, rank: int) -> list[int]:
    """Return the order of the first ``rank`` axes. TensorRT always stores eight axes."""
    found = [int(axis) for axis in (order or ())[:rank]]
    return found if sorted(found) == list(range(rank)) else list(range(rank))


def _moves(order: Sequence[int], shape: Sequence[int]) -> bool:
    """Return whether a transpose changes the order of elements. Moving an axis of size 1 does not."""
    long = [axis for axis in order if shape[axis] != 1]
    return long != sorted(long)


def _integers(numbers: Sequence[int]) -> tuple[str, Sequence[int], bytes]:
    return "INT64", (len(numbers),), struct.pack(f"<{len(numbers)}q", *map(int, numbers))


_MAKERS: Mapping[str, Callable[[Operators], list[Substitute]]] = {
    "ELEMENTWISE": Operators._operation,
    "UNARY": Operators._operation,
    "ACTIVATION": Operators._activation,
    "REDUCE": Operators._reduce,
    "SOFTMAX": Operators._softmax,
    "CAST": Operators._cast,
    "SHUFFLE": Operators._shuffle,
    "SLICE": Operators._slice,
    "MATRIX_MULTIPLY": Operators._matrix_multiply,
    "CONVOLUTION": Operators._kernel,
    "DECONVOLUTION": Operators._kernel,
    "SCALE": Operators._scale,
    "NORMALIZATION": Operators._normalization,
    "POOLING": Operators._pooling,
    "CONCATENATION": Operators._concatenation,
    "GATHER": Operators._gather,
    "ATTENTION_INPUT": Operators._attention,
}
