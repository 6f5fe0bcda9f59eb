"""Decompose ONNX Runtime's fused attention into MatMul, Softmax and MatMul.

The operators ``MultiHeadAttention`` and ``Attention`` are defined in
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md. Both operators add the number
``mask_filter_value`` to the score of a masked key. In causal attention, the score of a future key becomes the
lowest number of the score's type.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from trtlint.fixes.patch import MOST_ELEMENTS, Draft, NotApplicable, lowest, name_of, onnx_type
from trtlint.fixes.rewrites._forms import Forms, Tensor, heads_apart, heads_joined, output_name
from trtlint.model.graph import Node, Value
from trtlint.model.protos import FLOAT_DTYPES, Dimension

_FILTER = -10000.0
_SINCE = 11
"""First opset in which Slice reads its bounds from inputs."""


class _Heads(Struct, frozen=True):
    """Q, K and V with the shape [batch, heads, positions, features], and the sizes of the attention.

    Attributes:
        query, key, value: the tensors.
        heads: number of heads.
        value_size: number of features of each head of V; None if unknown.
        scale: factor that multiplies the scores.
        dtype: element type.
        batch: size of the batch; None if unknown.
        rows: number of positions of Q; None if unknown.
        columns: number of positions of K, including past positions; None if unknown.
        past: number of past positions; None if it is unknown or there is no past.
        has_past: True if K and V include past positions.
    """

    query: str
    key: str
    value: str
    heads: int
    value_size: Dimension
    scale: float
    dtype: str
    batch: Dimension
    rows: Dimension
    columns: Dimension
    past: Dimension = None
    has_past: bool = False


def multi_head_attention(forms: Forms, node: Node) -> None:
    """Decompose MultiHeadAttention, whose inputs are the projected Q, K and V."""
    draft = forms.draft
    mask, added, past_key, past_value = (node.input(port) for port in range(4, 8))
    is_cached = any(node.input(port) is not None for port in (8, 9))
    if is_cached or any(value.is_needed for value in node.outputs[3:]):
        raise NotApplicable(
            "MultiHeadAttention decodes with a shared cache, or returns its scores; no rewrite supports this"
        )
    block = _packed_operands(forms, node) if node.input(2) is None else _separate_operands(forms, node)
    key, value, before = block.key, block.value, None
    names = [output_name(node, port) for port in (1, 2)]
    if past_key is not None and past_value is not None:
        key = draft.op("Concat", past_key, key, axis=2, out=names[0])
        value = draft.op("Concat", past_value, value, axis=2, out=names[1])
        before = past_key.shape[2] if past_key.shape and len(past_key.shape) == 4 else None
    else:
        key, value = (
            draft.op("Identity", part, out=name) if name else part
            for part, name in zip((key, value), names, strict=True)
        )
    block = replace(block, key=key, value=value)
    if past_key is not None:
        block = replace(block, columns=_sum(block.columns, before), past=before, has_past=True)
    _insert_attention(forms, node, block, mask, added)


def _scale(node: Node, size: int) -> float:
    """Return the factor that multiplies the scores.  ``size`` is the number of features of each head."""
    return float(node.number("scale", 0.0)) or float(size**-0.5)


def _separate_operands(forms: Forms, node: Node) -> _Heads:
    """Return the operands of an attention with Q, K and V in separate tensors.

    K and V may already have the heads as a separate axis.
    """
    query, key, value, bias = (node.input(port) for port in range(4))
    heads = node.integer("num_heads", 0)
    if query is None or query.shape is None or len(query.shape) != 3 or query.dtype not in FLOAT_DTYPES:
        raise NotApplicable("the shape and type of Q are not known")
    if key is None or value is None or key.rank not in (3, 4) or value.rank not in (3, 4):
        raise NotApplicable("the shapes of K and V are not known")
    width = query.shape[2]
    if not isinstance(width, int) or heads < 1 or width % heads:
        raise NotApplicable("the size of a head is not known")
    sources: list[Tensor] = [query, key, value]
    if bias is not None:
        sources = _with_bias(forms, sources, bias, width, (key.rank, value.rank))
    size, value_size = width // heads, _head_size(value, heads)
    parts = [
        name_of(each) if rank == 4 else heads_apart(forms.draft, each, heads, own)
        for each, rank, own in zip(sources, (3, key.rank, value.rank), (size, size, value_size), strict=True)
    ]
    length = None if key.shape is None else key.shape[2 if key.rank == 4 else 1]
    q, k, v = parts
    scale, dtype = _scale(node, size), query.dtype or ""
    return _Heads(q, k, v, heads, value_size, scale, dtype, query.shape[0], query.shape[1], length)


def _head_size(value: Value, heads: int) -> Dimension:
    """Return the number of features of each head of V, or None if it is unknown."""
    last = value.shape[-1] if value.shape else None
    if not isinstance(last, int):
        return None
    return last if value.rank == 4 else last // heads


def _packed_operands(forms: Forms, node: Node) -> _Heads:
    """Split a packed tensor into Q, K and V.

    The axes of the packed tensor are batch, positions, heads, Q/K/V and features.
    """
    query, key = node.input(0), node.input(1)
    heads = node.integer("num_heads", 0)
    whole, count = (query, 3) if key is None else (key, 2)
    if query is None or whole is None or whole.shape is None or len(whole.shape) != 5:
        raise NotApplicable("the rank of the packed tensor of Q, K and V is unknown or not 5")
    size = whole.shape[4]
    if whole.shape[2:4] != (heads, count) or not isinstance(size, int) or query.dtype not in FLOAT_DTYPES:
        raise NotApplicable("the packed tensor does not have the shape that the operator requires")
    if query.shape is None or (key is not None and query.shape[2:] != (heads * size,)):
        raise NotApplicable("the shape of Q is unknown or does not match the shape of K")
    if node.input(3) is not None:
        raise NotApplicable("ONNX Runtime does not document the layout of the bias of a packed tensor")
    draft = forms.draft
    indices = (draft.like(index, "i64", "index") for index in range(count))
    parts = [
        draft.op("Transpose", draft.op("Gather", whole, index, axis=3), perm=[0, 2, 1, 3])
        for index in indices
    ]
    if key is not None:
        parts.insert(0, heads_apart(draft, query, heads, size))
    q, k, v = parts
    scale, dtype = _scale(node, size), query.dtype or ""
    return _Heads(q, k, v, heads, size, scale, dtype, query.shape[0], query.shape[1], whole.shape[1])


def attention(forms: Forms, node: Node) -> None:
    """Decompose Attention, which computes Q, K and V from one tensor."""
    draft = forms.draft
    source, weights, bias, mask, past, added = (node.input(port) for port in range(6))
    heads = node.integer("num_heads", 0)
    if source is None or weights is None or weights.shape is None or len(weights.shape) != 2:
        raise NotApplicable("the shape of the weights is not known")
    dtype = weights.dtype if weights.dtype in FLOAT_DTYPES else source.dtype
    if node.number("do_rotary", 0) or node.number("past_present_share_buffer", 0):
        raise NotApplicable(
            "trtlint supports neither rotary embedding nor a shared buffer of past and present here"
        )
    whole = weights.shape[1]
    given = [int(size) for size in node.attribute("qkv_hidden_sizes", ())]
    sizes = given or ([whole // 3] * 3 if isinstance(whole, int) else [])
    if len(sizes) != 3 or heads < 1 or any(size % heads for size in sizes) or dtype not in FLOAT_DTYPES:
        raise NotApplicable("the size of a head is not known")
    projected = draft.op("MatMul", source, weights)
    if bias is not None:
        projected = draft.op("Add", projected, bias)
    bounds = np.cumsum([0, *sizes]).tolist()
    parts = [
        heads_apart(draft, forms.part(projected, 2, start, stop), heads, (stop - start) // heads)
        for start, stop in pairwise(bounds)
    ]
    named = output_name(node, 1)
    before: Dimension = None
    if past is not None:
        before = past.shape[3] if past.shape and len(past.shape) == 5 else None
        for port in (0, 1):
            index = draft.like(port, "i64", "index")
            parts[port + 1] = draft.op(
                "Concat", draft.op("Gather", past, index, axis=0), parts[port + 1], axis=2
            )
    if named:
        draft.op("Concat", *(forms.unsqueeze(part, 0) for part in parts[1:]), axis=0, out=named)
    batch, length = source.shape[:2] if source.shape and len(source.shape) == 3 else (None, None)
    columns = length if past is None else _sum(length, before)
    scale, size = _scale(node, sizes[0] // heads), sizes[2] // heads
    q, k, v = parts
    block = _Heads(q, k, v, heads, size, scale, dtype or "", batch, length, columns, before, past is not None)
    _insert_attention(forms, node, block, mask, added)


def _insert_attention(
    forms: Forms, node: Node, block: _Heads, mask: Value | None, added: Value | None
) -> None:
    """Insert the operators of an attention: masked scores, Softmax, and the product with V.

    Args:
        forms: object that inserts operators.
        node: the fused operator.
        block: Q, K and V.
        mask: the mask of allowed keys; None if there is none.
        added: the tensor to add to the scores; None if there is none.
    """
    draft = forms.draft
    forms.opset = max(forms.opset, _SINCE)
    query = draft.op("Mul", block.query, draft.like(block.scale, block.dtype, "scale"))
    scores = draft.op("MatMul", query, draft.op("Transpose", block.key, perm=[0, 1, 3, 2]))
    if added is not None:
        scores = draft.op("Add", scores, added)
    if mask is not None:
        kept = _allowed_keys(forms, block, mask)
        low = draft.like(float(node.number("mask_filter_value", _FILTER)), block.dtype, "masked")
        none = draft.like(0.0, block.dtype, "none")
        scores = draft.op("Add", scores, draft.op("Where", kept, none, low))
    if node.number("unidirectional", 0):
        ahead = _future_keys(forms, block)
        least = draft.like(lowest(block.dtype), block.dtype, "lowest")
        scores = draft.op("Where", ahead, least, scores)
    product = draft.op("MatMul", draft.op("Softmax", scores, axis=-1), block.value)
    merged = draft.op("Transpose", product, perm=[0, 2, 1, 3])
    heads_joined(draft, merged, block.heads, block.value_size, out=node.output.name)


def _allowed_keys(forms: Forms, block: _Heads, mask: Value) -> str:
    """Convert a mask to BOOL, with True for allowed keys. The result broadcasts to the scores."""
    draft = forms.draft
    if mask.shape is None or mask.dtype is None:
        raise NotApplicable("the shape of the mask is not known")
    rank = len(mask.shape)
    if rank in (2, 3):
        spread = forms.unsqueeze(mask, 1, 2) if rank == 2 else forms.unsqueeze(mask, 1)
        zero = draft.like(0, mask.dtype, "zero")
        return draft.op("Greater", spread, zero)
    if rank != 1:
        raise NotApplicable("ONNX Runtime's CPU kernels do not support a mask of this rank")
    count, batch = mask.shape[0], block.batch
    if count is None or count != batch:
        both = isinstance(count, int) and isinstance(batch, int) and count == 2 * batch
        if not both:
            raise NotApplicable(
                "trtlint cannot show that the mask has one or two numbers for each batch item"
            )
    positions = _positions(forms, block)
    whole = draft.op("Cast", mask, to=onnx_type("i64")) if mask.dtype != "i64" else mask.name
    if count == batch:
        return draft.op("Less", positions, draft.op("Reshape", whole, draft.ints(-1, 1, 1, 1)))
    assert isinstance(batch, int)
    ends, starts = (
        draft.op("Reshape", forms.part(whole, 0, first, first + batch), draft.ints(-1, 1, 1, 1))
        for first in (0, batch)
    )
    inside = draft.op("Less", positions, ends)
    return draft.op("And", inside, draft.op("Not", draft.op("Less", positions, starts)))


def _positions(forms: Forms, block: _Heads) -> str:
    """Return the indices of the keys, from 0 to the number of keys minus 1, as INT64."""
    draft = forms.draft
    if isinstance(block.columns, int):
        return draft.constant(np.arange(block.columns, dtype=np.int64), "positions")
    return _range(draft, block.key)


def _range(draft: Draft, tensor: str) -> str:
    """Insert a Range 0, 1, 2, ... (INT64) for the positions on the third axis of a tensor of rank 4."""
    index, zero, one = (draft.like(number, "i64", "number") for number in (2, 0, 1))
    return draft.op("Range", zero, draft.op("Gather", draft.op("Shape", tensor), index), one)


def _future_keys(forms: Forms, block: _Heads) -> str:
    """Return a BOOL tensor that is True for each key after the position of the query."""
    draft = forms.draft
    before = block.past if block.has_past else 0
    if isinstance(block.rows, int) and isinstance(block.columns, int) and isinstance(before, int):
        if block.rows * block.columns > MOST_ELEMENTS:
            raise NotApplicable(f"the causal mask would have more than {MOST_ELEMENTS:,} elements")
        ahead = np.arange(block.columns)[None, :] > np.arange(block.rows)[:, None] + before
        return draft.constant(ahead, "ahead")
    keys = _range(draft, block.key)
    queries = _range(draft, block.query)
    if block.has_past:
        counts = [
            draft.op("Gather", draft.op("Shape", each), draft.ints(2)) for each in (block.key, block.query)
        ]
        queries = draft.op("Add", queries, draft.op("Sub", *counts))
    return draft.op("Less", forms.unsqueeze(queries, 1), keys)


def _with_bias(
    forms: Forms, sources: list[Tensor], bias: Value, width: int, ranks: tuple[int, int]
) -> list[Tensor]:
    """Add a packed bias to Q, K and V.

    A tensor of rank 4 gets no bias, because the model has already added the bias and separated the heads.

    Args:
        forms: object that inserts operators.
        sources: Q, K and V.
        bias: the biases of Q, K and V, one after the other.
        width: number of features of Q, and of K.
        ranks: the ranks of K and V.
    """
    draft = forms.draft
    bounds = (0, width, 2 * width, np.iinfo(np.int64).max)
    return [
        source if rank == 4 else draft.op("Add", source, forms.part(bias, 0, int(start), int(stop)))
        for source, rank, start, stop in zip(sources, (3, *ranks), bounds, bounds[1:], strict=False)
    ]


def _sum(one: Dimension, other: Dimension) -> Dimension:
    return one + other if isinstance(one, int) and isinstance(other, int) else None
