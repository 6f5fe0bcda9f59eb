"""Dequantize an INT32 constant, and store the result as FLOAT.

ONNX Runtime's quantizer stores biases as INT32. The scale of a bias is the scale of the input times the scale
of the weight: https://onnxruntime.ai/docs/performance/model-optimizations/quantization.html.
"""

from __future__ import annotations

from onnx import helper

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.fixes.rewrites._quantizers import folded, is_quantizer, quantizer
from trtlint.model.load import Model


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that folds a DequantizeLinear of INT32.

    If the result is too large to store, the patch inserts Cast and Mul instead.
    """
    node = fact.node
    if node is None or not is_quantizer(node, "DequantizeLinear"):
        raise NotApplicable("there is no DequantizeLinear at this place")
    data = node.input(0)
    if data is None or data.dtype != "i32":
        raise NotApplicable("the input of DequantizeLinear is not INT32")
    read = quantizer(node, model)
    if node.output.is_output:
        raise NotApplicable("the dequantized tensor is an output of the model")
    draft = Draft(model, node)
    payload = folded(read, model)
    if payload is not None:
        draft.constant(payload, out=node.output.name)
        return draft.patch("stores the dequantized INT32 tensor as floats", [node], folds=True)
    value = draft.op("Cast", read.data, to=helper.np_dtype_to_tensor_dtype(read.scale.dtype))
    if read.zero.any():
        value = draft.op(
            "Sub", value, draft.constant(read.shaped(read.zero.astype(read.scale.dtype)), "zero")
        )
    draft.op("Mul", value, draft.constant(read.shaped(read.scale), "scale"), out=node.output.name)
    return draft.patch("decomposes the dequantization of INT32 into Cast and Mul", [node], folds=True)
