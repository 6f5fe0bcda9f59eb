"""Find operators whose float inputs must have the same type, but have different types."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from trtlint.facts.base import Fact, Step
from trtlint.facts.blocks.schemas import cast_by_parser, same_type_groups
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.node import LATEST_OPSET
from trtlint.facts.refusal import Refusal
from trtlint.model.graph import Graph, Node, Value
from trtlint.model.load import Model
from trtlint.model.protos import FLOAT_DTYPES
from trtlint.model.values import Constants

_MAX_SEARCHED = 200
"""Largest number of upstream values that trtlint searches for the Cast that changes the type."""


class MixedTypes(Fact, frozen=True):
    """An operator whose two float inputs must have the same type, but have different types.

    Operators with mixed types downstream of this operator have no facts of their own.  The field
    ``followers`` counts such operators.  ``f64`` counts as ``f32``, because TensorRT imports FP64 as FP32.

    Attributes:
        op: the operator.
        first: element type of the first of the two inputs, such as ``f32``.
        second: element type of the second of the two inputs.
        ports: the positions of the two inputs.
        cast_by_parser: True if the second input is a constant that TensorRT's parser casts to the type of the
            data.  Examples are a bound of Clip and a parameter of BatchNormalization.  TensorRT accepts such
            an operator.
        origin: path of the ``Cast`` that changes the type of the second input. If there is no such Cast,
            the path of the Cast that changes the type of the first input. Empty if no Cast changes the
            type of either input.
        followers: number of operators with mixed types downstream of this operator.
    """

    roles: ClassVar[Mapping[str, str]] = {
        "origin": "the Cast that introduces one of the types",
        "operand": "the operator that computes an operand",
        "mixed": "the operator with mixed inputs",
    }

    op: str
    first: str
    second: str
    ports: tuple[int, int]
    cast_by_parser: bool
    origin: str
    followers: int

    @property
    def refusal(self) -> Refusal | None:
        """The error of TensorRT for this operator in a strongly typed network.

        For ``Attention``, the builder reports the error.  For other operators, the parser reports the error.
        The value is None if the parser casts one of the two inputs to the type of the other input.
        """
        if self.cast_by_parser:
            return None
        return Refusal("build" if self.op == "Attention" else "parse", self.op, "INVALID_NODE")


def find(facts: Facts) -> Iterator[MixedTypes]:
    """Yield, in graph order, a fact for each operator with mixed types.

    Operators downstream of another operator with mixed types are left out.
    """
    graph, constants = facts.model.graph, facts.model.constants
    mixed = _mixed(facts.imported, facts.model.opset)
    harmless = {node for node, ports in mixed.items() if _is_harmless(node, ports, constants)}
    roots, followers = _regions(graph, mixed.keys() - harmless) if mixed else (set(), Counter())
    for node, ports in mixed.items():
        if node in harmless or node in roots:
            yield _fact(node, ports, node in harmless, followers[node])


def refused_alone(model: Model) -> tuple[Node, ...]:
    """Return the nodes with mixed types that the parser refuses in a strongly typed network.

    Each node is checked with the types in the ONNX file, as if the parser imported only this node.
    """
    return tuple(
        node
        for node, ports in _mixed(model.graph.nodes, model.opset).items()
        if node.op != "Attention" and not _is_harmless(node, ports, model.constants)
    )


def _mixed(nodes: Iterable[Node], opset: int | None) -> dict[Node, tuple[int, int]]:
    """Map each node with mixed types to the positions of two inputs with different types."""
    found = ((node, _mixed_ports(node, opset or LATEST_OPSET)) for node in nodes)
    return {node: ports for node, ports in found if ports is not None}


def _mixed_ports(node: Node, opset: int) -> tuple[int, int] | None:
    """Return the positions of two inputs that wrongly have different float types.

    The operator requires the same type for both inputs.  If several pairs of inputs are wrong, the result is
    the first pair.  It is None if no pair is wrong.
    """
    if node.domain or len(node.inputs) < 2:
        return None
    types = [_imported(value) for value in node.inputs]
    if len(set(types) - {None}) < 2:  # the common case does not need the schema
        return None
    for group in same_type_groups(node.op, opset):
        ports = list(group[:-1]) + list(range(group[-2], len(types))) if group[-1] == -1 else list(group)
        known = [port for port in ports if port < len(types) and types[port] is not None]
        for port in known[1:]:
            if types[port] != types[known[0]]:
                return known[0], port
    return None


def _imported(value: Value | None) -> str | None:
    """Return the float type that a value has in TensorRT, or None if it is unknown or not a float type."""
    if value is None or value.dtype not in FLOAT_DTYPES:
        return None
    return "f32" if value.dtype == "f64" else value.dtype


def _is_harmless(node: Node, ports: tuple[int, int], constants: Constants) -> bool:
    return cast_by_parser(node.op, ports[1]) and constants.foldable(node.inputs[ports[1]])


def _regions(graph: Graph, mixed: set[Node]) -> tuple[set[Node], Counter[Node]]:
    """Return the first nodes with mixed types, and how many such nodes follow each.

    A node with mixed types is a first node if no other such node is upstream of it.  The second result
    counts, for each first node, the nodes with mixed types downstream of it.
    """
    root_of: dict[Node, Node] = {}
    followers: Counter[Node] = Counter()
    roots: set[Node] = set()
    for node in graph.nodes:
        above = next((root_of[before] for before in graph.predecessors(node) if before in root_of), None)
        if above is not None:
            root_of[node] = above
            followers[above] += node in mixed
        elif node in mixed:
            root_of[node] = node
            roots.add(node)
    return roots, followers


def _fact(node: Node, ports: tuple[int, int], harmless: bool, followers: int) -> MixedTypes:
    values = [node.inputs[port] for port in ports]
    types = [_imported(value) or "" for value in values]
    casts = [cast for value in reversed(values) if (cast := _cast_behind(value)) is not None]
    origin = casts[0] if casts else None
    producers = [value.producer for value in values if value is not None and value.producer is not None]
    steps = [Step(p, "operand") for p in sorted(set(producers), key=lambda p: p.index) if p is not origin]
    if origin is not None:
        steps.insert(0, Step(origin, "origin", label=f"introduces {origin.output.dtype}"))
    return MixedTypes(
        node=node,
        chain=(*steps, Step(node, "mixed", label=f"{types[0]} and {types[1]}")),
        op=node.op,
        first=types[0],
        second=types[1],
        ports=ports,
        cast_by_parser=harmless,
        origin=origin.path if origin else "",
        followers=followers,
    )


def _cast_behind(value: Value | None) -> Node | None:
    """Return the ``Cast`` that gave a value its float type, or None if there is none.

    The ``Cast`` converts another float type to this type.  The search goes upstream through values of this
    type, and returns the nearest ``Cast``.
    """
    if value is None:
        return None
    queue, seen = deque([value]), {value}
    while queue and len(seen) < _MAX_SEARCHED:
        node = queue.popleft().producer
        if node is None:
            continue
        before = node.input(0)
        if node.op == "Cast" and _imported(before) not in (None, _imported(value)):
            return node
        for other in node.inputs:
            if other is not None and other.dtype == value.dtype and other not in seen:
                seen.add(other)
                queue.append(other)
    return None
