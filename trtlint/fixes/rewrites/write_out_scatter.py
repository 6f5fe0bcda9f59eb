"""Decompose a ``ScatterElements`` or ``ScatterND`` that has a reduction.

For each position of the result, a comparison selects the updates of this position, and a reduction combines
these updates. So the memory grows with the number of positions times the number of updates. Definitions:
https://onnx.ai/onnx/operators/onnx__ScatterElements.html and
https://onnx.ai/onnx/operators/onnx__ScatterND.html
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, name_of, numpy_type, operator_of
from trtlint.fixes.rewrites._forms import Forms
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.protos import FLOAT_DTYPES

_MOST = 1 << 26
"""Largest number of elements of an intermediate tensor that a patch may create."""
_TITLE = "replaces the scatter by a comparison of positions and a reduction"


_COMBINE: Mapping[str, str] = {"add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}
"""For each value of the attribute ``reduction``, the operator that combines the data with an update."""
_REDUCE: Mapping[str, str] = {"Add": "ReduceSum", "Mul": "ReduceProd", "Max": "ReduceMax", "Min": "ReduceMin"}
"""For each operator that combines two numbers, the reduction that combines all updates of one position."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that replaces one ScatterElements or ScatterND."""
    node = operator_of(fact, model, "ScatterElements", "ScatterND")
    combine = _COMBINE.get(str(node.attribute("reduction", "none")))
    if combine is None:
        raise NotApplicable(f"{node.op} has no reduction")
    data, indices, updates = node.inputs[:3]
    if data is None or indices is None or updates is None or data.dtype is None:
        raise NotApplicable("the type of the data is not known")
    if data.dtype not in (*FLOAT_DTYPES, "i32", "i64"):
        raise NotApplicable(f"the type {data.dtype} of the data is not supported")
    if node.op == "ScatterElements":
        return _elements(Draft(model, node), node, combine, (data, indices, updates))
    return _nd(Draft(model, node), node, combine, (data, indices, updates))


def _neutral(combine: str, dtype: str) -> float | int:
    """Return the neutral element of an operator, such as 0 for Add."""
    if combine in ("Add", "Mul"):
        return 0 if combine == "Add" else 1
    if dtype in FLOAT_DTYPES:
        return -math.inf if combine == "Max" else math.inf
    limits = np.iinfo(numpy_type(dtype))
    return int(limits.min) if combine == "Max" else int(limits.max)


def _elements(draft: Draft, node: Node, combine: str, tensors: tuple[Value, Value, Value]) -> Patch:
    data, indices, updates = tensors
    if not data.shape or indices.shape is None or len(data.shape) != len(indices.shape):
        raise NotApplicable("the shapes of data and indices are not known")
    rank = len(data.shape)
    axis = node.integer("axis", 0) % rank
    for dim, (size, reach) in enumerate(zip(data.shape, indices.shape, strict=True)):
        if dim != axis and (size is None or size != reach):
            raise NotApplicable("the indices possibly cover only a part of the data")
    size, count = data.shape[axis], indices.shape[axis]
    if (
        isinstance(size, int)
        and isinstance(count, int)
        and math.prod(d for d in data.shape if isinstance(d, int)) * count > _MOST
    ):
        raise NotApplicable(f"comparing the indices would need a tensor of more than {_MOST:,} elements")
    last = [dim for dim in range(rank) if dim != axis] + [axis]
    chosen, values = (
        draft.op("Unsqueeze", _moved(draft, tensor, last), draft.ints(-2)) for tensor in (indices, updates)
    )
    total = draft.like(size, "i64", "size") if isinstance(size, int) else _size(draft, data, axis)
    kept = _reduced_updates(draft, chosen, values, total, combine, data.dtype or "")
    back = _moved(draft, kept, [last.index(dim) for dim in range(rank)])
    draft.op(combine, data, back, out=node.output.name)
    fitting = [(updates, indices.shape), (indices, updates.shape or ())]
    return draft.patch(_TITLE, [node], shapes=fitting)


