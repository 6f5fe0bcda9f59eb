"""Classify the operators that ONNX Runtime's tools write into a model."""

from __future__ import annotations

from collections import Counter

DYNAMIC_QUANTISATION = frozenset(
    {"DynamicQuantizeLinear", "MatMulInteger", "ConvInteger", "DynamicQuantizeMatMul", "MatMulIntegerToFloat"}
)
"""Operators that ONNX Runtime's dynamic quantization writes.

https://onnxruntime.ai/docs/performance/model-optimizations/quantization.html
"""
LOSSES = frozenset({"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"})
"""Loss functions of ONNX, which a model contains only for training."""
_TRAINING = frozenset({"SGDOptimizerV2", "AdamWOptimizer", "InPlaceAccumulator", "InPlaceAccumulatorV2"})
_GRADIENT = "Grad"
"""Part of the name of an operator that computes a gradient, such as ``LayerNormalizationGrad``.

https://github.com/microsoft/onnxruntime/blob/v1.20.0/orttraining/orttraining/core/graph/training_op_defs.cc
"""


def is_training(op: str) -> bool:
    """Return whether ONNX Runtime writes a contrib operator only into training graphs."""
    return _GRADIENT in op or op in _TRAINING


def refused_contrib(found: Counter[str]) -> str:
    """Return, as a text, why TensorRT's parser refuses operators of ONNX Runtime.

    Args:
        found: the operators of ONNX Runtime that the parser cannot import, with their counts.
    """
    if any(map(is_training, found)):
        cause = "the model is a training graph"
    elif DYNAMIC_QUANTISATION.isdisjoint(found):
        cause = "the model was optimised for ONNX Runtime"
    else:
        cause = "the model was quantized dynamically by ONNX Runtime"
    return f"{cause}; the parser has no importer for the following operators: {', '.join(counted(found))}"


def counted(ops: Counter[str]) -> list[str]:
    """Return the operator types in ``ops`` with their counts as texts, the most frequent type first."""
    return [op if count == 1 else f"{op} × {count}" for op, count in ops.most_common()]
