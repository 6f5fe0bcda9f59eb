"""Collect the operators of a model, and all type constraints that are known before measuring."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from trtlint.case import facts_of
from trtlint.conversion.fixed import Fixed, fixed_nodes, is_stored, kept_by_user, uses_floats
from trtlint.conversion.layertypes import LayerTypes, asked_types
from trtlint.conversion.narrowports import Ports, ports_of
from trtlint.conversion.opset import NEWEST, lacking, opset_for
from trtlint.facts.base import Fact
from trtlint.facts.of_model.normalization import Normalization
from trtlint.measurement.keeping import merged
from trtlint.model.graph import Graph, Node
from trtlint.model.load import Model

_LISTED = 5
"""Largest number of layers that one note names."""
_ENDS = ("scores", "softmax", "product")
_MOST_BETWEEN = 200
"""Largest number of operators between the two products of an attention block."""


class Labels:
    """The operators of a model, and the constraints on the operators' types.

    Args:
        model: the source.
        type_: ``fp16`` or ``bf16``.
        keep: patterns of the operators that the user keeps in FP32.
        layers: the data types that the user's build command sets for layers; None if it sets none.
    """

    def __init__(self, model: Model, type_: str, keep: Sequence[str], layers: LayerTypes | None) -> None:
        self.model = model
        self.type = type_
        self.opset = opset_for(model, type_)
        self.lacking = lacking(model, type_, self.opset)
        self.nodes = tuple(node for node in model.graph.nodes if uses_floats(node) and not is_stored(node))
        self.fixed: Fixed = kept_by_user(model, keep)
        ordered = set(self.fixed)
        for node, reason in fixed_nodes(model, type_, self.opset).items():
            self.fixed.setdefault(node, reason)
        self.asked = asked_types(self.nodes, layers or LayerTypes(), type_)
        self.forced: frozenset[Node] = frozenset()
        if self.asked.binding:
            for node, reason in self.asked.fp32.items():
                self.fixed.setdefault(node, reason)
                ordered.add(node)
            self.forced = frozenset(node for node in self.asked.narrow if node not in self.fixed)
        self.ports: dict[Node, Ports] = {
            node: found
            for node in model.graph.nodes
            if (found := ports_of(node, self.opset, type_)) is not None
        }
        self.islands = islands(model)
        own = set(self.nodes)
        if type_ == "fp16":
            norms = (node for island in self.islands if island.kind == "norm" for node in island.nodes & own)
            for node in norms:
                if node not in self.forced:
                    self.fixed.setdefault(
                        node,
                        "TensorRT warns if a normalization that consists of several operators runs in FP16",
                    )
        # An operator that ONNX defines only for FP32 does not put its whole group in FP32.
        free = {node for node, reason in self.fixed.items() if reason.startswith("ONNX has no")}
        # The types that the user sets for single operators apply only to these operators.
        free |= self.forced | ordered
        self.groups = _merged_groups(
            (island.nodes & own for island in self.islands if island.kind != "attention"), free
        )
        self.attention = _merged_groups(
            (island.nodes & own for island in self.islands if island.kind == "attention"), free
        )

    @property
    def preferred(self) -> dict[Node, bool]:
        """For each operator whose type the build prefers, return True for 16 bits, False for FP32."""
        if self.asked.binding:
            return {}
        return {**dict.fromkeys(self.asked.fp32, False), **dict.fromkeys(self.asked.narrow, True)}

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes about limits, operators that lack BF16 in the opset, and types without effect."""
        found = list(self.asked.limits)
        if self.lacking:
            names = ", ".join(self.lacking[:_LISTED])
            found.append(
                f"these operators support {self.type.upper()} in opset {NEWEST}, but not in opset "
                f"{self.opset} of the model: {names}; trtlint cannot raise the opset of this model, so "
                "export the model with a newer opset"
            )
        if self.asked.unmatched:
            names = ", ".join(self.asked.unmatched[:_LISTED])
            found.append(
                f"the settings name {len(self.asked.unmatched)} layers that match no "
                f"operator of the model: {names}"
            )
        if self.asked.other:
            found.append(
                "the settings give these layers data types that have no effect: "
                f"{', '.join(self.asked.other[:_LISTED])}"
            )
        return tuple(found)

    def together(self, fixed: Mapping[Node, str]) -> tuple[frozenset[Node], ...]:
        """Return the groups of operators that must get the same type.

        An attention block with an operator in FP32 is not a group, because TensorRT does not fuse attention
        in FP32.

        Args:
            fixed: the operators in FP32.
        """
        whole = [group for group in self.attention if not group & fixed.keys()]
        return tuple(merged([*self.groups, *whole]))

    def fixed_with(self, kept: Mapping[str, str]) -> dict[Node, str]:
        """Return the operators in FP32, each with a reason.

        The result includes the operators that TensorRT fuses with an operator in FP32.

        Args:
            kept: paths of operators that stay in FP32 because of the numbers that they compute, each with
                the reason.
        """
        found = dict(self.fixed)
        for node in self.nodes:
            if node.path in kept and node not in self.forced:
                found.setdefault(node, kept[node.path])
        for group in self.groups:
            first = min(group & found.keys(), key=lambda node: node.index, default=None)
            if first is not None:
                for node in group:
                    found.setdefault(
                        node, f"TensorRT fuses this operator with {first.path}, which stays in FP32"
                    )
        return found

    def kept_for_numbers(self, kept: Mapping[str, str]) -> frozenset[Node]:
        """Return the operators that stay in FP32 only because of the numbers that they compute.

        The result omits operators in groups that must get one type.

        Args:
            kept: paths of operators that stay in FP32 because of the numbers that they compute, each with
                the reason.
        """
        tied = frozenset().union(*self.groups)
        return frozenset(
            node
            for node in self.nodes
            if node.path in kept and node not in self.fixed and node not in self.forced and node not in tied
        )


def _merged_groups(groups: Iterable[Iterable[Node]], free: Collection[Node]) -> list[frozenset[Node]]:
    """Merge groups that overlap, and remove the operators in ``free`` from all groups."""
    return [group for found in merged(groups) if len(group := found - set(free)) > 1]


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
    """Return the groups that the builder fuses: attention blocks, then norms, then quantizers.

    A Cast inside a group would prevent the fusion.
    """
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
