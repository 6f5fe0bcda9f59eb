"""Decompose ``Attention`` into MatMul, Softmax and MatMul.

The rewrite supports all variants of the definition: https://onnx.ai/onnx/operators/onnx__Attention.html. In
this definition, the result of a row in which all keys are masked is zero.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from trtlint.facts.base import Fact
from trtlint.fixes.patch import (
    MOST_ELEMENTS,
    Draft,
    NotApplicable,
    Patch,
    lowest,
    onnx_type,
    operator_of,
)
from trtlint.fixes.rewrites import write_out_fused
from trtlint.fixes.rewrites._forms import Forms, heads_apart, heads_joined
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.operators import ONNX_RUNTIME
from trtlint.model.protos import DTYPES, FLOAT_DTYPES, Dimension

_Q, _K, _V, _MASK, _PAST_KEY, _PAST_VALUE, _LENGTHS = range(7)
_Y, _PRESENT_KEY, _PRESENT_VALUE, _SCORES = range(4)


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that decomposes one Attention."""
    node = fact.node
    if node is not None and node.domain == ONNX_RUNTIME:
        return write_out_fused.propose(fact, model)
    node = operator_of(
        fact, model, "Attention", reason="there is no Attention operator of ONNX at this place"
    )
    return _Decomposition(model, node, _heads(node)).patch()


class _HeadCounts(Struct, frozen=True):
    """The heads of an attention.

    Attributes:
        query: number of heads of Q.
        key: number of heads of K and V.
        split: True if the heads are a separate axis of Q, K and V.
        size: number of features of each head of Q and K.
        value_size: number of features of each head of V; None if unknown.
    """

    query: int
    key: int
    split: bool
    size: int
    value_size: Dimension


def _heads(node: Node) -> _HeadCounts:
    query, key, value = (node.input(port) for port in (_Q, _K, _V))
    if query is None or key is None or value is None or query.shape is None or key.shape is None:
        raise NotApplicable("the shapes of Q and K are not known")
    if query.dtype not in FLOAT_DTYPES or {key.dtype, value.dtype} != {query.dtype}:
        raise NotApplicable("the types of Q, K and V are unknown or different")
    rank = len(query.shape)
    if rank not in (3, 4) or key.rank != rank or value.rank not in (rank, None):
        raise NotApplicable("Q, K and V do not have rank 3 or 4")
    value_last = None if value.shape is None else value.shape[-1]
    last = query.shape[-1]
    if not isinstance(last, int):
        raise NotApplicable("the size of a head is not known")
    if rank == 4:
        counts = query.shape[1], key.shape[1]
        size = last
    else:
        counts = node.integer("q_num_heads", 0), node.integer("kv_num_heads", 0)
        size = last // counts[0] if counts[0] else 0
        value_last = value_last // counts[1] if isinstance(value_last, int) and counts[1] else None
    query_heads, key_heads = counts
    if not isinstance(query_heads, int) or not isinstance(key_heads, int) or min(query_heads, key_heads) < 1:
        raise NotApplicable("the number of heads is not known")
    if size < 1 or query_heads % key_heads:
        raise NotApplicable("the number of heads of Q is not a multiple of the number of heads of K and V")
    return _HeadCounts(query_heads, key_heads, rank == 4, size, value_last)


class _Mask(Struct, frozen=True):
    """The mask of an attention.

    Attributes:
        allowed: name of the BOOL tensor that is True for allowed keys; None if there is none.
        bias: name of the tensor that is added to the scores; None if there is none.
    """

    allowed: str | None
    bias: str | None


