"""Workarounds for operators that ONNX's reference evaluator computes incorrectly."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper

from trtlint.model.payload import Array

_TRUE = "trtlint/true"
_MASK = 3
"""Input index of the mask of ``Attention``."""


def with_initial_conditions(proto: ModelProto) -> ModelProto:
    """Give every ``Loop`` of the main graph an initial condition.

    The reference evaluator never runs the body of a ``Loop`` without an initial condition. According to ONNX,
    the body must run (https://onnx.ai/onnx/operators/onnx__Loop.html).
    """
    if all(node.op_type != "Loop" or "".join(node.input[1:2]) for node in proto.graph.node):
        return proto
    copy = ModelProto()
    copy.CopyFrom(proto)
    copy.graph.initializer.append(helper.make_tensor(_TRUE, TensorProto.BOOL, [], [True]))
    for node in copy.graph.node:
        if node.op_type == "Loop" and not "".join(node.input[1:2]):
            node.input.extend([""] * (2 - len(node.input)))
            node.input[1] = _TRUE
    return copy


def has_scan_outputs(proto: ModelProto) -> bool:
    """Return whether a ``Loop`` of the main graph has scan outputs.

    The reference evaluator concatenates scan outputs along the first axis, instead of stacking them along a
    new leading axis.
    """
    return any(node.op_type == "Loop" and len(node.output) > len(node.input) - 2 for node in proto.graph.node)


def evaluator_of(proto: ModelProto) -> Any:
    """Load a model into ONNX's reference evaluator, with the workarounds of this module.

    Raises:
        ValueError: the evaluator would compute a Loop of the model incorrectly.
        Exception: any error of the evaluator.  It means that the evaluator does not support the model.
    """
    from onnx.reference import ReferenceEvaluator

    if has_scan_outputs(proto):
        raise ValueError("ONNX's reference evaluator stacks the scan outputs of a Loop incorrectly")
    return ReferenceEvaluator(with_initial_conditions(proto), new_ops=list(more_ops()))


@cache
def more_ops() -> tuple[Any, ...]:
    """Return implementations of operators that :class:`onnx.reference.ReferenceEvaluator` computes wrongly.

    The reference evaluator has these bugs:
    - The evaluator passes no inputs to the function body of ``GroupNormalization``
      (https://onnx.ai/onnx/operators/onnx__GroupNormalization.html).
    - In a causal ``Attention`` with a mask of one row, the evaluator treats every query as the first query
      (https://onnx.ai/onnx/operators/onnx__Attention.html).
    - If an output of ``Attention`` must be the scores before the soft cap, the evaluator returns the scores
      after the soft cap.
    - ``GatherElements``: see :func:`~trtlint.measurement.referencesession.gather_elements`.
    """
    from onnx.reference.op_run import OpRun
    from onnx.reference.ops.op_attention import Attention_23

    from trtlint.measurement.referencesession import gather_elements

    class GroupNormalization(OpRun):  # type: ignore[misc, unused-ignore] # onnx may come without stubs
        op_domain = ""

        def _run(
            self,
            x: Array,
            scale: Array,
            bias: Array,
            epsilon: float | None = None,
            num_groups: int | None = None,
            stash_type: int | None = None,
        ) -> tuple[Array]:
            groups, wide = int(num_groups or 1), x
            if (stash_type or 1) == 1 and x.dtype.itemsize < np.dtype(np.float32).itemsize:
                wide = x.astype(np.float32)
            apart = wide.reshape(x.shape[0], groups, -1)
            centre = apart - apart.mean(axis=-1, keepdims=True)
            variance = (centre * centre).mean(axis=-1, keepdims=True)
            small = wide.dtype.type(epsilon)
            normed = (centre / np.sqrt(variance + small)).reshape(x.shape).astype(x.dtype)
            each = x.shape[1] // scale.shape[0]  # channels that share a parameter, before opset 21
            spread = (-1, *[1] * (x.ndim - 2))
            gain, shift = (np.repeat(given, each).reshape(spread) for given in (scale, bias))
            return ((normed * gain + shift).astype(x.dtype),)

    class Attention(Attention_23):  # type: ignore[misc, unused-ignore]
        op_domain = ""

        def _run(self, *tensors: Any, **given: Any) -> Any:  # type: ignore[override, unused-ignore]
            read = list(tensors)
            mask = read[_MASK] if len(read) > _MASK else None
            if mask is not None and given.get("is_causal") and mask.shape[-2:-1] == (1,):
                read[_MASK] = np.repeat(mask, read[0].shape[-2], axis=-2)
            results: Any = super()._run(*read, **given)
            if given.get("softcap") and not given.get("qk_matmul_output_mode"):
                scores = super()._run(*read, **{**given, "softcap": 0.0})[-1]
                results = (*results[:-1], scores)
            return results

    return GroupNormalization, Attention, gather_elements()
