"""Limit the iterations of Loop operators.  A Loop whose condition stays true would never end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import count

import numpy as np
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from trtlint.model.contents import graphs
from trtlint.model.protos import opsets

MOST = 10_000
"""trtlint computes at most this number of iterations of one loop, in the model and in the network."""
OWN = "trtlint/"
"""Prefix for the names of tensors that trtlint adds to a model."""
_LEAST_OPSET = 9
"""First opset in which Less and Where accept integers."""


def bound_loops(proto: ModelProto) -> None:
    """Change a model in place, so that the trip count of each ``Loop`` is at most :data:`MOST`.

    The results of a Loop with more iterations are then wrong.  trtlint does not compare these results,
    because the computation of the network fails at the same limit.
    """
    numbers = count()
    opset = opsets(proto).get("", 1)
    # Find all graphs before the first change: writing to a graph copies the bodies in it.
    holders: list[GraphProto | FunctionProto] = [*graphs(proto), *proto.functions]
    for holder in reversed(holders):
        known = _known(holder) if isinstance(holder, GraphProto) else {}
        nodes = list(_rewritten(holder.node, known, opset, numbers))
        if len(nodes) != len(holder.node):
            del holder.node[:]
            holder.node.extend(nodes)


def _rewritten(
    nodes: Iterable[NodeProto], known: Mapping[str, int], opset: int, numbers: Iterator[int]
) -> Iterator[NodeProto]:
    """Yield the nodes; before each Loop, also yield new nodes that limit the trip count of the Loop.

    Args:
        nodes: the nodes of one graph.
        known: the integer constants that the nodes can read, by name.
        opset: the opset of the model.
        numbers: numbers that make new tensor names unique.
    """
    for node in nodes:
        if node.op_type != "Loop" or node.domain not in ("", "ai.onnx") or not node.input:
            yield node
            continue
        given = node.input[0]
        if known.get(given, MOST + 1) <= MOST or (given and opset < _LEAST_OPSET):
            yield node
            continue
        name = f"{OWN}loop{next(numbers)}"
        yield helper.make_node(
            "Constant", [], [f"{name}/most"], value=helper.make_tensor("most", TensorProto.INT64, [], [MOST])
        )
        bound = f"{name}/most"
        if given:
            yield helper.make_node("Less", [given, bound], [f"{name}/less"])
            yield helper.make_node("Where", [f"{name}/less", given, bound], [f"{name}/count"])
            bound = f"{name}/count"
        changed = NodeProto()
        changed.CopyFrom(node)
        changed.input[0] = bound
        yield changed


def _known(graph: GraphProto) -> dict[str, int]:
    """Return the integer constants of a graph, by name."""
    found: dict[str, int] = {}
    for tensor in graph.initializer:
        _note(found, tensor.name, tensor)
    for node in graph.node:
        if node.op_type == "Constant" and node.output:
            for attribute in node.attribute:
                if attribute.name == "value":
                    _note(found, node.output[0], attribute.t)
                if attribute.name == "value_int":
                    found[node.output[0]] = attribute.i
    return found


def _note(found: dict[str, int], name: str, tensor: TensorProto) -> None:
    single = not tensor.external_data and int(np.prod(tensor.dims, dtype=np.int64)) == 1
    if single and tensor.data_type == TensorProto.INT64:
        found[name] = int(numpy_helper.to_array(tensor).item())
