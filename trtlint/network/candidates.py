"""Find the tensors of a network that can be compared: tensors with the same name as an ONNX tensor."""

from __future__ import annotations

from collections import Counter

from onnx import ModelProto

from trtlint.model.contents import graphs
from trtlint.network.layers import Network


def candidates(proto: ModelProto, network: Network) -> dict[int, str]:
    """Return the names of network tensors that are also names of tensors in the ONNX main graph.

    The key of each name is the position of the tensor in ``Network.tensors``.  The result includes outputs of
    the network, but no inputs of the network.  Any other tensor is left out if its name is ambiguous.  A
    name is ambiguous if a model output, another network tensor, or a value in a subgraph or model-local
    function has the same name.
    """
    given = {name for node in proto.graph.node for name in node.output if name}
    inner: set[str] = set()
    for graph in graphs(proto):
        if graph is not proto.graph:
            inner.update(name for node in graph.node for name in node.output)
            inner.update(each.name for each in graph.input)
    for function in proto.functions:
        inner.update((*function.input, *function.output))
        inner.update(name for node in function.node for name in node.output)
    outputs = {output.name for output in proto.graph.output}
    counts = Counter(tensor.name for tensor in network.tensors)
    ends = set(network.outputs)
    return {
        place: tensor.name
        for place, tensor in enumerate(network.tensors)
        if tensor.name in given
        and place not in network.inputs
        and (place in ends or (tensor.name not in (inner | outputs) and counts[tensor.name] == 1))
    }
