"""Lower the model's opset if no operator changes its meaning."""

from __future__ import annotations

from collections import defaultdict

from trtlint.facts.base import Fact
from trtlint.fixes.opsets import difference, has
from trtlint.fixes.patch import NotApplicable, Patch
from trtlint.model.graph import Node
from trtlint.model.load import Model

_LEAST = 17
"""Lowest opset that the rewrite sets. Every parser since TensorRT 8.6 supports this opset."""


def propose(_fact: Fact, model: Model) -> Patch:
    """Create a patch that lowers the opset as far as possible without changing the meaning of an operator."""
    opset = model.opset
    if opset is None or opset <= _LEAST:
        raise NotApplicable(f"the opset is already {_LEAST} or older")
    lowest, limit = _LEAST, ""
    nodes: dict[str, list[Node]] = defaultdict(list)
    for node in model.graph.nodes:
        if not node.domain:
            nodes[node.op].append(node)
    for op, same in nodes.items():
        if not has(op, opset):
            raise NotApplicable(f"opset {opset} has no {op}")
        reasons = (difference(node, lowest, opset) for node in same)
        while reason := next(filter(None, reasons), ""):
            limit = reason
            lowest += 1
            if lowest == opset:
                raise NotApplicable(limit)
            reasons = (difference(node, lowest, opset) for node in same)
    return Patch(f"lowers the opset from {opset} to {lowest}", (), (), set_opset=lowest, limit=limit)
