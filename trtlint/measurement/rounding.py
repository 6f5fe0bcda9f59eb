"""Add operators that round numbers to a narrow type, in every opset that ONNX Runtime supports.

ONNX has no type TF32, so numbers are rounded to TF32 with arithmetic.

https://onnx.ai/onnx/operators/onnx__Cast.html: ``Cast`` supports BF16 from opset 13 on.
https://onnx.ai/onnx/operators/onnx__Max.html: ``Max`` broadcasts from opset 8 on.
"""

from __future__ import annotations

from collections.abc import Callable

from onnx import TensorProto

from trtlint.measurement.formats import BF16, Format

_CAST_BRAIN = 13
_CLIP_INPUTS = 11
_SIGNIFICANT = 24
"""Significant bits of FP32.

A multiplication by 2**s + 1 splits a number into two parts; the upper part has 24 - s bits.
T. J. Dekker, A floating-point technique for extending the available precision, section 5.1:
https://doi.org/10.1007/BF01397083
"""
_MOST_SPLIT = 2.0**110
"""Largest magnitude that can be split.  Larger numbers are not rounded."""

Add = Callable[..., str]
"""Function that adds an operator, given type, inputs and attributes, and returns the result's name."""
Constant = Callable[[float], str]
"""Function that adds a number as a constant and returns the constant's name."""


def rounded(name: str, result: str, format_: Format, opset: int, add: Add, constant: Constant) -> str:
    """Add operators that round an FP32 tensor to a narrow type.  Return the name of the FP32 result.

    Args:
        name: the tensor.
        result: name of the result; empty for a new name.
        format_: the narrow type.
        opset: version of the default operator set.
        add: function that adds an operator and returns the name of the result.
        constant: function that adds a number and returns its name.
    """
    if not format_.operands_only and (format_ is not BF16 or opset >= _CAST_BRAIN):
        narrow = add("Cast", [name], to=format_.element)
        return add("Cast", [narrow], result, to=TensorProto.FLOAT)
    within = bounded(name, _MOST_SPLIT, opset, add, constant)
    product = add("Mul", [within, constant(2.0 ** (_SIGNIFICANT - format_.bits) + 1.0)])
    upper = add("Sub", [product, add("Sub", [product, within])])
    # The rest restores very large numbers, infinity and NaN; it is 0 for other numbers.
    return add("Add", [upper, add("Sub", [name, within])], result)


def bounded(name: str, largest: float, opset: int, add: Add, constant: Constant) -> str:
    """Add operators that clip a tensor to ``[-largest, largest]``, and return the result's name."""
    if opset < _CLIP_INPUTS:
        return add("Clip", [name], min=-largest, max=largest)
    return add("Min", [add("Max", [name, constant(-largest)]), constant(largest)])
