"""Find groups of operators that TensorRT's builder fuses.

A Cast inside a group would prevent the fusion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from trtlint.case import facts_of
from trtlint.facts.base import Fact
from trtlint.facts.of_model.normalization import Normalization
from trtlint.model.graph import Graph, Node
from trtlint.model.load import Model

_ENDS = ("scores", "softmax", "product")
_MOST_BETWEEN = 200
"""Largest number of operators between the two products of an attention block."""


class Island(Struct, frozen=True):
    """A group of operators that must get the same type.

    In an attention block, the types may differ if an operator must stay in FP32, because TensorRT does not
    fuse attention in FP32.

    Attributes:
        kind: ``attention``, ``norm`` or ``quantizers``.
        nodes: the operators.
    """

    kind: str
    nodes: frozenset[Node]


def islands(model: Model) -> list[Island]:
    """Return all groups of operators: attention blocks, then norms, then quantizers."""
    facts = facts_of(model)
    found = [
        Island("attention", nodes)
        for fact in facts.of("attention")
        if (nodes := _attention(fact, model.graph))
    ]
    found += [
        Island("norm", frozenset(step.node for step in fact.chain))
        for fact in facts.of("normalization")
        if isinstance(fact, Normalization) and fact.form == "decomposed" and fact.family != "batch"
    ]
    for node in model.graph.of_onnx("QuantizeLinear"):
        readers = (reader for reader, _ in node.output.uses if reader.op == "DequantizeLinear")
        found.append(Island("quantizers", frozenset({node, *readers})))
    return [each for each in found if len(each.nodes) > 1]


def _attention(fact: Fact, graph: Graph) -> frozenset[Node]:
    """Return the operators of an attention block, from the product of Q and K to the product with V."""
    parts = {step.role: step.node for step in fact.chain if step.role in _ENDS}
    if set(parts) != set(_ENDS):
        return frozenset()
    first, last = parts["scores"], parts["product"]
    behind = _reached(first, graph.successors, lambda node: node.index <= last.index)
    before = _reached(last, graph.predecessors, lambda node: node.index >= first.index)
    return frozenset({*parts.values(), *(behind & before)})


def _reached(
    start: Node, step: Callable[[Node], Iterable[Node]], inside: Callable[[Node], bool]
) -> set[Node]:
    seen, waiting = {start}, [start]
    while waiting and len(seen) < _MOST_BETWEEN:
        for node in step(waiting.pop()):
            if node not in seen and inside(node):
                seen.add(node)
                waiting.append(node)
    return seen
