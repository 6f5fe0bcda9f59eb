"""Compute the results of operators on constants, with one small function per operator.

Arrays are :class:`numpy.ma.MaskedArray`; a masked element is unknown.  So an array can have known and unknown
elements.  For example, ``Shape`` of ``[N,8,197,64]`` is ``[--, 8, 197, 64]``. numpy.ma also masks undefined
results, such as a division by zero.  So an undefined result also counts as unknown.

Only operators that exporters use for shapes, scales and masks are supported, with the semantics of
https://onnx.ai/onnx/operators/.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import onnx

from trtlint.errors import TrtlintError
from trtlint.model.graph import Node
from trtlint.model.payload import inline_array
from trtlint.model.protos import DTYPES

# The type hints of numpy.ma are incomplete and differ between numpy versions.
Array: TypeAlias = Any
"""A :class:`numpy.ma.MaskedArray`."""
ma: Any = np.ma

MAX_ELEMENTS = 4096
"""Largest number of elements of a result.

Shapes and scales are small.  A hostile ``Expand`` or ``Range`` must not allocate much memory.
"""


class UnfoldableError(TrtlintError):
    """Error: a result cannot be computed.  It is too large, or a required operand is unknown."""


Folder: TypeAlias = Callable[[Node, Sequence["Array | None"]], Any]
"""Function that computes the output of a node from its inputs, as a masked array or a plain array."""


def fold(node: Node, inputs: Sequence[Array | None]) -> Array | None:
    """Return the output of a node with one output, or None if the output cannot be computed.

    Args:
        node: an operator of the default domain.
        inputs: the elements of the inputs; None for an omitted or unknown input.
    """
    folder = _FOLDERS.get(node.op)
    if folder is None or node.domain:
        return None
    try:
        with np.errstate(all="ignore"):
            result = ma.asarray(folder(node, inputs))
    # numpy raises ValueError, TypeError, IndexError, OverflowError, RuntimeError (too many axes), ...
    # on operands of invalid models.  This function does not validate models.
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError, UnfoldableError):
        return None
    return result if result.size <= MAX_ELEMENTS else None


def fill_of(value: object) -> np.ndarray[Any, Any] | None:
    """Return the fill value of ``ConstantOfShape`` as an array of one dimension.

    The array of an invalid model can have more than one element. The result is None if the value cannot be
    read.

    Args:
        value: the attribute ``value``; None if the operator has no such attribute.
    """
    if value is None:
        return np.zeros(1, np.float32)
    fill = inline_array(value) if isinstance(value, onnx.TensorProto) else None
    return None if fill is None or not fill.size else fill.reshape(-1)


def _known(array: Array | None) -> Array:
    """Return an operand such as axes.  Raise UnfoldableError if it is missing or partly unknown."""
    if array is None or ma.is_masked(array):
        raise UnfoldableError
    return array


def _need(inputs: Sequence[Array | None], port: int) -> Array:
    array = inputs[port] if port < len(inputs) else None
    if array is None:
        raise UnfoldableError
    return array


def _ints(array: Array | None) -> list[int]:
    return [int(x) for x in np.asarray(_known(array)).reshape(-1)]


def _optional_ints(inputs: Sequence[Array | None], port: int) -> list[int] | None:
    array = inputs[port] if port < len(inputs) else None
    return None if array is None else _ints(array)


def _axes(node: Node, inputs: Sequence[Array | None], port: int) -> list[int] | None:
    """Return the axes of an operator, from the attribute ``axes`` or the input at index ``port``.

    The result is None if the operator has no such attribute or input.
    """
    axes = node.attribute("axes")
    if axes is not None:
        return [int(axis) for axis in axes]
    return _optional_ints(inputs, port)


def _bounded(shape: Sequence[int]) -> tuple[int, ...]:
    size = 1
    for dim in shape:
        size *= max(int(dim), 0)
        if size > MAX_ELEMENTS:
            raise UnfoldableError
    return tuple(int(dim) for dim in shape)


def _unary(function: Callable[[Array], Any]) -> Folder:
    def folder(_node: Node, inputs: Sequence[Array | None]) -> Array:
        return function(_need(inputs, 0))

    return folder


def _elementwise(function: Callable[[Array, Array], Any]) -> Folder:
    def folder(_node: Node, inputs: Sequence[Array | None]) -> Array:
        result = _need(inputs, 0)
        for port in range(1, len(inputs)):
            other = _need(inputs, port)
            _bounded(np.broadcast_shapes(result.shape, other.shape))
            result = function(result, other)
        return result

    return folder


def _divide(a: Array, b: Array) -> Array:
    if np.issubdtype(a.dtype, np.integer) and np.issubdtype(b.dtype, np.integer):
        # ONNX truncates integer division towards zero, numpy rounds towards minus infinity.
        floor = a // b
        rounded_down = (floor * b != a) & ((a < 0) != (b < 0))
        return (floor + rounded_down).astype(a.dtype)
    return ma.true_divide(a, b)


def _mod(node: Node, inputs: Sequence[Array | None]) -> Array:
    # The result has the sign of the divisor, or with fmod the sign of the dividend, as in C.
    return _elementwise(ma.fmod if node.attribute("fmod", 0) else ma.mod)(node, inputs)


def _reciprocal(a: Array) -> Array:
    return ma.true_divide(ma.ones(a.shape, a.dtype), a)


def _power(a: Array, b: Array) -> Array:
    if np.any(np.abs(np.asarray(b, dtype=np.float64)) > 64):
        raise UnfoldableError
    return ma.power(a, b).astype(a.dtype)


def _numpy_dtype(onnx_type: int) -> np.dtype[Any]:
    if DTYPES.get(onnx_type) not in ("f32", "f16", "f64", "i32", "i64", "i8", "u8", "bool"):
        raise UnfoldableError
    return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(onnx_type))


def _cast(node: Node, inputs: Sequence[Array | None]) -> Array:
    return _need(inputs, 0).astype(_numpy_dtype(node.attribute("to", 0)))


def _cast_like(_node: Node, inputs: Sequence[Array | None]) -> Array:
    return _need(inputs, 0).astype(_need(inputs, 1).dtype)


def _shape(node: Node, _inputs: Sequence[Array | None]) -> Array:
    value = node.input(0)
    if value is None or value.shape is None:
        raise UnfoldableError
    dims = value.shape[slice(node.attribute("start", 0), node.attribute("end"))]
    known = [dim if isinstance(dim, int) else 0 for dim in dims]
    mask = [not isinstance(dim, int) for dim in dims]
    return ma.MaskedArray(np.array(known, dtype=np.int64), mask=np.array(mask, dtype=bool))


def _size(node: Node, inputs: Sequence[Array | None]) -> Array:
    return np.prod(_ints(_shape(node, inputs)), dtype=np.int64)


def _gather(node: Node, inputs: Sequence[Array | None]) -> Array:
    data, indices = _need(inputs, 0), np.asarray(_known(_need(inputs, 1)))
    _bounded((data.size, indices.size))
    return data.take(indices, axis=node.attribute("axis", 0))


def _slice(node: Node, inputs: Sequence[Array | None]) -> Array:
    data = _need(inputs, 0)
    if len(inputs) > 1:
        starts, ends = _ints(_need(inputs, 1)), _ints(_need(inputs, 2))
        axes, steps = _optional_ints(inputs, 3), _optional_ints(inputs, 4)
    else:  # before opset 10 the bounds were attributes
        starts, ends = list(node.attribute("starts", ())), list(node.attribute("ends", ()))
        axes, steps = node.attribute("axes"), None
    index = [slice(None)] * data.ndim
    for position, axis in enumerate(range(len(starts)) if axes is None else axes):
        step = steps[position] if steps else 1
        start, size = starts[position], data.shape[axis]
        end: int | None = ends[position]
        if step < 0:
            # ONNX clamps the start to the first element, and the end to the place before the first element.
            start, end = max(start, -size), None if ends[position] < -size else ends[position]
        index[axis] = slice(start, end, step)
    return data[tuple(index)]


def _concat(node: Node, inputs: Sequence[Array | None]) -> Array:
    parts = [_need(inputs, port) for port in range(len(inputs))]
    _bounded([sum(part.size for part in parts)])
    return ma.concatenate(parts, axis=node.attribute("axis", 0))


def _unsqueeze(node: Node, inputs: Sequence[Array | None]) -> Array:
    data, axes = _need(inputs, 0), _axes(node, inputs, 1) or []
    return np.expand_dims(data, tuple(axes))


def _squeeze(node: Node, inputs: Sequence[Array | None]) -> Array:
    axes = _axes(node, inputs, 1)
    return ma.squeeze(_need(inputs, 0), axis=None if axes is None else tuple(axes))


def _reshape(node: Node, inputs: Sequence[Array | None]) -> Array:
    data = _need(inputs, 0)
    shape = _ints(_need(inputs, 1))
    if not node.attribute("allowzero", 0):
        shape = [data.shape[axis] if dim == 0 else dim for axis, dim in enumerate(shape)]
    return data.reshape(tuple(shape))


def _transpose(node: Node, inputs: Sequence[Array | None]) -> Array:
    return ma.transpose(_need(inputs, 0), node.attribute("perm"))


def _range(_node: Node, inputs: Sequence[Array | None]) -> Array:
    start, limit, delta = (np.asarray(_known(_need(inputs, port))).reshape(-1)[0] for port in range(3))
    if (limit - start) / delta > MAX_ELEMENTS:
        raise UnfoldableError
    return np.arange(start, limit, delta)


def _constant_of_shape(node: Node, inputs: Sequence[Array | None]) -> Array:
    shape = _bounded(_ints(_need(inputs, 0)))
    fill = fill_of(node.attribute("value"))
    if fill is None:
        raise UnfoldableError
    return np.full(shape, fill[0])


def _expand(_node: Node, inputs: Sequence[Array | None]) -> Array:
    data = _need(inputs, 0)
    shape = _bounded(np.broadcast_shapes(data.shape, _bounded(_ints(_need(inputs, 1)))))
    mask = np.broadcast_to(ma.getmaskarray(data), shape)
    return ma.MaskedArray(np.broadcast_to(np.asarray(data), shape), mask=mask)


def _where(_node: Node, inputs: Sequence[Array | None]) -> Array:
    condition, a, b = (_need(inputs, port) for port in range(3))
    _bounded(np.broadcast_shapes(condition.shape, a.shape, b.shape))
    return ma.where(condition, a, b)


def _reduce(function: Callable[..., Any]) -> Folder:
    def folder(node: Node, inputs: Sequence[Array | None]) -> Array:
        data, axes = _known(_need(inputs, 0)), _axes(node, inputs, 1)
        everything = () if node.attribute("noop_with_empty_axes", 0) else None
        axis = tuple(axes) if axes else everything
        result = function(np.asarray(data), axis=axis, keepdims=bool(node.attribute("keepdims", 1)))
        return result.astype(data.dtype)

    return folder


_FOLDERS: Mapping[str, Folder] = {
    "Abs": _unary(ma.abs),
    "Add": _elementwise(ma.add),
    "And": _elementwise(ma.logical_and),
    "Cast": _cast,
    "CastLike": _cast_like,
    "Ceil": _unary(ma.ceil),
    "Concat": _concat,
    "ConstantOfShape": _constant_of_shape,
    "Div": _elementwise(_divide),
    "Equal": _elementwise(ma.equal),
    "Exp": _unary(ma.exp),
    "Expand": _expand,
    "Floor": _unary(ma.floor),
    "Gather": _gather,
    "Greater": _elementwise(ma.greater),
    "GreaterOrEqual": _elementwise(ma.greater_equal),
    "Identity": _unary(lambda a: a),
    "Less": _elementwise(ma.less),
    "LessOrEqual": _elementwise(ma.less_equal),
    "Log": _unary(ma.log),
    "Max": _elementwise(ma.maximum),
    "Min": _elementwise(ma.minimum),
    "Mod": _mod,
    "Mul": _elementwise(ma.multiply),
    "Neg": _unary(ma.negative),
    "Not": _unary(ma.logical_not),
    "Or": _elementwise(ma.logical_or),
    "Pow": _elementwise(_power),
    "Range": _range,
    "Reciprocal": _unary(_reciprocal),
    "ReduceMax": _reduce(np.max),
    "ReduceMin": _reduce(np.min),
    "ReduceProd": _reduce(np.prod),
    "ReduceSum": _reduce(np.sum),
    "Reshape": _reshape,
    "Shape": _shape,
    "Size": _size,
    "Slice": _slice,
    "Sqrt": _unary(ma.sqrt),
    "Squeeze": _squeeze,
    "Sub": _elementwise(ma.subtract),
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Where": _where,
}
