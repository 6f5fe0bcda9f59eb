"""Use the metadata of nearby operators to find Add operators that PyTorch's exporter removed.

``torch.onnx.export(dynamo=True)`` creates operators from FX nodes.  The exporter writes the text of the FX
node into the metadata of the operator.  This text names the operands of the FX node.  The ONNX values of
these operands have the same names
(https://github.com/pytorch/pytorch/blob/main/torch/onnx/_internal/exporter/_core.py).  If an FX node reads
``%add_3`` and the file has no value with this name, the exporter removed an addition.
"""

from __future__ import annotations

import re

from trtlint.model.graph import Graph, Node, Value
from trtlint.model.protos import text

_FX_NODE = "pkg.torch.onnx.fx_node"
_LONGEST = 65536
"""Largest number of characters that trtlint reads from the text of an FX node."""
_READ = re.compile(r"%(\w{1,200})")
_ADDITION = re.compile(r"add_?(?:_\d{1,9}|_tensor\w{0,20}|_scalar\w{0,20})?")
"""Pattern of the FX names of ``aten.add`` results.  Names of ``addmm`` and ``addcmul`` do not match."""


def dropped_before(node: Node, value: Value, graph: Graph) -> bool | None:
    """Return whether PyTorch's exporter removed an addition between ``value`` and ``node``.

    Args:
        node: the operator that reads the value.
        value: an input of ``node``.
        graph: the graph that contains ``node`` and ``value``.

    Returns:
        True or False, or None if the metadata of ``node`` do not show whether an addition was removed.
    """
    written = _fx_node(node)
    if not written:
        return None
    if value.producer is not None and _fx_node(value.producer) == written:
        return False  # both operators come from one FX node
    read = _READ.findall(written.partition("(args = ")[2])
    if value.name in read:
        return False
    missing = [name for name in read if graph.resolve(name, node.scope) is None]
    return True if any(_ADDITION.fullmatch(name) for name in missing) else None


def _fx_node(node: Node) -> str:
    found = (text(entry.value) for entry in node.proto.metadata_props if text(entry.key) == _FX_NODE)
    return next(found, "")[:_LONGEST]
