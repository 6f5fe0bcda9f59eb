"""Find values that can be read in FP32 or 16 bits without a Cast."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from trtlint.conversion.fixed import is_stored
from trtlint.conversion.narrowports import Ports, narrow_values
from trtlint.measurement.ports import COPYING
from trtlint.model.folding import fold
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model

Array = np.ndarray[Any, np.dtype[np.float32]]

_MOST_ELEMENTS = 64
"""Computed values with at most this number of elements are written as constants."""
_EXACT = COPYING - {"Clip", "Compress", "Dropout", "ReverseSequence", "Sign", "TopK", "Trilu"}
"""Operators that round nothing if their inputs have 16 bits (https://onnx.ai/onnx/operators/).

Each output element is an input element, maybe negated or replaced by 0.
"""


def known_numbers(model: Model) -> dict[Value, Array]:
    """Return the small FP32 values that are computed only from stored tensors and known shapes.

    For example, exporters compute the scale of attention from the size of a head. The conversion can store
    the scale in either type, so no Cast is needed.
    """
    found: dict[Value, Array] = {}
    folded: dict[Value, Any] = {}

    def number(value: Value | None) -> Any:
        return folded[value] if value in folded else model.constants.array(value)

    for node in model.graph.nodes:
        if is_stored(node):
            continue
        value = node.output  # trtlint folds only first outputs
        sizes = _sizes(node, model)
        if sizes is not None:
            folded[value] = sizes
        elif any(value in folded for value in node.inputs):
            result = fold(node, [number(value) for value in node.inputs])
            if result is not None:
                folded[value] = result
        if value.dtype != "f32" or value.is_output:
            continue
        array = number(value)
        if array is None or array.size > _MOST_ELEMENTS or np.ma.is_masked(array):
            continue
        numbers = np.asarray(array, np.float32)
        if numbers.size and np.isfinite(numbers).all():
            found[value] = numbers
    return found


def _sizes(node: Node, model: Model) -> Any:
    """Return the output of a Shape operator as a masked array, or None for any other operator.

    The mask hides unknown sizes. In contrast to ``model.constants``, the result includes sizes from trtlint's
    symbolic shape inference.
    """
    value = node.input(0)
    if node.op != "Shape" or node.domain or value is None or node.attribute("end") is not None:
        return None
    dims = model.constants.dimensions(value)
    if dims is None or node.attribute("start", 0):
        return None
    known = [dim if isinstance(dim, int) else 0 for dim in dims]
    unknown = [not isinstance(dim, int) for dim in dims]
    return np.ma.MaskedArray(np.array(known, np.int64), mask=np.array(unknown, bool))


def copying(nodes: Collection[Node], ports: Mapping[Node, Ports]) -> frozenset[Node]:
    """Return the nodes that only copy numbers. Such nodes round nothing if their inputs have 16 bits.

    Args:
        nodes: the operators to choose from.
        ports: for each operator, the inputs and outputs that change type with the operator.
    """
    exact = (node for node in nodes if node.op in _EXACT and not node.domain and node in ports)
    return frozenset(node for node in exact if all(narrow_values(node, ports[node])))
