"""Check whether inputs keep the tensors of a model within the bounds of a proof."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

Array = np.ndarray[Any, Any]
Bounds = Mapping[str, tuple[float, float]]


def bounds_of(applied: Iterable[Mapping[str, Any]]) -> dict[str, tuple[float, float]]:
    """Return the bounds in the proofs of rewrites, by tensor.

    Args:
        applied: the rewrites as JSON data.
    """
    found: dict[str, tuple[float, float]] = {}
    for each in applied:
        for bound in (each.get("proof") or {}).get("bounds", ()):
            low, high = found.get(bound["tensor"], (-np.inf, np.inf))
            ends = (-np.inf if bound["low"] is None else bound["low"], bound["high"])
            found[bound["tensor"]] = (
                max(low, ends[0]),
                high if ends[1] is None else min(high, ends[1]),
            )
    return found


def exposed(model: onnx.ModelProto, names: Iterable[str]) -> tuple[onnx.ModelProto, list[str]]:
    """Return a copy of a model with more outputs, and the names of these outputs.

    A tensor inside an `If` becomes an output of the branches and of the `If`; a branch without this tensor
    returns zero. Missing tensors and tensors in loop bodies are ignored.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    outputs = [added for name in names if (added := _expose(copy.graph, name))]
    return copy, outputs


def _expose(graph: onnx.GraphProto, name: str) -> str:
    """Make a tensor an output of a graph; return the name of the output, empty if the tensor is missing."""
    held = [*(each.name for each in graph.initializer), *(each.name for each in graph.input)]
    if name in held or any(name in node.output for node in graph.node):
        if all(each.name != name for each in graph.output):
            graph.output.append(helper.make_empty_tensor_value_info(name))
        return name
    for index, node in enumerate(graph.node):
        bodies = [each.g for each in node.attribute if each.HasField("g")]
        if node.op_type != "If" or not bodies:
            continue
        found = [_expose(body, name) for body in bodies]
        if not any(found):
            continue
        for body, inner in zip(bodies, found, strict=True):
            if not inner:
                zero = numpy_helper.from_array(np.zeros((), np.float32), f"{name}/none")
                body.node.append(helper.make_node("Constant", [], [zero.name], value=zero))
                body.output.append(helper.make_tensor_value_info(zero.name, onnx.TensorProto.FLOAT, []))
        node.output.append(f"{name}/if{index}")
        graph.output.append(helper.make_empty_tensor_value_info(node.output[-1]))
        return str(node.output[-1])
    return ""


def outside(arrays: Iterable[Array], limits: Iterable[tuple[float, float]]) -> bool:
    """Return whether an element of a tensor is outside its bounds. NaN does not count."""
    pairs = zip((np.asarray(each).astype(np.float64) for each in arrays), limits, strict=True)
    with np.errstate(invalid="ignore"):
        return any(not bool(((array >= low) & (array <= high)).all()) for array, (low, high) in pairs)
