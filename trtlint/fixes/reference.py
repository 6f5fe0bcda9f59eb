"""ONNX's reference: what models compute by it, in their own types and in FP64."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from trtlint.fixes.opsets import has, raises
from trtlint.model.protos import bodies, domain_of, opsets

_FLOATS = frozenset({1, 10, 11, 16})
_OPSETS = (19, 21, 23)
"""Opsets in which the reference has operators that it lacks in older ones."""
_LACKING = "implementation for operator"
"""What stands in its messages of operators that it lacks, in an opset or at all."""
_MASK = 3
"""The port of the mask of an ``Attention``."""

Array = np.ndarray[Any, np.dtype[Any]]


class NoImplementationError(Exception):
    """An operator that the reference has in no opset in which it means the same."""


def run_reference(proto: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    """The results, by ONNX's reference; in a newer opset where it lacks an operator in the model's.

    Raises:
        NoImplementationError: it lacks an operator.
        Exception: whatever it raises for tensors that do not fit.
    """
    from onnx.reference import ReferenceEvaluator

    own = opsets(proto).get("", 1)
    ops = set(_operators(proto.graph))
    for opset in (own, *_OPSETS):
        if opset > own and not all(has(op, opset) and has(op, own) and raises(op, own, opset) for op in ops):
            continue
        copy = onnx.ModelProto()
        copy.CopyFrom(proto)
        for entry in copy.opset_import:
            if not domain_of(entry.domain):
                entry.version = opset
        try:
            with np.errstate(all="ignore"):
                evaluator = ReferenceEvaluator(copy, new_ops=list(_more_ops()))
                return [np.asarray(each) for each in evaluator.run(None, dict(feeds))]
        except RuntimeError as error:
            if _LACKING not in str(error):
                raise
    raise NoImplementationError("ONNX's reference has no implementation of an operator")


def _operators(graph: onnx.GraphProto) -> Iterator[str]:
    """The types of the operators of ONNX in a graph and the bodies in it."""
    for node in graph.node:
        if not domain_of(node.domain):
            yield node.op_type
        for attribute in node.attribute:
            for body in bodies(attribute):
                yield from _operators(body)


@cache
def _more_ops() -> tuple[Any, ...]:
    """Operators that the reference does not compute as they are defined.

    It gives the definition of ``GroupNormalization`` no inputs, lets every query be the first one where a
    causal ``Attention`` has a mask of one row, and gives capped scores where those before that are wanted.
    https://onnx.ai/onnx/operators/onnx__GroupNormalization.html
    https://onnx.ai/onnx/operators/onnx__Attention.html
    """
    from onnx.reference.op_run import OpRun
    from onnx.reference.ops.op_attention import Attention_23

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
            small = wide.dtype.type(1e-5 if epsilon is None else epsilon)
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

    return GroupNormalization, Attention


def wide(array: Array) -> Array:
    """A tensor in FP64 where it is one of floats."""
    return array.astype(np.float64) if array.dtype.kind == "f" or array.dtype.name == "bfloat16" else array


def widened(proto: onnx.ModelProto) -> onnx.ModelProto:
    """A model that computes in FP64 what it computes in other float types."""
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    _widen_graph(copy.graph)
    return copy


def _widen_graph(graph: onnx.GraphProto) -> None:
    for tensor in graph.initializer:
        _widen(tensor)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.name in ("to", "softmax_precision", "dtype") and attribute.i in _FLOATS:
                attribute.i = onnx.TensorProto.DOUBLE
            elif attribute.HasField("t"):
                _widen(attribute.t)
            elif node.op_type == "Constant" and attribute.name in ("value_float", "value_floats"):
                numbers = np.array(helper.get_attribute_value(attribute), np.float64)
                attribute.CopyFrom(helper.make_attribute("value", numpy_helper.from_array(numbers)))
            for body in bodies(attribute):
                _widen_graph(body)


def _widen(tensor: onnx.TensorProto) -> None:
    if tensor.data_type in _FLOATS and tensor.data_location != onnx.TensorProto.EXTERNAL:
        numbers = numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(numpy_helper.from_array(numbers, tensor.name))
