"""Compute element-wise layers in NumPy: activations, operations, casts, quantization.

https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/operators/index.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from trtlint.network.layers import Array, Layer, NotComputedError
from trtlint.network.onnxops import LARGE, compute, erf
from trtlint.network.types import along, dtype_of, is_float, narrowed, saturated, wide


def _broadcastable(given: Array, x: Array, axis: int) -> Array:
    """Reshape scales or zero points so that they broadcast to x.

    Args:
        given: the scales or zero points: one number, one for each channel, or one for each block.
        x: the tensor to quantize or dequantize.
        axis: the axis of the channels.
    """
    if given.size == 1:
        return given.reshape(())
    if given.ndim == x.ndim:  # one scale for each block
        for at, (size, count) in enumerate(zip(x.shape, given.shape, strict=True)):
            if 1 < count < size:
                given = np.repeat(given, -(-size // count), axis=at).take(range(size), axis=at)
        return given
    return along(given, axis % x.ndim, x.ndim)


def _quantize(layer: Layer, inputs: Inputs) -> list[Array]:
    x = wide(inputs[0]).astype(np.float32, copy=False)
    axis = int(layer.get("axis", -1))
    scaled = x / _broadcastable(wide(inputs[1]).astype(np.float32), x, axis)
    if layer.types[0].startswith(("INT", "UINT")):
        scaled = np.rint(scaled)
    if len(inputs) > 2:
        scaled = scaled + _broadcastable(inputs[2].astype(np.float32), x, axis)
    return [saturated(scaled, layer.types[0])]


def _dequantize(layer: Layer, inputs: Inputs) -> list[Array]:
    x = inputs[0].astype(np.float32)
    axis = int(layer.get("axis", -1))
    if len(inputs) > 2:
        x = x - _broadcastable(inputs[2].astype(np.float32), x, axis)
    return [narrowed(x * _broadcastable(wide(inputs[1]).astype(np.float32), x, axis), layer.types[0])]


Inputs = Sequence[Any]
"""The input arrays of a layer; None for an unconnected input."""
Compute = Callable[[Layer, Inputs], list[Array]]


def _activation(layer: Layer, inputs: Inputs) -> list[Array]:
    (x,), kind = map(wide, inputs), layer.get("type")
    function = _ACTIVATIONS.get(kind)
    if function is None:
        raise NotComputedError(f"the activation {kind}")
    alpha, beta = (_like(x, layer.get(name, 0.0)) for name in ("alpha", "beta"))
    if kind in _SLOW_IN_NUMPY and x.dtype == np.float32 and x.size > LARGE:
        attributes = {"alpha": float(alpha), "beta": float(beta)} if kind == "HARD_SIGMOID" else {}
        found = compute(_SLOW_IN_NUMPY[kind], [x], attributes)
    else:
        found = function(x, alpha, beta)
    return [narrowed(np.asarray(found), layer.types[0])]


def _like(x: Array, value: float) -> Any:
    """Convert ``value``, a setting of a layer, to the element type of ``x``.

    For an integer type, the fraction is dropped.
    """
    return x.dtype.type(value) if is_float(x.dtype) else x.dtype.type(np.clip(value, *_bounds(x.dtype)))


def _bounds(dtype: np.dtype[Any]) -> tuple[float, float]:
    if dtype.kind == "b":
        return 0.0, 1.0
    info = np.iinfo(dtype)
    return float(info.min), float(np.nextafter(np.float64(info.max), 0) if info.bits > 32 else info.max)


def _softplus(x: Array, alpha: Any, beta: Any) -> Array:
    return np.asarray(alpha * np.logaddexp(x.dtype.type(0), beta * x))


def _gelu_tanh(x: Array, _: Any, __: Any) -> Array:
    root = x.dtype.type(np.sqrt(2 / np.pi))
    inner = root * (x + x.dtype.type(0.044715) * x**3)
    return np.asarray(x.dtype.type(0.5) * x * (1 + np.tanh(inner)))


def _gelu(x: Array, _: Any, __: Any) -> Array:
    return np.asarray(x.dtype.type(0.5) * x * (1 + erf(x * x.dtype.type(np.sqrt(0.5)))))


def _bounded(x: Any, least: Any) -> Any:
    """In place, set each element of an array that is below a lower bound to this bound."""
    return np.maximum(x, least, out=x) if isinstance(x, np.ndarray) else np.maximum(x, least)


_SLOW_IN_NUMPY = {"SIGMOID": "Sigmoid", "TANH": "Tanh", "HARD_SIGMOID": "HardSigmoid"}
"""Activations that ONNX Runtime computes for large tensors, each with its ONNX operator."""
_ACTIVATIONS: Mapping[str, Callable[[Array, Any, Any], Any]] = {
    "RELU": lambda x, _, __: np.maximum(x, x.dtype.type(0)),
    "SIGMOID": lambda x, _, __: 1 / (1 + np.exp(-x)),
    "TANH": lambda x, _, __: np.tanh(x),
    "LEAKY_RELU": lambda x, a, __: np.where(x >= 0, x, a * x),
    "ELU": lambda x, a, __: np.where(x >= 0, x, a * np.expm1(np.minimum(x, 0))),
    "SELU": lambda x, a, b: b * np.where(x > 0, x, a * np.expm1(np.minimum(x, 0))),
    "SOFTSIGN": lambda x, _, __: x / (1 + np.abs(x)),
    "SOFTPLUS": _softplus,
    "CLIP": lambda x, a, b: _bounded(np.minimum(b, x), a),
    "HARD_SIGMOID": lambda x, a, b: _bounded(np.minimum(1, a * x + b), x.dtype.type(0)),
    "SCALED_TANH": lambda x, a, b: a * np.tanh(b * x),
    "THRESHOLDED_RELU": lambda x, a, __: np.where(x > a, x, x.dtype.type(0)),
    "GELU_ERF": _gelu,
    "GELU_TANH": _gelu_tanh,
}


_UNARIES: Mapping[str, Callable[..., Any]] = {
    "EXP": np.exp,
    "LOG": np.log,
    "SQRT": np.sqrt,
    "RECIP": lambda x: 1 / x,
    "ABS": np.abs,
    "NEG": np.negative,
    "SIN": np.sin,
    "COS": np.cos,
    "TAN": np.tan,
    "SINH": np.sinh,
    "COSH": np.cosh,
    "ASIN": np.arcsin,
    "ACOS": np.arccos,
    "ATAN": np.arctan,
    "ASINH": np.arcsinh,
    "ACOSH": np.arccosh,
    "ATANH": np.arctanh,
    "CEIL": np.ceil,
    "FLOOR": np.floor,
    "ERF": erf,
    "NOT": np.logical_not,
    "SIGN": np.sign,
    "ROUND": np.rint,
    "ISINF": np.isinf,
    "ISNAN": np.isnan,
}


def _operation(layer: Layer, inputs: Inputs) -> list[Array]:
    operation = layer.get("op")
    function = (_UNARIES if layer.kind == "UNARY" else _ELEMENTWISE).get(operation)
    if function is None:
        raise NotComputedError(f"the operation {operation}")
    return [narrowed(np.asarray(function(*map(wide, inputs))), layer.types[0])]


def _divided(x: Array, y: Array) -> Array:
    """Divide x by y. Integer results are rounded toward zero."""
    if is_float(x.dtype):
        return np.asarray(x / y)
    safe = np.where(y == 0, np.ones_like(y), y)
    return np.asarray(np.where(y == 0, 0, (x - np.fmod(x, safe)) // safe))


def _power(x: Array, y: Array) -> Array:
    if is_float(x.dtype):
        return np.asarray(np.power(x, y))
    return np.asarray(np.power(x.astype(np.float64), y).astype(x.dtype))


_ELEMENTWISE: Mapping[str, Callable[..., Any]] = {
    "SUM": np.add,
    "PROD": np.multiply,
    "MAX": np.maximum,
    "MIN": np.minimum,
    "SUB": np.subtract,
    "DIV": _divided,
    "POW": _power,
    "FLOOR_DIV": np.floor_divide,
    "AND": np.logical_and,
    "OR": np.logical_or,
    "XOR": np.logical_xor,
    "EQUAL": np.equal,
    "GREATER": np.greater,
    "LESS": np.less,
}


def _cast(layer: Layer, inputs: Inputs) -> list[Array]:
    """Compute a cast layer. A cast to an integer type drops the fraction."""
    (x,), name = inputs, layer.types[0]
    if dtype_of(name).kind == "b":
        return [np.asarray(wide(x) != 0)]
    if name in ("FP8", "FP4", "INT4") and x.dtype != dtype_of(name):
        return [saturated(wide(x).astype(np.float32), name)]
    plain = x if x.dtype.kind in "fiub" else wide(x) if is_float(x.dtype) else x.astype(np.int8)
    return [narrowed(plain, name)]


def _select(layer: Layer, inputs: Inputs) -> list[Array]:
    condition, then, other = inputs
    return [narrowed(np.asarray(np.where(condition, then, other)), layer.types[0])]


def _parametric_relu(layer: Layer, inputs: Inputs) -> list[Array]:
    x, slope = map(wide, inputs)
    return [narrowed(np.where(x >= 0, x, x * slope), layer.types[0])]


def _scale(layer: Layer, inputs: Inputs) -> list[Array]:
    """Compute a scale layer: ``(x * scale + shift) ** power``.

    ``scale``, ``shift`` and ``power`` have one number per tensor, per channel or per element.
    """
    (x,), axis = map(wide, inputs), layer.get("channel_axis", 1)
    for name, function in (("scale", np.multiply), ("shift", np.add), ("power", np.power)):
        weights = layer.settings[name].array()
        if weights is None:
            continue
        numbers = wide(weights)
        if layer.get("mode") == "CHANNEL":
            numbers = along(numbers, axis, x.ndim)
        elif layer.get("mode") == "ELEMENTWISE":
            numbers = numbers.reshape(x.shape[axis:])
        x = function(x, numbers)
    return [narrowed(x, layer.types[0])]


LAYERS: Mapping[str, Compute] = {
    "ACTIVATION": _activation,
    "UNARY": _operation,
    "ELEMENTWISE": _operation,
    "CAST": _cast,
    "IDENTITY": _cast,
    "SELECT": _select,
    "PARAMETRIC_RELU": _parametric_relu,
    "SCALE": _scale,
    "QUANTIZE": _quantize,
    "DEQUANTIZE": _dequantize,
}