def _size(draft: Draft, data: Value, axis: int) -> str:
    """Insert operators that compute the size of an axis at run time."""
    return draft.op("Gather", draft.op("Shape", data), draft.like(axis, "i64", "axis"))


def _moved(draft: Draft, tensor: Value | str, perm: list[int]) -> str:
    if perm == sorted(perm):
        return name_of(tensor)
    return draft.op("Transpose", tensor, perm=perm)


def _reduced_updates(draft: Draft, chosen: str, values: str, size: str, combine: str, dtype: str) -> str:
    """For each position of the result along one axis, combine all updates of this position.

    Args:
        draft: the draft of the patch.
        chosen: tensor with the position of each update. Its second-to-last axis has size one.
        values: the updates, with the same shape as ``chosen``.
        size: number of positions.
        combine: the operator that combines two updates.
        dtype: element type of the updates.
    """
    zero, one = (draft.like(number, "i64", "number") for number in (0, 1))
    positions = draft.op("Unsqueeze", draft.op("Range", zero, size, one), draft.ints(1))
    wide = draft.op("Cast", chosen, to=7)
    negative = draft.op("Less", wide, zero)
    counted = draft.op("Add", wide, size)
    there = draft.op("Where", negative, counted, wide)
    meant = draft.op("Equal", there, positions)
    neutral = draft.like(_neutral(combine, dtype), dtype, "neutral")
    picked = draft.op("Where", meant, values, neutral)
    return Forms(draft).reduced(_REDUCE[combine], picked, [-1])


def _nd(draft: Draft, node: Node, combine: str, tensors: tuple[Value, Value, Value]) -> Patch:
    data, indices, updates = tensors
    depth = indices.shape[-1] if indices.shape else None
    if data.shape is None or not isinstance(depth, int) or not 1 <= depth <= len(data.shape):
        raise NotApplicable("the shapes of data and indices are not known")
    sizes = [dim for dim in data.shape if isinstance(dim, int)]
    if len(sizes) < len(data.shape):
        raise NotApplicable("the shape of the data is not static")
    if not all(sizes):
        raise NotApplicable("the data has no elements")
    rows, width = math.prod(sizes[:depth]), math.prod(sizes[depth:])
    counts = [dim for dim in (indices.shape or ())[:-1] if isinstance(dim, int)]
    if rows * width * math.prod(counts) > _MOST:
        raise NotApplicable(f"comparing the indices would need a tensor of more than {_MOST:,} elements")
    wide = draft.op("Cast", indices, to=7)
    flat = draft.op("Reshape", wide, draft.ints(-1, depth))
    limits = draft.constant(np.array(sizes[:depth], np.int64), "sizes")
    negative = draft.op("Less", flat, draft.like(0, "i64", "zero"))
    there = draft.op("Where", negative, draft.op("Add", flat, limits), flat)
    strides = np.array([math.prod(sizes[axis + 1 : depth]) for axis in range(depth)], np.int64)
    weighted = draft.op("Mul", there, draft.constant(strides, "strides"))
    linear = Forms(draft).reduced("ReduceSum", weighted, [-1])
    chosen = draft.op("Unsqueeze", linear, draft.ints(0))
    columns = draft.op("Transpose", draft.op("Reshape", updates, draft.ints(-1, width)), perm=[1, 0])
    values = draft.op("Unsqueeze", columns, draft.ints(1))
    total = draft.like(rows, "i64", "size")
    kept = _reduced_updates(draft, chosen, values, total, combine, data.dtype or "")
    turned = draft.op("Transpose", kept, perm=[1, 0])
    draft.op(combine, data, draft.op("Reshape", turned, draft.ints(*sizes)), out=node.output.name)
    front = (indices.shape or ())[:-1]
    fitting = [(updates, (*front, *sizes[depth:])), (indices, (updates.shape or ())[: len(front)])]
    return draft.patch(_TITLE, [node], shapes=fitting)
