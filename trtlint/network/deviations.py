"""Recognize documented deviations of TensorRT from ONNX.  trtlint does not report them as differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import GraphProto, NodeProto

from trtlint.model.contents import reads
from trtlint.network.judge import Difference
from trtlint.network.layers import Array
from trtlint.network.types import is_float, wide

Inputs = Sequence[Array | None]
_UNCLEAR = frozenset({"Resize", "Upsample", "LpPool", "Scan"})
"""Operators whose ONNX definition does not cover all cases, so that implementations differ."""
_RESIZE_10 = 10
"""The opset that does not define how Resize rounds a position between two elements.

https://onnx.ai/onnx/operators/text_diff_Resize_10_11.html
"""


def _rows_in_another_order(_: NodeProto, inputs: Inputs, got: Array, expected: Array, __: int) -> bool:
    """Return whether the results of an NMS differ only in the order of their rows.

    TensorRT sorts the boxes of all classes of a batch by score. ONNX sorts within each class.
    https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/operators/NMS.html
    """
    scores = inputs[1] if len(inputs) > 1 else None
    if scores is not None and np.unique(wide(scores)).size < scores.size:
        return True  # ONNX does not define which of two equal boxes is suppressed
    if got.shape != expected.shape or got.ndim != 2:
        return False
    rows = [sorted(map(tuple, array.astype(np.int64).tolist())) for array in (got, expected)]
    return rows[0] == rows[1]


def _crossed_bounds(node: NodeProto, inputs: Inputs, _: Array, __: Array, ___: int) -> bool:
    """Return whether the lower bound of a Clip exceeds its upper bound.

    TensorRT then returns the lower bound:
    https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/operators/Activation.html
    """
    given = {each.name: each.f for each in node.attribute}
    least = given.get("min") if len(inputs) < 2 or inputs[1] is None else float(np.max(wide(inputs[1])))
    most = given.get("max") if len(inputs) < 3 or inputs[2] is None else float(np.min(wide(inputs[2])))
    return least is not None and most is not None and least > most


def _ties(node: NodeProto, inputs: Inputs, got: Array, expected: Array, _: int) -> bool:
    """Return whether two results of a TopK differ only in ways that ONNX permits.

    ONNX permits any choice among equal elements.  If the attribute ``sorted`` is 0, ONNX also permits any
    order of the results.
    """
    source = inputs[0] if inputs else None
    if source is None:
        return False
    given = {each.name: each.i for each in node.attribute}
    axis = given.get("axis", -1 if node.op_type == "TopK" else 0) % max(1, source.ndim)
    unsorted = node.op_type == "TopK" and not given.get("sorted", 1)
    if got.dtype.kind not in "iu" or is_float(expected.dtype) or got.dtype == source.dtype:
        if unsorted:
            values = [np.sort(wide(array), axis=axis) for array in (got, expected)]
            return bool(np.array_equal(values[0], values[1]))
        return False
    places = [array.astype(np.int64) for array in (got, expected)]
    if node.op_type != "TopK" and not given.get("keepdims", 1):
        places = [np.expand_dims(array, axis) for array in places]
    try:
        one, other = (np.take_along_axis(wide(source), array, axis=axis) for array in places)
    except (IndexError, ValueError):
        return False
    if unsorted:
        one, other = np.sort(one, axis=axis), np.sort(other, axis=axis)
    return bool(np.array_equal(one, other))


def _undefined_rounding(_: NodeProto, __: Inputs, got: Array, expected: Array, opset: int) -> bool:
    """Return whether the opset does not define how Resize rounds, so that the elements may differ."""
    return opset <= _RESIZE_10 and got.shape == expected.shape


def _masked_rows(_: NodeProto, __: Inputs, got: Array, expected: Array, ___: int) -> bool:
    """Return whether the results of an attention differ only in softmax rows whose keys are all masked.

    The values in these rows may be NaN or zero.
    """
    if got.shape != expected.shape or not is_float(got.dtype):
        return False
    one, other = wide(got).astype(np.float64), wide(expected).astype(np.float64)
    void = np.isnan(one).any(axis=-1, keepdims=True) | (one == 0).all(axis=-1, keepdims=True)
    same = np.isclose(one, other, rtol=1e-2, atol=1e-3, equal_nan=True)
    return bool((same | void | np.isnan(other)).all())


def _out_of_range(_: NodeProto, inputs: Inputs, got: Array, expected: Array, __: int) -> bool:
    """Return whether the results of a Cast differ only for numbers outside the range of the new type.

    The result for such a number may be any value: https://onnx.ai/onnx/operators/onnx__Cast.html
    """
    source = inputs[0] if inputs else None
    if source is None or got.shape != expected.shape or not is_float(source.dtype):
        return False
    if is_float(expected.dtype) or expected.dtype.kind == "b":
        return False
    try:
        info: Any = np.iinfo(expected.dtype)
    except ValueError:
        return True
    numbers = wide(source).astype(np.float64)
    outside = ~((numbers > info.min - 1.0) & (numbers < info.max + 1.0))
    return bool((outside | (got.astype(np.int64) == expected.astype(np.int64))).all())


_KNOWN: Mapping[str, tuple[str, Callable[[NodeProto, Inputs, Array, Array, int], bool]]] = {
    "NonMaxSuppression": (
        "the order of NonMaxSuppression's rows and of equal scores",
        _rows_in_another_order,
    ),
    "Clip": ("a Clip whose minimum is above its maximum", _crossed_bounds),
    **dict.fromkeys(("TopK", "ArgMax", "ArgMin"), ("the choice among equal elements", _ties)),
    **dict.fromkeys(("Resize", "Upsample"), ("the rounding of Resize in opset 10", _undefined_rounding)),
    **dict.fromkeys(
        ("Softmax", "LogSoftmax", "Attention", "MultiHeadAttention"),
        ("softmax rows whose keys are all masked", _masked_rows),
    ),
    **dict.fromkeys(
        ("Cast", "CastLike"), ("a cast of a number outside the range of the new type", _out_of_range)
    ),
}


def is_unclear(node: NodeProto) -> bool:
    """Return whether ONNX does not fully define the result of a node.

    For example, ONNX Runtime and ONNX's reference disagree on a Loop without an initial condition.
    https://onnx.ai/onnx/operators/onnx__Loop.html
    """
    return node.op_type in _UNCLEAR or (node.op_type == "Loop" and not "".join(node.input[1:2]))


def is_cut(graph: GraphProto, name: str, got: Array, expected: Array) -> bool:
    """Return whether a tensor differs from ONNX's tensor only by additional rows at its end.

    The result is False if an operator other than Slice reads the tensor, or if the model returns the tensor.
    If a Loop ends early, TensorRT adds rows to the stacked outputs of the Loop. Slices can remove these rows.
    trtlint compares the results of the Slices separately.

    Args:
        graph: the ONNX graph.
        name: the name of the tensor.
        got: the value in the network.
        expected: ONNX's value.
    """
    if got.shape[1:] != expected.shape[1:] or len(got) < len(expected):
        return False
    if any(each.name == name for each in graph.output):
        return False
    readers = [node for node in graph.node if name in reads(node)]
    same = np.array_equal(wide(got[: len(expected)]), wide(expected), equal_nan=is_float(got.dtype))
    return same and all(node.op_type == "Slice" and node.input[0] == name for node in readers)


def deviation(
    node: NodeProto, inputs: Inputs, values: tuple[Array, Array], found: Difference, opset: int
) -> str:
    """Return the name of the documented deviation that explains a difference, or an empty string.

    Args:
        node: the node that computes the tensor.
        inputs: the values of the inputs of the node.
        values: the value in the network, and ONNX's value.
        found: the difference of the two values.
        opset: the operator set of the model.
    """
    name, explains = _KNOWN.get(node.op_type, ("", None))
    if explains is None or (found.beyond is None and node.op_type != "NonMaxSuppression"):
        return ""
    return name if explains(node, inputs, *values, opset) else ""
