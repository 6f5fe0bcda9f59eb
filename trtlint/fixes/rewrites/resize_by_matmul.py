"""``Resize`` with antialias over fixed sizes, as a product with a stored matrix for each axis.

Resizing is linear and each axis stands for itself, so that the matrix of an axis is what the operator,
computed by ONNX's reference, makes of unit vectors along it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from onnx import helper

from trtlint.facts.base import Fact
from trtlint.fixes.patch import MOST_ELEMENTS, Draft, Patch, Refusal, numpy_type
from trtlint.model.folding import ma
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.protos import FLOAT_DTYPES

_LONGEST = 4096
"""Size of an axis: its matrix is so large squared."""
_KEPT = frozenset(
    {"mode", "coordinate_transformation_mode", "cubic_coeff_a", "antialias", "extrapolation_value"}
)


def propose(fact: Fact, model: Model) -> Patch | Refusal:
    """Write out the operator at which a fact was found."""
    node = fact.node
    if node is None or node.op != "Resize" or node.domain or not int(node.number("antialias", 0)):
        return Refusal("there is no Resize with antialias here")
    data = node.input(0)
    if data is None or data.dtype not in FLOAT_DTYPES or data.shape is None or node.output.shape is None:
        return Refusal("its sizes are not known")
    if node.attribute("mode", "nearest") not in ("linear", "cubic") or int(node.number("exclude_outside", 0)):
        return Refusal("its mode is none that is linear in the data")
    if node.attribute("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize":
        return Refusal("it crops")
    changed = []
    for axis, (before, after) in enumerate(zip(data.shape, node.output.shape, strict=True)):
        if before == after:
            continue
        if not isinstance(before, int) or not isinstance(after, int) or max(before, after) > _LONGEST:
            return Refusal("a size is known at run time only, or too large")
        changed.append((axis, before, after))
    if not changed or any(a * b > MOST_ELEMENTS for _, a, b in changed):
        return Refusal("it changes no size")
    draft = Draft(model, node)
    current: str | Value = data
    for position, (axis, before, after) in enumerate(changed):
        matrix = _matrix(node, model, axis, before, after)
        if isinstance(matrix, Refusal):
            return matrix
        last = position == len(changed) - 1
        stored = draft.constant(matrix.astype(numpy_type(data.dtype)), "matrix")
        current = _along(draft, current, stored, axis, len(data.shape), node.output.name if last else "")
    return draft.patch("resizes by a product for each axis", [node])


def _along(draft: Draft, data: str | Value, matrix: str, axis: int, rank: int, out: str) -> str:
    """Multiply along one axis: the last from the right, the one before it from the left, others turned."""
    if axis == rank - 1:
        return draft.op("MatMul", data, matrix, out=out)
    perm = [dim for dim in range(rank) if dim != axis] + [axis]
    product = draft.op("MatMul", draft.op("Transpose", data, perm=perm), matrix)
    return draft.op("Transpose", product, perm=[perm.index(dim) for dim in range(rank)], out=out)


def _matrix(
    node: Node, model: Model, axis: int, before: int, after: int
) -> np.ndarray[Any, np.dtype[Any]] | Refusal:
    """What resizing makes of each unit vector of an axis, [before, after]."""
    from onnx.reference import ReferenceEvaluator

    scales = model.constants.array(node.input(2))
    if scales is not None and ma.is_masked(scales):
        return Refusal("a scale is known at run time only")
    if scales is not None and scales.size:
        axes = node.attribute("axes")
        rank = len(node.output.shape or ())
        position = axis if axes is None else [number % rank for number in axes].index(axis)
        inputs, size = ["x", "", "s"], np.array([1.0, scales.reshape(-1)[position]], np.float32)
    else:
        inputs, size = ["x", "", "", "s"], np.array([before, after], np.int64)
    attributes = {
        name: helper.get_attribute_value(proto) for name, proto in node.attributes.items() if name in _KEPT
    }
    resize = helper.make_node("Resize", inputs, ["y"], **attributes)
    info = [helper.make_tensor_value_info(name, 1, None) for name in ("x", "y")]
    whole = helper.make_tensor_value_info("s", helper.np_dtype_to_tensor_dtype(size.dtype), None)
    graph = helper.make_graph([resize], "resize", [info[0], whole], info[1:])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", max(model.opset or 18, 18))])
    try:
        (rows,) = ReferenceEvaluator(proto).run(None, {"x": np.eye(before, dtype=np.float32), "s": size})
    except Exception as error:  # noqa: BLE001 - whatever the reference cannot compute stays as it is
        return Refusal(f"ONNX's reference cannot compute it ({type(error).__name__})")
    matrix = np.asarray(rows)
    if matrix.shape != (before, after) or not math.isfinite(float(np.abs(matrix).sum())):
        return Refusal("its sizes and its scales do not belong together")
    return matrix
