"""Pad attention heads with zeros to a size that fused kernels support.

Zeros add nothing to Q·Kᵀ, and a Slice removes the additional features from the product with V.  Fused kernels
support multiples of 8 from 16 to 256: https://github.com/NVIDIA/TensorRT/blob/v11.1/include/NvInfer.h
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, opset_of
from trtlint.fixes.rewrites._attention import block_of, product_again
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.protos import FLOAT_DTYPES
from trtlint.model.sizes import Dimensions

_STEP, _SMALLEST, _LARGEST = 8, 16, 256
_SINCE = 11
"""First opset in which Pad and Slice read sizes from inputs."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that pads Q, K and V, and slices the result."""
    block = block_of(fact, model)
    product, weighted = block.path.product, block.weights.node
    size, value = product.head_size, block.weights.value
    features, kept = block.features, block.value_features
    if features is None or kept is None:
        raise NotApplicable("an Einsum of the attention is not a matrix product")
    if not isinstance(size, int) or size > _LARGEST:
        raise NotApplicable("the size of a head is unknown or above 256")
    wide = max(_SMALLEST, -(-size // _STEP) * _STEP)
    shape = model.constants.dimensions(value)
    own = shape[kept[0]] if shape is not None and _has(shape, kept[0]) else None
    if not isinstance(own, int) or own > _LARGEST:
        raise NotApplicable("the size of a head of V is unknown or above 256")
    value_wide = max(_SMALLEST, -(-own // _STEP) * _STEP)
    if wide == size and value_wide == own:
        raise NotApplicable("fused kernels already support the size of the heads")
    if opset_of(model) < _SINCE:
        raise NotApplicable("the model's opset is older than 11")
    if weighted.scope != block.product.scope:
        raise NotApplicable("the two matrix products of the attention are not in the same graph")
    draft = Draft(model, block.product)
    rewire: list[tuple[Node, int, str]] = []
    for port, axis in zip(block.ports, features, strict=True):
        operand = block.product.inputs[port]
        dims = None if operand is None else model.constants.dimensions(operand)
        if operand is None or dims is None or not _has(dims, axis) or operand.dtype not in FLOAT_DTYPES:
            raise NotApplicable("the rank or type of Q or K is not known")
        if wide > size:
            rewire.append((block.product, port, _padded(draft, operand, len(dims), axis, wide - size)))
    remove: list[Node] = []
    if value_wide > own and shape is not None:
        operands: list[str | Value | None] = list(weighted.inputs)
        operands[operands.index(value)] = _padded(draft, value, len(shape), kept[0], value_wide - own)
        bounds = (draft.ints(0), draft.ints(own), draft.ints(kept[1]))
        draft.op("Slice", product_again(draft, weighted, operands), *bounds, out=weighted.output.name)
        remove.append(weighted)
    return draft.patch(f"pads heads with zeros from size {size} to size {wide}", remove, rewire=rewire)


def _has(shape: Dimensions, axis: int) -> bool:
    """Return whether a shape has an axis with the index ``axis``. The index can be negative."""
    return -len(shape) <= axis < len(shape)


def _padded(draft: Draft, value: Value, rank: int, axis: int, more: int) -> str:
    """Insert a Pad that adds zeros at the end of an axis. ``more`` is the number of zeros."""
    ends = [0] * rank
    ends[axis] = more
    zero = draft.like(0.0, value, "zero")
    return draft.op("Pad", value, draft.ints(*([0] * rank), *ends), zero)
