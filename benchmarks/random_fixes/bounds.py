"""Whether inputs keep tensors of a model within the numbers that a proof names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

Array = np.ndarray[Any, Any]
Bounds = Mapping[str, tuple[float, float]]


def bounds_of(applied: Iterable[Mapping[str, Any]]) -> dict[str, tuple[float, float]]:
    """Return the bounds that the proofs of rewrites name, by tensor.

    Args:
        applied: the rewrites, as JSON has them.
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
    """Return a copy of a model with further outputs, and the names of these.

    A tensor in branches of an `If` becomes an output of these and of the `If`; a branch that lacks it gives
    zero. Tensors that the model lacks, and those in the body of a loop, are left out.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    outputs = [added for name in names if (added := _expose(copy.graph, name))]
    return copy, outputs


def _expose(graph: onnx.GraphProto, name: str) -> str:
    """Make a tensor an output of a graph; return the name of the output, empty where it is not there."""
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
    """Return whether an element of a tensor does not lie between its bounds; NaN does not."""
    pairs = zip((np.asarray(each).astype(np.float64) for each in arrays), limits, strict=True)
    with np.errstate(invalid="ignore"):
        return any(not bool(((array >= low) & (array <= high)).all()) for array, (low, high) in pairs)
