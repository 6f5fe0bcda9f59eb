"""Decompose ``RotaryEmbedding`` into products with cosine and sine.

Definition: https://onnx.ai/onnx/operators/onnx__RotaryEmbedding.html
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, operator_of, opset_of
from trtlint.fixes.rewrites._forms import Forms, heads_joined, in_heads
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.operators import ONNX_RUNTIME

_TITLE = "decomposes RotaryEmbedding"
_FAR = np.iinfo(np.int64).max
_PARTS_ARE_COUNTED = 18
"""First opset in which a ``Split`` into equal parts requires the number of parts."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that decomposes one RotaryEmbedding."""
    node = fact.node
    if node is not None and node.domain == ONNX_RUNTIME and node.op == "RotaryEmbedding":
        forms = Forms(Draft(model, node))
        contrib_rotary(forms, node)
        return forms.draft.patch(_TITLE, [node])
    node = operator_of(
        fact, model, "RotaryEmbedding", reason="there is no RotaryEmbedding of ONNX at this place"
    )
    data, cosine, sine = (node.input(port) for port in range(3))
    if data is None or cosine is None or sine is None or data.shape is None:
        raise NotApplicable("the shape of the rotated tensor is not known")
    heads = node.integer("num_heads", 0)
    rank = len(data.shape)
    if rank not in (3, 4) or (rank == 3 and heads < 1):
        raise NotApplicable("the rotated tensor does not have rank 3 or 4, or num_heads is missing")
    forms = Forms(Draft(model, node))
    _rotate(forms, node, data, heads, _size(data, heads), (cosine, sine), node.input(3))
    return forms.draft.patch(_TITLE, [node])


def contrib_rotary(forms: Forms, node: Node) -> None:
    """Decompose ONNX Runtime's RotaryEmbedding, which has another order of inputs than ONNX's operator.

    https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.RotaryEmbedding
    """
    draft = forms.draft
    data, positions, cosine, sine = (node.input(port) for port in range(4))
    if data is None or positions is None or cosine is None or sine is None or data.rank not in (3, 4):
        raise NotApplicable("the shape of the rotated tensor is not known")
    if node.number("is_packed_batching", 0) or node.number("scale", 1.0) != 1.0:
        raise NotApplicable("the rewrite supports neither packed batches nor a scale other than 1")
    heads, half = node.integer("num_heads", 0), cosine.shape[-1] if cosine.shape else None
    if data.rank == 3 and not heads and not isinstance(half, int):
        raise NotApplicable("the size of a head is not known")
    if positions.rank == 1:
        # A single number is the position of the first token.
        axis = 1 if data.rank == 3 else 2
        zero, one = (draft.like(number, "i64", "number") for number in (0, 1))
        index = draft.like(axis, "i64", "number")
        length = draft.op("Gather", draft.op("Shape", data), index)
        places: str | Value = draft.op("Add", draft.op("Range", zero, length, one), positions)
        places = forms.unsqueeze(places, 0)
    elif positions.rank == 2:
        places = positions
    else:
        raise NotApplicable("the shape of the positions is not known")
    whole = 2 * half if isinstance(half, int) and not node.number("rotary_embedding_dim", 0) else None
    size = _size(data, heads) or whole if heads else 2 * int(half or 0)
    heads = heads or _size(data, int(size or 0)) or -1
    _rotate(forms, node, data, heads, size, (cosine, sine), places)


def _size(data: Value, parts: int) -> int | None:
    """Return the size of each part if the features of a tensor are divided into ``parts`` equal parts.

    The result is None if ``parts`` is 0, or if the number of features is unknown.
    """
    last = data.shape[-1] if data.shape else None
    return last // parts if isinstance(last, int) and parts else None


def _rotate(
    forms: Forms,
    node: Node,
    data: Value,
    heads: int,
    size: int | None,
    caches: tuple[Value, Value],
    positions: str | Value | None,
) -> None:
    """Insert the rotation of a tensor.

    The axes of the tensor are [batch, heads, length, features] or [batch, length, heads · features]. If the
    attribute ``rotary_embedding_dim`` is set, only this number of features is rotated in each head.

    Args:
        forms: object that inserts operators.
        node: the RotaryEmbedding.
        data: the tensor.
        heads: number of heads of a tensor of rank 3; -1 if unknown.
        size: number of features of each head of a tensor of rank 3; None if unknown.
        caches: the cosines and the sines.
        positions: the position of each token, an index into the caches; None if the caches contain one row
            per token.
    """
    draft, out, share = forms.draft, node.output.name, node.integer("rotary_embedding_dim", 0)
    if data.rank == 4:
        tensor = draft.op("Transpose", data, perm=[0, 2, 1, 3])
    else:
        tensor = in_heads(draft, data, heads, size)
    rest = ""
    if share:
        rest = forms.part(tensor, -1, share, _FAR)
        tensor = forms.part(tensor, -1, 0, share)
    angles = []
    for cache in caches:
        picked = cache.name if positions is None else draft.op("Gather", cache, positions, axis=0)
        angles.append(forms.unsqueeze(picked, 2))
    cosine, sine = angles
    interleaved = bool(node.number("interleaved", 0))
    if interleaved:
        first, second = (forms.part(tensor, -1, start, _FAR, 2) for start in (0, 1))
    else:
        halves = [draft.name("half"), draft.name("half")]
        parts: dict[str, Any] = {"num_outputs": 2} if opset_of(draft.model) >= _PARTS_ARE_COUNTED else {}
        draft.op("Split", tensor, out=halves, axis=-1, **parts)
        first, second = halves
    real = draft.op("Sub", draft.op("Mul", first, cosine), draft.op("Mul", second, sine))
    imaginary = draft.op("Add", draft.op("Mul", first, sine), draft.op("Mul", second, cosine))
    if interleaved:
        pairs = [forms.unsqueeze(part, -1) for part in (real, imaginary)]
        merged = draft.op("Concat", *pairs, axis=-1)
        joined = draft.op("Reshape", merged, draft.op("Shape", tensor))
    else:
        joined = draft.op("Concat", real, imaginary, axis=-1)
    turned = draft.op("Concat", joined, rest, axis=-1) if rest else joined
    if data.rank == 4:
        draft.op("Transpose", turned, perm=[0, 2, 1, 3], out=out)
    else:
        heads_joined(draft, turned, heads, size if heads > 0 else None, out=out)
