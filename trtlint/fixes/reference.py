"""Run models in ONNX's reference evaluator, in their own types or in FP64."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy

import numpy as np
import onnx
from onnx import helper

from trtlint.compare.reference import more_ops
from trtlint.errors import ExperimentError
from trtlint.fixes.edit import set_opset
from trtlint.fixes.opsets import has, raises
from trtlint.model.contents import nodes
from trtlint.model.load import Model
from trtlint.model.payload import Array
from trtlint.model.protos import domain_of, opsets
from trtlint.model.widening import FP64, widen_model

_OPSETS = (19, 21, 23)
"""Newer opsets to try if the reference evaluator does not implement an operator in the model's opset."""
_LACKING = "implementation for operator"
"""Text in the evaluator's messages about operators that it does not implement."""


class NoImplementationError(ExperimentError):
    """Error: ONNX's reference evaluator does not implement an operator.

    Running the model in a newer opset does not help: the operator has a different meaning in every opset in
    which the evaluator implements it.
    """


def run_reference(proto: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    """Run a model in ONNX's reference evaluator.

    If the evaluator does not implement an operator in the model's opset, the function runs the model in a
    newer opset in which all operators of the model have the same meaning.

    Raises:
        NoImplementationError: the evaluator does not implement an operator.
        Exception: any error of the evaluator, for example if input shapes do not match.
    """
    from onnx.reference import ReferenceEvaluator

    own = opsets(proto).get("", 1)
    ops = {node.op_type for node in nodes(proto) if not domain_of(node.domain)}
    newer = [
        opset
        for opset in _OPSETS
        if opset > own and all(has(op, opset) and has(op, own) and raises(op, own, opset) for op in ops)
    ]
    for opset in (own, *newer):
        copy = deepcopy(proto)
        set_opset(copy, opset)
        try:
            with np.errstate(all="ignore"):
                evaluator = ReferenceEvaluator(copy, new_ops=list(more_ops()))
                return [np.asarray(each) for each in evaluator.run(None, dict(feeds))]
        except RuntimeError as error:
            if _LACKING not in str(error):
                raise
    raise NoImplementationError("ONNX's reference evaluator does not implement one of the operators")


def part_of(
    model: Model,
    nodes: Iterable[onnx.NodeProto],
    inputs: Iterable[str],
    outputs: Iterable[str],
    tensors: Iterable[onnx.TensorProto] = (),
) -> onnx.ModelProto:
    """Build a model from ``nodes``, with the opsets of ``model``.

    Args:
        model: the model.
        nodes: the nodes, in data-flow order.
        inputs: names of the inputs. Their types are not declared.
        outputs: names of the outputs. Their types are not declared.
        tensors: stored tensors.
    """
    read, given = (
        [helper.make_value_info(name, onnx.TypeProto()) for name in names] for names in (inputs, outputs)
    )
    graph = helper.make_graph(list(nodes), "part", read, given, list(tensors))
    opsets = [helper.make_opsetid(domain, version) for domain, version in model.opsets.items()]
    return helper.make_model(graph, opset_imports=opsets)


def wide(array: Array) -> Array:
    """Convert a float tensor to FP64."""
    return array.astype(np.float64) if array.dtype.kind == "f" or array.dtype.name == "bfloat16" else array


def widened(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy of a model in which FP64 replaces all float types."""
    copy = deepcopy(proto)
    widen_model(copy, FP64)
    return copy
