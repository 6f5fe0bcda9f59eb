"""Sets of ONNX operators by their effect on tensors.

https://onnx.ai/onnx/operators/
"""

from __future__ import annotations

MOVING = frozenset({"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Expand", "Identity"})
"""Operators that move or repeat elements without changing them.  The first input contains the elements."""
REARRANGING = MOVING - {"Expand"}
"""Operators that move elements without repeating them.  A builder may remove these operators."""
CAST = frozenset({"Cast", "CastLike"})
"""Operators that change only the element type."""
PASSING = MOVING - {"Flatten"} | {"Cast"}
"""Operators that may occur where the pattern of a rule has the sign ``~``."""
ONNX_RUNTIME = "com.microsoft"
"""The domain of ONNX Runtime's own operators.  ONNX Runtime's optimizer adds such operators to models:
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""
RANDOM = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)
"""Operators that draw random numbers, even if their inputs are constant."""
PRODUCTS = frozenset(
    {
        *("MatMul", "Gemm", "Einsum", "Conv", "ConvTranspose", "DeformConv", "Attention"),
        *("RNN", "GRU", "LSTM"),
    }
)
"""Operators that multiply matrices.  They take most of the time of a model."""
SHAPE_READERS = frozenset({"Shape", "Size"})
"""Operators that read only the shape of their input, not its elements."""
QUANTIZE = frozenset({"QuantizeLinear", "DequantizeLinear"})
TRANSPARENT = MOVING | CAST | QUANTIZE | {"Dropout"}
"""Operators that keep the meaning of a tensor at inference: they move, cast or quantize its elements."""

TORCH_TENSORRT = "Torch-TensorRT"
"""Producer name of the models that trtlint creates from networks of Torch-TensorRT."""
COMMUTATIVE = frozenset(
    {
        *("Add", "Mul", "Min", "Max", "Sum", "Mean", "Equal", "And", "Or", "Xor"),
        *("BitwiseAnd", "BitwiseOr", "BitwiseXor"),
    }
)
"""Operators of the default domain whose inputs may come in any order."""