class _Decomposition:
    def __init__(self, model: Model, node: Node, heads: _HeadCounts) -> None:
        self.node = node
        self.heads = heads
        self.constants = model.constants
        self.draft = Draft(model, node)
        query = node.inputs[_Q]
        assert query is not None
        assert query.dtype is not None
        self.query = query
        self.dtype = query.dtype
        self.lowest = lowest(self.dtype)

    def patch(self) -> Patch:
        node, draft, heads = self.node, self.draft, self.heads
        names = [value.name for value in node.outputs] + [""] * 4
        past, past_value = node.input(_PAST_KEY), node.input(_PAST_VALUE)
        if (past is None) != (past_value is None):
            raise NotApplicable("only one of past_key and past_value is given")
        if any(past is not None and past.dtype not in (self.dtype, None) for past in (past, past_value)):
            raise NotApplicable("the types of past_key and past_value differ from the types of K and V")
        if any(past is not None and past.rank not in (4, None) for past in (past, past_value)):
            raise NotApplicable("past_key and past_value do not have rank 4")
        query = self._split(node.inputs[_Q], heads.query, heads.size, "")
        key = self._split(node.inputs[_K], heads.key, heads.size, "" if past else names[_PRESENT_KEY])
        value = self._split(
            node.inputs[_V], heads.key, heads.value_size, "" if past else names[_PRESENT_VALUE]
        )
        if past is not None:
            key = draft.op("Concat", past, key, axis=2, out=names[_PRESENT_KEY])
            value = draft.op("Concat", past_value, value, axis=2, out=names[_PRESENT_VALUE])
        repeated = key, value
        if heads.query > heads.key > 1:  # a single head broadcasts, so it needs no repeat
            repeated = self._repeat(key), self._repeat(value)
        mask = self._mask(query, key)
        scores = self._scores(query, repeated[0], mask, names[_SCORES])
        product = draft.op("MatMul", scores, repeated[1], out=names[_Y] if heads.split else "")
        if not heads.split:
            merged = draft.op("Transpose", product, perm=[0, 2, 1, 3])
            heads_joined(draft, merged, heads.query, heads.value_size, out=names[_Y])
        return draft.patch("decomposes Attention into MatMul, Softmax and MatMul", [node])

    def _split(self, tensor: Value | None, heads: int, size: Dimension, out: str) -> str:
        """Return Q, K or V with the heads as the second axis: [batch, heads, positions, features]."""
        assert tensor is not None
        if self.heads.split:
            return self.draft.op("Identity", tensor, out=out) if out else tensor.name
        return heads_apart(self.draft, tensor, heads, size, out=out)

    def _repeat(self, tensor: str) -> str:
        """Repeat each head of K or V once for each head of Q that uses it."""
        heads = np.repeat(np.arange(self.heads.key), self.heads.query // self.heads.key)
        return self.draft.op("Gather", tensor, self.draft.constant(heads, "heads"), axis=1)

    def _mask(self, query: str, key: str) -> _Mask:
        node, draft = self.node, self.draft
        allowed: list[str] = []
        bias: str | None = None
        given = node.input(_MASK)
        if given is not None:
            if given.dtype is None or given.rank is None:
                raise NotApplicable("the type of the mask is not known")
            if self._too_short(given):
                raise NotApplicable("the mask is shorter than the keys")
            if given.dtype == "bool":
                allowed.append(given.name)
            else:
                same = given.dtype == self.dtype
                bias = given.name if same else draft.op("Cast", given, to=onnx_type(self.dtype))
        left, right = (node.integer(f"{side}_window_size", -1) for side in ("left", "right"))
        lengths = node.input(_LENGTHS)
        if node.number("is_causal", 0) or left >= 0 or right >= 0:
            distance = self._distance(query, key)
            if node.number("is_causal", 0):
                allowed.append(draft.op("LessOrEqual", distance, draft.ints(0)))
            if right >= 0:
                allowed.append(draft.op("LessOrEqual", distance, draft.ints(right)))
            if left >= 0:
                allowed.append(draft.op("GreaterOrEqual", distance, draft.ints(-left)))
        if lengths is not None:
            positions = self._range(key)
            column = draft.op("Reshape", lengths, draft.ints(-1, 1, 1, 1))
            allowed.append(draft.op("Less", positions, column))
        together = allowed[0] if allowed else None
        for other in allowed[1:]:
            assert together is not None
            together = draft.op("And", together, other)
        return _Mask(together, bias)

    def _too_short(self, mask: Value) -> bool:
        """Return whether a mask has fewer columns than the attention has keys."""
        last = mask.shape[-1] if mask.shape else 1
        total = self._keys()
        return isinstance(last, int) and last != total and (last == 1 or isinstance(total, int))

    def _keys(self) -> Dimension:
        """Return the number of keys, including past keys, or None if it is unknown."""
        key, past = self.node.inputs[_K], self.node.input(_PAST_KEY)
        assert key is not None
        own = key.shape[-2] if key.shape else None
        if past is None:
            return own
        before = past.shape[2] if past.shape else None
        return own + before if isinstance(own, int) and isinstance(before, int) else None

    def _distance(self, query: str, key: str) -> str:
        """Return the key position minus the query position, as an INT64 tensor.

        The tensor broadcasts to the scores.
        """
        draft, node = self.draft, self.node
        past, lengths = node.input(_PAST_KEY), node.input(_LENGTHS)
        rows = self.query.shape[-2] if self.query.shape else None
        columns = self._keys()
        before = 0 if past is None else past.shape[2] if past.shape else None
        if isinstance(rows, int) and isinstance(columns, int) and isinstance(before, int) and not lengths:
            if rows * columns > MOST_ELEMENTS:
                raise NotApplicable(f"the mask would have more than {MOST_ELEMENTS:,} elements")
            distance = np.arange(columns)[None, :] - np.arange(rows)[:, None] - before
            return draft.constant(distance, "distance")
        ahead = draft.op("Unsqueeze", self._range(query), draft.ints(1))
        if past is not None:
            ahead = draft.op("Add", ahead, self._length(past.name))
        elif lengths is not None:
            valid = draft.op("Reshape", lengths, draft.ints(-1, 1, 1, 1))
            ahead = draft.op("Add", ahead, draft.op("Sub", valid, self._length(query)))
        return draft.op("Sub", self._range(key), ahead)

    def _length(self, tensor: str) -> str:
        """Return the size of the third axis of a tensor of rank 4, as INT64[1]."""
        shape = self.draft.op("Shape", tensor)
        return self.draft.op("Gather", shape, self.draft.ints(2))

    def _range(self, tensor: str) -> str:
        """Return the numbers 0, 1, 2, ... for the positions on the third axis of a tensor.

        The tensor has rank 4. The numbers are an INT64 vector.
        """
        draft = self.draft
        count = draft.op("Squeeze", self._length(tensor))
        zero, one = (draft.like(number, "i64", "number") for number in (0, 1))
        return draft.op("Range", zero, count, one)

    def _scores(self, query: str, key: str, mask: _Mask, out: str) -> str:
        """Insert operators that compute the attention probabilities. Return the name of the probabilities.

        If the replaced operator also returns its scores, the tensor with the scores gets the name ``out``.
        """
        node, draft = self.node, self.draft
        mode = node.integer("qk_matmul_output_mode", 0) if out else -1
        scale = float(node.number("scale", self.heads.size**-0.5))
        softcap = float(node.number("softcap", 0.0))
        scaled = query if scale == 1.0 else draft.op("Mul", query, draft.like(scale, self.dtype, "scale"))
        turned = draft.op("Transpose", key, perm=[0, 1, 3, 2])
        scores = draft.op("MatMul", scaled, turned, out=out if mode == 0 else "")
        if softcap > 0:
            cap = draft.like(softcap, self.dtype, "softcap")
            scores = draft.op("Mul", draft.op("Tanh", draft.op("Div", scores, cap)), cap)
        if mode == 1:
            scores = draft.op("Identity", scores, out=out)
        masked, guard = self._masked(scores, mask, out if mode == 2 else "")
        wanted = node.integer("softmax_precision", 0)
        if wanted and DTYPES.get(wanted) not in FLOAT_DTYPES:
            raise NotApplicable("softmax_precision is not a float type")
        cast = wanted != 0 and DTYPES[wanted] != self.dtype
        if cast:
            masked = draft.op("Cast", masked, to=wanted)
        weights = draft.op("Softmax", masked, axis=-1)
        if cast:
            weights = draft.op("Cast", weights, to=onnx_type(self.dtype))
        if guard is not None:
            choice, when = guard
            zero = draft.like(0.0, self.dtype, "zero")
            parts = (weights, zero) if when else (zero, weights)
            weights = draft.op("Where", choice, *parts)
        if mode == 3:
            weights = draft.op("Identity", weights, out=out)
        return weights

    def _masked(self, scores: str, mask: _Mask, out: str) -> tuple[str, tuple[str, bool] | None]:
        """Mask the scores, and find the rows in which all keys are masked.

        Probabilities in these rows must become zero.

        Returns:
            A tuple of the name of the masked scores and a condition. The condition consists of the name of a
            BOOL tensor and the value of this tensor in rows with at least one allowed key. The condition is
            None if every row has an allowed key.
        """
        draft = self.draft
        if mask.bias is None and mask.allowed is None:
            return (draft.op("Identity", scores, out=out) if out else scores), None
        if mask.bias is None:
            assert mask.allowed is not None
            if out:
                draft.op("Where", mask.allowed, scores, draft.like(-np.inf, self.dtype, "masked"), out=out)
            # A finite fill avoids NaN in rows without allowed keys.
            # In all other rows, softmax gives masked keys the probability zero.
            fill = draft.like(self.lowest, self.dtype, "masked")
            return draft.op("Where", mask.allowed, scores, fill), (mask.allowed, True)
        bias = mask.bias
        if mask.allowed is not None:
            bias = draft.op("Where", mask.allowed, bias, draft.like(-np.inf, self.dtype, "masked"))
        masked = draft.op("Add", scores, bias, out=out)
        if mask.allowed is None and self._never_empty():
            return masked, None
        highest = Forms(draft).reduced("ReduceMax", bias, [-1], keep=True)
        empty = draft.op("Less", highest, draft.like(self.lowest, self.dtype, "lowest"))
        return masked, (empty, False)

    def _never_empty(self) -> bool:
        """Return whether the mask is stored and allows at least one key in each row."""
        payload = self.constants.payload(self.node.input(_MASK))
        if payload is None or payload.dtype.kind == "O":
            return False
        return bool(np.all(np.max(payload.astype(np.float64), axis=-1) > -np.inf))
