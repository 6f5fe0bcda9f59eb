"""Find the tensors that the layers of a build write to memory.

Tensors inside a fused layer are never written to memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from trtlint.buildfiles.join import NodeNames, join
from trtlint.model.protos import FLOAT_DTYPES

if TYPE_CHECKING:
    from trtlint.buildfiles.record import BuildRecord
    from trtlint.model.graph import Node
    from trtlint.model.load import Model


class FusedLayers(Struct, frozen=True):
    """The tensors that the layers of a build write to memory.

    Attributes:
        source: origin of the layers: a file, or the name of a dry build.
        layers: number of layers that compute nodes of the model.
        nodes: number of nodes of the model that these layers compute.
        stored: names of the tensors that one layer writes and another layer reads.
    """

    source: str
    layers: int
    nodes: int
    stored: frozenset[str]


def fused_layers(model: Model, record: BuildRecord, source: str) -> FusedLayers | None:
    """Find the tensors that the layers of a build write to memory.

    A tensor is not written if one layer contains the producer and all consumers of the tensor. If the layer
    of the producer is unknown, trtlint assumes that the tensor is written.

    Args:
        model: the model.
        record: data about the layers of the build.
        source: origin of the layers: a file, or the name of a dry build.

    Returns:
        The tensors, or None if no layer names a node of the model.
    """
    if record.layers is None:
        return None
    joined = join(record.layers, NodeNames(model.graph, record.log), record.log)
    if not joined.layers:
        return None

    def layers(node: Node) -> frozenset[int]:
        return frozenset(layer.index for layer in joined.placed(node))

    stored = set()
    for node in model.graph.nodes:
        own = layers(node)
        for value in node.outputs:
            if not value.name or value.dtype not in FLOAT_DTYPES:
                continue
            inside = bool(value.uses) and all(own & layers(reader) for reader, _ in value.uses)
            if value.is_output or value.leaves_body or not inside:
                stored.add(value.name)
    indexes = {layer.index for found in joined.layers.values() for layer in found}
    return FusedLayers(source, len(indexes), len(joined.layers), frozenset(stored))
