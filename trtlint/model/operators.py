"""Operators of ONNX by what they do to tensors, each set named for what its members have in common.

https://onnx.ai/onnx/operators/
"""

from __future__ import annotations

MOVING = frozenset({"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Expand", "Identity"})
"""Move or repeat elements and change none; the data is their first input."""
REARRANGING = MOVING - {"Expand"}
"""Move elements and repeat none, so that a builder may do without them."""
CAST = frozenset({"Cast", "CastLike"})
"""Change the type of elements alone."""
PASSING = MOVING - {"Flatten"} | {"Cast"}
"""What ``~`` in the pattern of a rule walks through."""
ONNX_RUNTIME = "com.microsoft"
"""The domain of the operators that ONNX Runtime defines and its optimizer writes:
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""
RANDOM = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)
"""Draw random numbers whatever they are given."""
PRODUCTS = frozenset(
    {
        *("MatMul", "Gemm", "Einsum", "Conv", "ConvTranspose", "DeformConv", "Attention"),
        *("RNN", "GRU", "LSTM"),
    }
)
"""Multiply matrices, which is where most of the time of a model goes."""
QUANTIZE = frozenset({"QuantizeLinear", "DequantizeLinear"})
TRANSPARENT = MOVING | CAST | QUANTIZE | {"Dropout"}
"""Leave the meaning of a tensor as it is at inference."""

COMMUTATIVE = frozenset(
    {
        *("Add", "Mul", "Min", "Max", "Sum", "Mean", "Equal", "And", "Or", "Xor"),
        *("BitwiseAnd", "BitwiseOr", "BitwiseXor"),
    }
)
"""Operators of the default domain whose inputs may come in any order."""
