"""Name nodes, and find the original node in the file for each node that ONNX Runtime rewrote.

Rewrites remove, merge and copy nodes.  They also move nodes out of the branch of an ``If`` with a constant
condition. But reports name the nodes in the file.  So trtlint stores the path of each node in the
``doc_string`` of the node.  ONNX Runtime does not change this attribute.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import onnx

from trtlint.model.contents import graphs, nodes, reads
from trtlint.model.graph import WITH_BODIES
from trtlint.model.unique_names import UniqueNames

MOST_BODIES = 20
"""Largest depth of nested subgraphs."""
MARK = "trtlint.path:"
"""Prefix of the ``doc_string`` in which a node's path in the original file is stored."""
_COPY = re.compile(r"/duplicated(?:_token_\d+)?$")
"""Pattern of the suffix that ONNX Runtime appends to the name of a copied DequantizeLinear.

https://onnxruntime.ai/docs/performance/model-optimizations/quantization.html
"""


Merged = dict[str, list[list[str]]]
"""For the path of each remaining node, the path and operator type of each node that was merged into it."""


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


def mark(graph: onnx.GraphProto) -> dict[str, onnx.NodeProto]:
    """Write the path of each node into its ``doc_string``.  Return all nodes by their paths."""
    found: dict[str, onnx.NodeProto] = {}
    _mark(graph, "", found, UniqueNames(), 0)
    return found


def _mark(
    graph: onnx.GraphProto, scope: str, found: dict[str, onnx.NodeProto], paths: UniqueNames, depth: int
) -> None:
    for index, node in enumerate(graph.node):
        path = paths.add(path_of(node, index, scope))
        found[path] = node
        node.doc_string = MARK + path
    if depth < MOST_BODIES:
        for node in graph.node:
            for each in bodies(node):
                _mark(each.g, f"{path_of(node, 0, scope)}/{each.name}", found, paths, depth + 1)


def merged(before: Mapping[str, onnx.NodeProto], after: onnx.ModelProto) -> Merged:
    """Assign to each rewritten node the path of a node in the file, where possible.

    Args:
        before: the marked nodes.  The keys are the paths of the nodes in the file.
        after: the model after the rewrites. A new node gets the path of a node that it replaces.

    Returns:
        The nodes that were merged into other nodes.  The result does not include nodes that ONNX Runtime
        folds into constants or only removes.
    """
    producers = {name: path for path, node in before.items() for name in node.output if name}
    after_nodes = list(nodes(after))
    kept = {node.doc_string[len(MARK) :] for node in after_nodes if node.doc_string.startswith(MARK)}
    stored = {tensor.name for graph in graphs(after) for tensor in graph.initializer}
    for node in after_nodes:
        if node.doc_string.startswith(MARK):
            continue
        copied = _COPY.sub("", node.name)
        path = copied if copied != node.name and copied in before else None
        if path is None:
            computed = (producers[name] for name in node.output if name in producers)
            path = next((each for each in computed if each not in kept), None)
        if path is not None:
            kept.add(path)
            node.doc_string = MARK + path
    return _homes(before, kept, stored)


def _homes(before: Mapping[str, onnx.NodeProto], kept: set[str], stored: set[str]) -> Merged:
    """For the path of each remaining node, return the nodes that rewrites merged into it."""
    readers: dict[str, list[str]] = {}
    for path, node in before.items():
        for name in reads(node):
            readers.setdefault(name, []).append(path)
    home: dict[str, str] = {path: path for path in kept}
    found: Merged = {}
    # The dictionary has the order of the graph. In the reversed order, readers come before producers.
    for path, node in reversed(list(before.items())):
        if path in kept or node.op_type in WITH_BODIES or node.op_type in ("Identity", "Constant"):
            continue
        if all(name in stored for name in node.output if name):
            continue
        after = (reader for name in node.output if name for reader in readers.get(name, ()))
        target = next((home[reader] for reader in after if reader in home), None)
        if target is not None:
            home[path] = target
            found.setdefault(target, []).insert(0, [path, node.op_type])
    return found
