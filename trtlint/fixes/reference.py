"""ONNX's reference: what models compute by it, in their own types and in FP64."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from trtlint.compare.reference import more_ops
from trtlint.errors import ExperimentError
from trtlint.fixes.opsets import has, raises
from trtlint.model.contents import nodes
from trtlint.model.protos import bodies, domain_of, opsets

_FLOATS = frozenset({1, 10, 11, 16})
_OPSETS = (19, 21, 23)
"""Opsets in which the reference has operators that it lacks in older ones."""
_LACKING = "implementation for operator"
"""What stands in its messages of operators that it lacks, in an opset or at all."""

Array = np.ndarray[Any, np.dtype[Any]]


class NoImplementationError(ExperimentError):
    """An operator that the reference has in no opset in which it means the same."""


def run_reference(proto: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    """The results, by ONNX's reference; in a newer opset where it lacks an operator in the model's.

    Raises:
        NoImplementationError: it lacks an operator.
        Exception: whatever it raises for tensors that do not fit.
    """
    from onnx.reference import ReferenceEvaluator

    own = opsets(proto).get("", 1)
    ops = {node.op_type for node in nodes(proto) if not domain_of(node.domain)}
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
                evaluator = ReferenceEvaluator(copy, new_ops=list(more_ops()))
                return [np.asarray(each) for each in evaluator.run(None, dict(feeds))]
        except RuntimeError as error:
            if _LACKING not in str(error):
                raise
    raise NoImplementationError("ONNX's reference has no implementation of an operator")


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
