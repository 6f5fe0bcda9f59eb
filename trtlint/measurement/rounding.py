"""Add operators that round numbers to a narrow type, in every opset that ONNX Runtime supports.

ONNX has no type TF32, so numbers are rounded to TF32 with arithmetic.

https://onnx.ai/onnx/operators/onnx__Cast.html: ``Cast`` supports BF16 from opset 13 on.
https://onnx.ai/onnx/operators/onnx__Max.html: ``Max`` broadcasts from opset 8 on.
"""

from __future__ import annotations

from onnx import TensorProto

from trtlint.measurement.formats import BF16, Format
from trtlint.measurement.writing import GraphWriter

_CAST_BRAIN = 13
_CLIP_INPUTS = 11
_SIGNIFICANT = 24
"""Significant bits of FP32.

A multiplication by 2**s + 1 splits a number into two parts; the upper part has 24 - s bits.
T. J. Dekker, A floating-point technique for extending the available precision, section 5.1:
https://doi.org/10.1007/BF01397083
"""
_MOST_SPLIT = 2.0**110
"""Largest magnitude that this multiplication can split without overflow.  Larger numbers are not rounded."""


def rounded(name: str, result: str, format_: Format, write: GraphWriter) -> str:
    """Add operators that round the values of an FP32 tensor to those of a narrow type.

    The result is an FP32 tensor again.  Return its name.

    Args:
        name: the tensor.
        result: name of the result; empty for a new name.
        format_: the narrow type.
        write: writer of the graph.
    """
    if not format_.operands_only and (format_ is not BF16 or write.opset >= _CAST_BRAIN):
        narrow = write.add("Cast", [name], to=format_.element)
        return write.add("Cast", [narrow], result, to=TensorProto.FLOAT)
    within = bounded(name, _MOST_SPLIT, write)
    product = write.add("Mul", [within, write.constant(2.0 ** (_SIGNIFICANT - format_.bits) + 1.0)])
    upper = write.add("Sub", [product, write.add("Sub", [product, within])])
    # Add the difference between ``name`` and ``within`` to restore very large numbers, infinity and NaN.
    # For all other numbers, this difference is 0.
    return write.add("Add", [upper, write.add("Sub", [name, within])], result)


def bounded(name: str, largest: float, write: GraphWriter) -> str:
    """Add operators that clip a tensor to ``[-largest, largest]``, and return the result's name."""
    if write.opset < _CLIP_INPUTS:
        return write.add("Clip", [name], min=-largest, max=largest)
    return write.add("Min", [write.add("Max", [name, write.constant(-largest)]), write.constant(largest)])
