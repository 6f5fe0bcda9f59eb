"""Find the nodes that ONNX Runtime removes before an execution provider divides a model.

When ONNX Runtime loads a model, it converts Constant nodes to initializers.  The basic optimizations
(level 1) of ONNX Runtime compute values that depend only on constants, and remove Identity nodes.  If the
condition of an If is constant, these optimizations also replace the If by the nodes of one branch.
https://onnxruntime.ai/docs/performance/model-optimizations/graph-optimizations.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from trtlint.model.graph import Graph, Node, Value
from trtlint.model.operators import CAST, REARRANGING
from trtlint.model.values import Constants

_HALF = frozenset({"f16", "bf16"})
_HALF_FOLDED = REARRANGING | CAST | {
    *("Concat", "Constant", "ConstantOfShape", "Expand", "Gather", "GatherND", "QuantizeLinear"),
    *("ScatterND", "Slice", "Split"),
}  # fmt: skip
"""Operators with stored operands that ONNX Runtime 1.32 computes in advance, even in FP16.

These operators have a CPU kernel for FP16:
https://github.com/microsoft/onnxruntime/blob/8f063305aacd/docs/OperatorKernels.md
"""


class RemovedNodes(Struct, frozen=True):
    """The nodes that ONNX Runtime removes or moves.

    Attributes:
        nodes: the removed nodes.
        moved: the branches that constant conditions select. The scope of each branch is mapped to the scope
            of the graph that gets its nodes.
        renamed: the outputs of Ifs with constant conditions. The name of each output is mapped to the name of
            the value that replaces it.
    """

    nodes: frozenset[Node]
    moved: Mapping[str, str]
    renamed: Mapping[str, str]


def removed(graph: Graph, constants: Constants, *, rewritten: bool) -> RemovedNodes:
    """Return the nodes that ONNX Runtime removes before it passes the model to execution providers.

    Args:
        graph: the graph of the model.
        constants: the known values of the graph.
        rewritten: whether ONNX Runtime applies its basic optimizations to the model.
    """
    if not rewritten:
        return RemovedNodes(frozenset(node for node in graph.nodes if _is_stored(node)), {}, {})
    moved: dict[str, str] = {}
    dropped: set[str] = set()
    renamed: dict[str, str] = {}
    gone: set[Node] = set()
    for node in graph.by_op("If"):
        taken = None if node.domain else _branch(node, constants)
        if taken is None:
            continue
        gone.add(node)
        for name, body in graph.bodies(node).items():
            scope = f"{node.path}/{name}"
            if name == taken:
                moved[scope] = node.scope
                renamed.update(
                    zip((v.name for v in node.outputs), (v.name for v in body.outputs), strict=False)
                )
            else:
                dropped.add(scope)
    for node in graph.nodes:
        is_dropped = node.scope and dropped and not dropped.isdisjoint(_scopes(graph, node.scope))
        if is_dropped or _is_folded(node, constants, gone) or _is_identity(node):
            gone.add(node)
    return RemovedNodes(frozenset(gone), _resolved(moved), renamed)


def _scopes(graph: Graph, scope: str) -> Iterator[str]:
    """Yield the scope of a subgraph, and the scopes of all its outer graphs."""
    yield scope
    yield from (owner.scope for owner in graph.owners(scope))


def _resolved(moved: Mapping[str, str]) -> dict[str, str]:
    """Return a copy of ``moved`` that maps each branch to the graph where its nodes end up.

    In ``moved``, the target of a branch may be another branch that also moves.
    """
    found = {}
    for scope, target in moved.items():
        seen = {scope}
        while target in moved and target not in seen:
            seen.add(target)
            target = moved[target]
        found[scope] = target
    return found


def _branch(node: Node, constants: Constants) -> str | None:
    """Return the branch that the constant condition of an If selects.

    The result is None for other nodes, and for an If whose condition is not constant.
    """
    condition = constants.scalar(node.input(0))
    return None if condition is None else "then_branch" if condition else "else_branch"


def _is_stored(node: Node) -> bool:
    return node.op == "Constant" and not node.domain


def _is_folded(node: Node, constants: Constants, gone: set[Node]) -> bool:
    """Return whether ONNX Runtime replaces a node by a constant when it loads the model.

    ONNX Runtime folds neither DequantizeLinear nor the operators after it, so that providers can see the
    quantization of the model.
    https://github.com/microsoft/onnxruntime/blob/main/onnxruntime/core/optimizer/constant_folding.cc
    """
    if _is_stored(node):
        return True
    if node.domain or node.op == "DequantizeLinear" or not constants.foldable(node.output):
        return False
    if node.op in ("Shape", "Size"):
        return True
    if node.op not in _HALF_FOLDED and any(each.dtype in _HALF for each in (*_given(node), node.output)):
        return False
    return all(value.producer is None or value.producer in gone for value in _given(node))


def _is_identity(node: Node) -> bool:
    """Return whether a node is an Identity that ONNX Runtime removes.

    An Identity that computes a graph output is removed only if no other node reads the operand of
    the Identity.
    https://github.com/microsoft/onnxruntime/blob/main/onnxruntime/core/optimizer/identity_elimination.cc
    """
    if node.op != "Identity" or node.domain:
        return False
    if not _is_result(node.output):
        return True
    operand = node.input(0)
    if operand is None or operand.producer is None or operand.producer.scope != node.scope:
        return False
    return len(operand.uses) == 1 and not _is_result(operand)


def _is_result(value: Value) -> bool:
    return value.is_output or value.leaves_body


def _given(node: Node) -> Iterator[Value]:
    return (value for value in node.inputs if value is not None)
