"""Change the coordinate system of a nearest-neighbour Resize.

With ``nearest_mode = floor``, the coordinate system ``tf_half_pixel_for_nn`` reads the element at
floor((x + 0.5) / factor), and ``asymmetric`` reads the element at floor(x / factor).  For an integer factor,
both systems read the same element, and repeat this element ``factor`` times.

For other or unknown factors, the rewrite uses ``half_pixel`` with ``nearest_mode = round_prefer_ceil``:
(x + 0.5) / factor - 0.5, rounded half up, is floor((x + 0.5) / factor).  In float arithmetic, the two results
can differ by one element if the quotient is a whole number.
https://onnx.ai/onnx/operators/onnx__Resize.html
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, operator_of
from trtlint.model.folding import ma
from trtlint.model.graph import Node
from trtlint.model.load import Model

_TIES = "coordinates that are not exactly between two elements"
_SINCE = 11
"""First opset in which Resize has the attribute ``coordinate_transformation_mode``."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that changes the attributes of one Resize."""
    reason = "there is no Resize of opset 11 or newer at this place"
    node = operator_of(fact, model, "Resize", since=_SINCE, reason=reason)
    if node.attribute("coordinate_transformation_mode") != "tf_half_pixel_for_nn":
        raise NotApplicable("the coordinates of Resize are not tf_half_pixel_for_nn")
    if node.attribute("mode", "nearest") != "nearest" or node.attribute("nearest_mode") != "floor":
        raise NotApplicable("Resize has a mode other than nearest, or a nearest_mode other than floor")
    if node.attribute("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise NotApplicable("Resize keeps the aspect ratio")
    factors = _factors(node, model)
    draft = Draft(model, node)
    if factors is None or any(factor < 1 or factor != int(factor) for factor in factors):
        draft.again(node, coordinate_transformation_mode="half_pixel", nearest_mode="round_prefer_ceil")
        return draft.patch("resizes with half_pixel coordinates", [node], folds=True, condition=_TIES)
    draft.again(node, coordinate_transformation_mode="asymmetric")
    return draft.patch("resizes with asymmetric coordinates", [node], folds=True)


def _factors(node: Node, model: Model) -> Sequence[float] | None:
    """Return the factor by which a Resize enlarges each axis, or None if the factors are unknown."""
    scales = model.constants.array(node.input(2))
    if scales is not None and scales.size:
        return None if ma.is_masked(scales) else [float(scale) for scale in np.ravel(scales)]
    data = node.input(0)
    before = None if data is None else data.shape
    sizes = model.constants.integers(node.input(3))
    if before is None or sizes is None:
        return None
    axes = [axis % len(before) for axis in node.attribute("axes", tuple(range(len(before))))]
    if len(axes) != len(sizes):
        return None
    pairs = [(before[axis], size) for axis, size in zip(axes, sizes, strict=True)]
    known = [(old, new) for old, new in pairs if isinstance(old, int) and old > 0]
    return [new / old for old, new in known] if len(known) == len(pairs) else None
