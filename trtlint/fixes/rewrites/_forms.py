"""Insert operators in the form that the opset of the model requires."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trtlint.fixes.opsets import raisable
from trtlint.fixes.patch import Draft, numpy_type, onnx_type, opset_of
from trtlint.model.graph import Node, Value
from trtlint.model.protos import Dimension

_AXES_ARE_INPUTS = 13
"""First opset in which ``Unsqueeze`` takes its axes from an input.

Reductions such as ``ReduceMean`` take their axes from an input since opset 18.
"""
_REDUCED_BY_INPUTS = 18
_BOUNDS_ARE_INPUTS = 11
LAYER_NORM_SINCE = 17
"""First opset with ``LayerNormalization``."""
_DEEPEST = 32
_RANK_STAYS = frozenset(
    {"Cast", "Identity", "Slice", "Split", "Softmax", "Sqrt", "Neg", "LayerNormalization"}
)

Tensor = str | Value


class Forms:
    """Inserts operators into a draft, and records the lowest opset that these operators need.

    Args:
        draft: the draft of the patch.
    """

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.opset = 0
        self._own = opset_of(draft.model)

    def unsqueeze(self, value: Tensor, *axes: int, out: str = "") -> str:
        """Insert an Unsqueeze, which adds axes of size one."""
        if self._own < _AXES_ARE_INPUTS:
            return self.draft.op("Unsqueeze", value, axes=list(axes), out=out)
        return self.draft.op("Unsqueeze", value, self.draft.ints(*axes), out=out)

    def squeeze(self, value: Tensor, *axes: int) -> str:
        """Insert a Squeeze, which removes axes of size one."""
        if self._own < _AXES_ARE_INPUTS:
            return self.draft.op("Squeeze", value, axes=list(axes))
        return self.draft.op("Squeeze", value, self.draft.ints(*axes))

    def reduced(
        self, op: str, value: Tensor, axes: Sequence[int], out: str = "", *, keep: bool = False
    ) -> str:
        """Insert the reduction ``op`` over ``axes``, or over all axes if ``axes`` is empty.

        If ``keep`` is true, the result keeps the reduced axes with size one.
        """
        if not axes:
            return self.draft.op(op, value, keepdims=int(keep), out=out)
        if self._own < (_AXES_ARE_INPUTS if op == "ReduceSum" else _REDUCED_BY_INPUTS):
            return self.draft.op(op, value, axes=list(axes), keepdims=int(keep), out=out)
        return self.draft.op(op, value, self.draft.ints(*axes), keepdims=int(keep), out=out)

    def mean(self, value: Tensor) -> str:
        """Insert the mean over the last axis, which stays as an axis of size one."""
        return self.reduced("ReduceMean", value, [-1], keep=True)

    def clip(self, value: Tensor, low: float, high: float, dtype: str, out: str = "") -> str:
        """Insert a Clip to the range from ``low`` to ``high``."""
        if self._own < _BOUNDS_ARE_INPUTS:
            return self.draft.op("Clip", value, min=low, max=high, out=out)
        bounds = (self.draft.like(low, dtype, "low"), self.draft.like(high, dtype, "high"))
        return self.draft.op("Clip", value, *bounds, out=out)

    def part(self, value: Tensor, axis: int, start: int, stop: int, step: int = 1) -> str:
        """Insert a Slice along one axis."""
        draft = self.draft
        return draft.op("Slice", value, *(draft.ints(number) for number in (start, stop, axis, step)))

    def layer_norm(
        self, value: Tensor, gain: Tensor | None, bias: Tensor | None, epsilon: float, dtype: str, out: str
    ) -> str:
        """Insert a layer norm over the last axis.

        Use the operator LayerNormalization if the opset of the model can be raised to 17.
        """
        draft = self.draft
        if gain is not None and raisable(draft.model, LAYER_NORM_SINCE):
            self.opset = LAYER_NORM_SINCE
            given = [value, gain, *([] if bias is None else [bias])]
            return draft.op("LayerNormalization", *given, axis=-1, epsilon=epsilon, out=out)
        wide = self.widened(value, dtype)
        deviation = draft.op("Sub", wide, self.mean(wide))
        return self._normed(deviation, gain, bias, epsilon, dtype, out)

    def rms_norm(self, value: Tensor, gain: Tensor, epsilon: float, dtype: str, out: str) -> str:
        """Insert an RMS norm over the last axis. The mean of squares is computed in FP32."""
        return self._normed(self.widened(value, dtype), gain, None, epsilon, dtype, out)

    def widened(self, value: Tensor, dtype: str) -> Tensor:
        """Insert a Cast of a 16-bit tensor to FP32. Return an FP32 or FP64 tensor unchanged."""
        return value if dtype in ("f32", "f64") else self.draft.op("Cast", value, to=onnx_type("f32"))

    def _normed(
        self, value: Tensor, gain: Tensor | None, bias: Tensor | None, epsilon: float, dtype: str, out: str
    ) -> str:
        draft = self.draft
        wide = dtype if dtype in ("f32", "f64") else "f32"
        square = self.mean(draft.op("Mul", value, value))
        root = draft.op("Sqrt", draft.op("Add", square, draft.like(epsilon, wide, "epsilon")))
        steps: list[tuple[str, Tensor]] = [("Div", root)]
        steps += [] if gain is None else [("Mul", self.widened(gain, dtype))]
        steps += [] if bias is None else [("Add", self.widened(bias, dtype))]
        result = ""
        for index, (op, other) in enumerate(steps):
            last = index == len(steps) - 1 and wide == dtype
            result = draft.op(op, result or value, other, out=out if last else "")
        return result if wide == dtype else draft.op("Cast", result, to=onnx_type(dtype), out=out)

    def group_norm(
        self,
        value: Tensor,
        groups: int,
        parameters: Sequence[Tensor],
        channels: int,
        rank: int,
        epsilon: float,
        dtype: str,
        out: str = "",
    ) -> str:
        """Insert a group norm.

        A group norm is an instance norm of each group, followed by the gain and bias of each channel.

        Args:
            value: tensor with the axes batch, channels, and any further axes.
            groups: number of groups.
            parameters: gain and bias of each channel.
            channels: number of channels.
            rank: rank of the tensor.
            epsilon: the number that is added to the variance.
            dtype: element type of the tensor.
            out: name of the result.
        """
        draft = self.draft
        kind: Any = numpy_type(dtype)
        ones, zeros = (draft.constant(np.full(groups, number, kind), "groups") for number in (1, 0))
        apart = draft.op("Reshape", value, draft.ints(0, groups, -1))
        normed = draft.op("InstanceNormalization", apart, ones, zeros, epsilon=epsilon)
        whole = draft.op("Reshape", normed, draft.op("Shape", value))
        spread = draft.ints(channels, *[1] * (rank - 2))
        gain, bias = (draft.op("Reshape", parameter, spread) for parameter in parameters)
        return draft.op("Add", draft.op("Mul", whole, gain), bias, out=out)


def heads_apart(draft: Draft, tensor: Tensor, heads: int, size: Dimension, *, out: str = "") -> str:
    """Insert operators that turn [batch, positions, features] into [batch, heads, positions, size]."""
    return draft.op("Transpose", in_heads(draft, tensor, heads, size), perm=[0, 2, 1, 3], out=out)


def in_heads(draft: Draft, tensor: Tensor, heads: int, size: Dimension) -> str:
    """Insert a Reshape from [batch, positions, features] to [batch, positions, heads, size].

    If ``size`` is known, the new shape contains it. Reshape cannot infer a size if the batch or the length is
    empty.
    """
    return draft.op("Reshape", tensor, draft.ints(0, 0, heads, size if isinstance(size, int) else -1))


def heads_joined(draft: Draft, tensor: Tensor, heads: int, size: Dimension, *, out: str) -> str:
    """Insert a Reshape from [batch, positions, heads, size] to [batch, positions, features]."""
    return draft.op(
        "Reshape", tensor, draft.ints(0, 0, heads * size if isinstance(size, int) else -1), out=out
    )


def output_name(node: Node, port: int) -> str:
    """Return the name of output ``port``, or an empty string if the node has no such output."""
    return node.outputs[port].name if port < len(node.outputs) else ""


def rank_of(value: Value | None, depth: int = 0) -> int | None:
    """Return the rank of a value, or None if it is unknown.

    The rank comes from shape inference, or from the operators that compute the value, such as a Reshape.
    """
    if value is None or value.rank is not None or value.producer is None or depth > _DEEPEST:
        return None if value is None else value.rank
    node = value.producer
    if node.domain:
        return None
    if node.op == "Reshape":
        target = node.input(1)
        count = target.shape[0] if target is not None and target.shape and len(target.shape) == 1 else None
        return count if isinstance(count, int) else None
    if node.op == "Transpose" and node.attribute("perm") is not None:
        return len(node.attribute("perm"))
    first = rank_of(node.input(0), depth + 1)
    if node.op == "Gather":
        second = rank_of(node.input(1), depth + 1)
        return None if first is None or second is None else first + second - 1
    return first if node.op in _RANK_STAYS else None
