"""Find the nodes that compute a tensor, and run them in ONNX's reference evaluator.

The inputs of these nodes are tensors whose values agree in the network and in ONNX.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from onnx import GraphProto, ModelProto, NodeProto, helper

from trtlint.compare.reference import evaluator_of
from trtlint.model.contents import reads
from trtlint.model.widening import Types, widen_node
from trtlint.network.layers import Array

_MOST_NODES = 64
_MOST_BYTES = 256 << 20
"""Largest total size, in bytes, of the tensors that ONNX's reference evaluator gets as inputs."""


class Subgraph(Struct, frozen=True, eq=False):
    """Some nodes of a model, which together compute one tensor.

    Attributes:
        nodes: the nodes in the model's order; the last node computes the tensor.
        inputs: the names of the tensors that the nodes read, but do not compute.
    """

    nodes: tuple[NodeProto, ...]
    inputs: tuple[str, ...]

    @property
    def others(self) -> tuple[str, ...]:
        """Return the operator types of the nodes.  Constants and the last node do not count."""
        return tuple(node.op_type for node in self.nodes[:-1] if node.op_type != "Constant")


class Regions:
    """Finds the ONNX nodes that compute a tensor.

    The inputs of these nodes are tensors whose values agree in the network and in ONNX.

    Args:
        proto: the model.
    """

    def __init__(self, proto: ModelProto) -> None:
        self._proto = proto
        self._nodes = list(proto.graph.node)
        self._giver = {name: place for place, node in enumerate(self._nodes) for name in node.output if name}

    def of(self, tensor: str, settled: frozenset[str] | set[str]) -> Subgraph:
        """Return the nodes that compute a tensor, from the tensors in ``settled``.

        Args:
            tensor: name of the tensor.
            settled: names of the tensors whose values agree in the network and in ONNX.
        """
        places = {self._giver[tensor]}
        waiting = [self._giver[tensor]]
        while waiting and len(places) < _MOST_NODES:
            for name in reads(self._nodes[waiting.pop(0)]):
                place = None if name in settled else self._giver.get(name)
                if place is not None and place not in places:
                    places.add(place)
                    waiting.append(place)
        nodes = [self._nodes[place] for place in sorted(places)]
        given = {name for node in nodes for name in node.output}
        known = {*self._giver, *(each.name for each in self._proto.graph.input)}
        known.update(each.name for each in self._proto.graph.initializer)
        read = dict.fromkeys(name for node in nodes for name in reads(node))
        return Subgraph(tuple(nodes), tuple(name for name in read if name not in given and name in known))

    def second_opinion(
        self, region: Subgraph, tensor: str, values: Mapping[str, Array], types: Types | None = None
    ) -> Array | None:
        """Compute a tensor with ONNX's reference evaluator. Return None if the evaluator fails.

        Args:
            region: the nodes that compute the tensor.
            tensor: the name of the tensor.
            values: the tensors that the nodes read, by name.
            types: types that replace types of the nodes; None to keep the types of the nodes.
        """
        if any(name not in values for name in region.inputs):
            return None
        if sum(array.nbytes for array in values.values()) > _MOST_BYTES:
            return None
        inputs = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(values[name].dtype), None)
            for name in region.inputs
        ]
        nodes = [NodeProto.FromString(node.SerializeToString()) for node in region.nodes]
        for node in nodes if types is not None else ():
            widen_node(node, types or {})
        graph: GraphProto = helper.make_graph(
            nodes, "part", inputs, [helper.make_empty_tensor_value_info(tensor)]
        )
        model = helper.make_model(
            graph, opset_imports=list(self._proto.opset_import), functions=list(self._proto.functions)
        )
        try:
            with np.errstate(all="ignore"):
                found: Any = evaluator_of(model).run(None, {name: values[name] for name in region.inputs})
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 - ONNX's reference raises many classes for unsupported nodes
            return None
        return np.asarray(found[0])
