"""Give nodes the names and inputs that execution providers get from ONNX Runtime.

If a subgraph of a node reads a value of an outer graph, the node gets this value as an input, too.
"""

from __future__ import annotations

from collections.abc import Iterator

import onnx

from trtlint.model.contents import reads
from trtlint.partition.regions import Operator

MOST_BODIES = 20
"""Largest depth of nested subgraphs."""
MARK = "trtlint.path:"
"""Prefix of the ``doc_string`` in which a node's path in the original file is stored."""


def operator(node: onnx.NodeProto) -> Operator:
    """Return a node as execution providers get it: name, operator, inputs and outputs."""
    return Operator(node.name, node.op_type, tuple(reads(node)), tuple(filter(None, node.output)))


def path_of(node: onnx.NodeProto, index: int, scope: str) -> str:
    """Return the path of a node for reports.

    If the ``doc_string`` of the node holds a path, return this path. Otherwise, make the path from ``scope``
    and the name of the node.  The name of an unnamed node is made from its operator type and ``index``.

    ``index`` is the position of the node in its graph, and ``scope`` the path of the graph.
    """
    if node.doc_string.startswith(MARK):
        return node.doc_string[len(MARK) :]
    own = node.name or f"{node.op_type}_{index}"
    return f"{scope}/{own}" if scope else own


def bodies(node: onnx.NodeProto) -> Iterator[onnx.AttributeProto]:
    """Yield the attributes that contain a subgraph."""
    return (each for each in node.attribute if each.HasField("g"))
