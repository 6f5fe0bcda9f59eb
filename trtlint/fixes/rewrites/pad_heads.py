"""Heads of attention padded with zeros to a size that fused kernels take.

Zeros add nothing to Q·Kᵀ, and what they give in the product with V is cut off.  Sizes: multiples of 8
from 16 to 256, https://github.com/NVIDIA/TensorRT/blob/v11.1/include/NvInfer.h
"""

from __future__ import annotations

import numpy as np

from trtlint.facts.base import Fact
from trtlint.facts.blocks.operand import Axis
from trtlint.fixes.patch import Draft, Patch, Refusal
from trtlint.fixes.rewrites._attention import block_of
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.protos import FLOAT_DTYPES

_STEP, _SMALLEST, _LARGEST = 8, 16, 256
_FAR = np.iinfo(np.int64).max
_SINCE = 11
"""The opset from which Pad and Slice take their sizes as inputs."""


def propose(fact: Fact, model: Model) -> Patch | Refusal:
    """Pad Q, K and V, and cut the result."""
    block = block_of(fact, model)
    if isinstance(block, Refusal):
        return block
    product, weighted = block.path.product, block.weights.node
    size = product.head_size
    if product.form != "matmul" or weighted.op != "MatMul" or weighted.inputs[1] is not block.weights.value:
        return Refusal("a product is written as Einsum, or V comes first")
    if not isinstance(size, int) or size > _LARGEST:
        return Refusal("the size of a head is not known, or above 256")
    wide = max(_SMALLEST, -(-size // _STEP) * _STEP)
    value = block.weights.value
    own = value.shape[-1] if value.shape else None
    if not isinstance(own, int) or own > _LARGEST:
        return Refusal("the size of a head of V is not known, or above 256")
    value_wide = max(_SMALLEST, -(-own // _STEP) * _STEP)
    if wide == size and value_wide == own:
        return Refusal("the heads have a size that fused kernels take")
    if (model.opset or 0) < _SINCE:
        return Refusal("it needs opset 11")
    if weighted.scope != block.product.scope:
        return Refusal("it spans the body of an If or a loop")
    draft = Draft(model, block.product)
    rewire: list[tuple[Node, int, str]] = []
    operands: list[tuple[Node, Value, Axis, int]] = [
        (block.product, product.query, "feature", wide - size),
        (block.product, product.key, "sequence", wide - size),
    ]
    for node, operand, last, more in operands:
        if operand.rank is None or operand.dtype not in FLOAT_DTYPES:
            return Refusal("the rank or type of Q or K is not known")
        if more:
            padded = _padded(draft, operand, -1 if last == "feature" else -2, more)
            rewire.append((node, node.inputs.index(operand), padded))
    remove: list[Node] = []
    if value_wide > own:
        if value.rank is None:
            return Refusal("the rank of V is not known")
        result = draft.op("MatMul", weighted.inputs[0], _padded(draft, value, -1, value_wide - own))
        bounds = (draft.ints(0), draft.ints(own), draft.ints(-1))
        draft.op("Slice", result, *bounds, out=weighted.output.name)
        remove.append(weighted)
    return draft.patch(f"pads heads from {size} to {wide} with zeros", remove, rewire=rewire, retyped=())


def _padded(draft: Draft, value: Value, axis: int, more: int) -> str:
    """A tensor with zeros behind one of its axes."""
    rank = value.rank or 0
    ends = [0] * rank
    ends[axis] = more
    zero = draft.like(0.0, value, "zero")
    return draft.op("Pad", value, draft.ints(*([0] * rank), *ends), zero)
