"""Expand operands that an operator broadcasts in ONNX, but not in ONNX Runtime.

ONNX Runtime requires that the caches of ``RotaryEmbedding`` have the batch size of the data input. Exporters
store one cache for the whole batch: https://onnx.ai/onnx/operators/onnx__RotaryEmbedding.html
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trtlint.measurement.writing import GraphWriter
from trtlint.model.graph import Node

_DATA, _CACHES, _POSITIONS = 0, (1, 2), 3
_CACHE_RANK = 3


def spread(node: Node, names: Sequence[str], write: GraphWriter) -> list[str]:
    """Expand an operator's inputs that have no batch axis, and return the new names of all inputs.

    Args:
        node: the operator.
        names: names of the inputs.
        write: writer of the graph.
    """
    found = list(names)
    if node.domain or node.op != "RotaryEmbedding" or node.input(_POSITIONS) is not None:
        return found
    data = node.input(_DATA)
    if data is None or (data.shape and data.shape[0] == 1):
        return found
    for port in _CACHES:
        cache = node.input(port)
        if cache is None or cache.shape is None or len(cache.shape) != _CACHE_RANK or cache.shape[0] != 1:
            continue
        batch = write.add("Shape", [found[_DATA]], start=0, end=1)
        shape = write.add("Concat", [batch, write.constant([1, 1], np.int64)], axis=0)
        found[port] = write.add("Expand", [found[port], shape])
    return found
