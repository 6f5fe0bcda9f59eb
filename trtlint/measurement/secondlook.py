"""Compute the shares of a tensor's elements that overflow, or round to zero, in FP16, BF16 or TF32."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import TensorProto

from trtlint.measurement.formats import Format

_WHERE = 9
"""The first opset with Where."""


def look(
    name: str, format_: Format, opset: int, add: Callable[..., str], constant: Callable[[float], str]
) -> list[str]:
    """Add operators that compute :data:`~trtlint.measurement.narrowing.CLOSER` for a tensor.

    Args:
        name: the tensor.
        format_: the narrow type.
        opset: version of the default operator set.
        add: function that adds an operator and returns the name of the result.
        constant: function that adds a number and returns its name.

    Returns:
        The names of the results.
    """
    size = add("Abs", [name])
    some = add("Greater", [size, constant(0.0)])
    within = add("Less", [size, constant(format_.infinite_from)])
    seen = add("Greater", [size, constant(format_.zero_below)])
    beyond, lost = add("Not", [within]), add("And", [some, add("Not", [seen])])
    shares = [add("Cast", [each], to=TensorProto.FLOAT) for each in (beyond, lost)]
    if opset >= _WHERE:
        smallest = add("Where", [some, size, constant(np.inf)])
    else:  # add 0 / 1 = 0 to nonzero numbers, and 1 / 0 = infinity to zeros
        none, any_ = (add("Cast", [each], to=TensorProto.FLOAT) for each in (add("Not", [some]), some))
        smallest = add("Add", [size, add("Div", [none, any_])])
    means = [add("ReduceMean", [share], keepdims=0) for share in shares]
    return [*means, add("ReduceMin", [smallest], keepdims=0)]
