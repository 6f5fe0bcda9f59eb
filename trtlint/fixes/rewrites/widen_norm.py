"""Compute the statistics of a decomposed norm in FP32."""

from __future__ import annotations

from typing import Literal

from onnx import helper

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, onnx_type
from trtlint.fixes.rewrites._norms import Norm, norm_of
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.operators import CAST
from trtlint.model.protos import FLOAT_DTYPES

_MOST_NODES = 64


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that computes, in FP32, the nodes from a norm's input to its division."""
    norm = norm_of(fact)
    nodes = _between(norm)
    if nodes is None:
        raise NotApplicable(f"the norm has more than {_MOST_NODES} operators")
    if norm.divide.output.dtype not in FLOAT_DTYPES or "f16" not in _types(nodes):
        raise NotApplicable("no part of the norm is in FP16")
    if any(node.domain or node.scope != norm.divide.scope for node in nodes):
        raise NotApplicable("the norm spans several graphs, or contains an operator outside the ONNX domain")
    return _written(norm, nodes, model, "f64" if "f64" in _types(nodes) else "f32")


def _types(nodes: list[Node]) -> set[str | None]:
    return {value.dtype for node in nodes for value in (*node.inputs, *node.outputs) if value is not None}


def _between(norm: Norm) -> list[Node] | None:
    """Return the nodes from the norm's input to its division, in graph order.

    The result is None if there are too many nodes.
    """
    reached: set[Node] = set()
    pending = [norm.divide]
    while pending:
        node = pending.pop()
        if node in reached:
            continue
        reached.add(node)
        if len(reached) > _MOST_NODES:
            return None
        pending += [v.producer for v in node.inputs if v is not None and v is not norm.tensor and v.producer]
    depends: set[Value] = {norm.tensor}
    nodes = []
    for node in sorted(reached, key=lambda node: node.index):
        if any(value in depends for value in node.inputs if value is not None):
            depends.update(node.outputs)
            nodes.append(node)
    return nodes


def _written(norm: Norm, nodes: list[Node], model: Model, dtype: Literal["f32", "f64"]) -> Patch:
    """Create a patch that computes the nodes of a norm in another type.

    Args:
        norm: the norm.
        nodes: nodes from the norm's input to its division.
        model: the model.
        dtype: type to compute in: ``f64`` if the norm contains an FP64 tensor, otherwise ``f32``. In FP16
            models, TorchScript adds a Python float as float64 to the variance. TensorRT reads this float as
            float32, but ONNX requires equal types.
    """
    draft = Draft(model, norm.divide)
    wide: dict[Value, str] = {}
    narrower = {"f16", "bf16", None, *(("f32",) if dtype == "f64" else ())}

    def widened(value: Value | None) -> str | Value | None:
        if value is None or value in wide or value.dtype not in narrower:
            return None if value is None else wide.get(value, value)
        wide[value] = draft.op("Cast", value, to=onnx_type(dtype))
        return wide[value]

    for node in nodes:
        first = node.inputs[0]
        if node.op in CAST and first is not None:
            source = widened(first)
            wide[node.output] = source if isinstance(source, str) else first.name
            continue
        attributes = {name: helper.get_attribute_value(proto) for name, proto in node.attributes.items()}
        wide[node.output] = draft.op(node.op, *[widened(value) for value in node.inputs], **attributes)
    result = norm.divide.output
    draft.op("Cast", wide[result], to=onnx_type(result.dtype or "f16"), out=result.name)
    name = "FP32" if dtype == "f32" else "FP64, which the TensorRT parser converts to FP32"
    return draft.patch(f"computes the norm in {name}", [norm.divide], around=nodes)
