"""Replace an antialiased ``Resize`` of fixed sizes by weighted sums.

Resizing is linear and separable. The weights for an axis are the results of ONNX's reference evaluator for
unit vectors. Each weighted sum reads only the elements whose weight is not zero. If the rewrite multiplied by
the whole matrix of weights instead, NaN or infinity would spread over a row: zero times infinity is NaN.
"""

from __future__ import annotations

import math

import numpy as np
from onnx import helper

from trtlint.facts.base import Fact
from trtlint.fixes.patch import MOST_ELEMENTS, Draft, NotApplicable, Patch, numpy_type, opset_of
from trtlint.model.folding import ma
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.payload import Array
from trtlint.model.protos import FLOAT_DTYPES

_LONGEST = 4096
"""Maximum size of an axis. The maximum number of weights is the square of this number."""
_MOST_TAPS = 64
"""Maximum number of input elements in the weighted sum for one result element.

The gathered tensor is larger than the result by this factor.
"""
_NOTHING = 1e-6
"""A weight below this share of the largest weight counts as a rounding error."""
_KEPT = frozenset(
    {"mode", "coordinate_transformation_mode", "cubic_coeff_a", "antialias", "extrapolation_value"}
)


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that replaces one Resize."""
    node = fact.node
    if node is None or node.op != "Resize" or node.domain or not node.integer("antialias", 0):
        raise NotApplicable("there is no Resize with antialias at this place")
    data = node.input(0)
    if data is None or data.dtype not in FLOAT_DTYPES or data.shape is None or node.output.rank != data.rank:
        raise NotApplicable("the type or the sizes of Resize are not known")
    if node.attribute("mode", "nearest") not in ("linear", "cubic") or node.integer("exclude_outside", 0):
        raise NotApplicable("this mode of Resize is not a linear function of the input")
    if node.attribute("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize":
        raise NotApplicable("Resize crops")
    assert node.output.shape is not None
    changed = []
    for axis, (before, after) in enumerate(zip(data.shape, node.output.shape, strict=True)):
        if before == after:
            continue
        if not isinstance(before, int) or not isinstance(after, int) or max(before, after) > _LONGEST:
            raise NotApplicable(f"a size is above {_LONGEST} or known only at run time")
        changed.append((axis, before, after))
    if not changed or any(a * b > MOST_ELEMENTS for _, a, b in changed):
        raise NotApplicable("Resize changes no size, or its weights would have too many elements")
    draft = Draft(model, node)
    current: str | Value = data
    for position, (axis, before, after) in enumerate(changed):
        positions, weights = _taps(_matrix(node, model, axis, before, after))
        out = node.output.name if position == len(changed) - 1 else ""
        spread = weights.reshape(*weights.shape, *[1] * (len(data.shape) - 1 - axis))
        read = draft.op("Gather", current, draft.constant(positions, "positions"), axis=axis)
        weighed = draft.op("Mul", read, draft.constant(spread.astype(numpy_type(data.dtype)), "weights"))
        current = draft.op("ReduceSum", weighed, draft.ints(axis + 1), keepdims=0, out=out)
    return draft.patch("resizes by a weighted sum along each axis", [node])


def _taps(matrix: Array) -> tuple[Array, Array]:
    """Return the input positions that each result of a Resize reads, and the weights of these positions.

    Both arrays have the shape [results, count]. Some results depend on fewer than ``count`` elements. Such a
    result reads one element several times, each time with a part of the element's weight. No weight in the
    array is zero, because zero times infinity would give NaN.

    Args:
        matrix: weight of each input element in each result, [elements, results].
    """
    magnitudes = np.abs(matrix)
    used = magnitudes > _NOTHING * magnitudes.max(initial=0.0)
    counts = used.sum(axis=0)
    count = int(counts.max(initial=0))
    if not counts.all() or count > _MOST_TAPS:
        raise NotApplicable(
            f"an output element depends on no input element, or on more than {_MOST_TAPS} input elements"
        )
    positions = np.zeros((matrix.shape[1], count), np.int64)
    weights = np.zeros(positions.shape)
    for result in range(matrix.shape[1]):
        own = np.flatnonzero(used[:, result])
        largest = own[np.argmax(magnitudes[own, result])]
        parts = count - len(own) + 1
        positions[result] = [*own, *[largest] * (parts - 1)]
        weights[result] = matrix[positions[result], result]
        weights[result, positions[result] == largest] /= parts
    return positions, weights


def _matrix(node: Node, model: Model, axis: int, before: int, after: int) -> Array:
    """Return the weights of a Resize along one axis, as a matrix [before, after].

    Each weight belongs to one input element and one result. ONNX's reference evaluator computes the weights:
    it resizes unit vectors.

    Args:
        node: the Resize.
        model: the model.
        axis: the axis.
        before: size of the axis before the Resize.
        after: size of the axis after the Resize.
    """
    from onnx.reference import ReferenceEvaluator

    scales = model.constants.array(node.input(2))
    if scales is not None and ma.is_masked(scales):
        raise NotApplicable("a scale is known only at run time")
    if scales is not None and scales.size:
        rank = len(node.output.shape or ())
        axes = [number % rank for number in node.attribute("axes", range(rank))]
        if axis not in axes or axes.index(axis) >= scales.size:
            raise NotApplicable("the sizes and scales of Resize do not match")
        position = axes.index(axis)
        inputs, size = ["x", "", "s"], np.array([1.0, scales.ravel()[position]], np.float32)
    else:
        inputs, size = ["x", "", "", "s"], np.array([before, after], np.int64)
    attributes = {
        name: helper.get_attribute_value(proto) for name, proto in node.attributes.items() if name in _KEPT
    }
    resize = helper.make_node("Resize", inputs, ["y"], **attributes)
    info = [helper.make_tensor_value_info(name, 1, None) for name in ("x", "y")]
    whole = helper.make_tensor_value_info("s", helper.np_dtype_to_tensor_dtype(size.dtype), None)
    graph = helper.make_graph([resize], "resize", [info[0], whole], info[1:])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", max(opset_of(model), 18))])
    try:
        (rows,) = ReferenceEvaluator(proto).run(None, {"x": np.eye(before, dtype=np.float32), "s": size})
    except Exception as error:
        raise NotApplicable(
            f"ONNX's reference evaluator cannot compute Resize ({type(error).__name__})"
        ) from error
    matrix = np.asarray(rows)
    if matrix.shape != (before, after) or not math.isfinite(float(np.abs(matrix).sum())):
        raise NotApplicable("the sizes and scales of Resize do not match")
    return matrix
