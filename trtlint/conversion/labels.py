"""The operators of a model, with what settles their types before any number is known."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from trtlint.conversion.fixed import Fixed, fixed_nodes, is_stored, kept_by_user, uses_floats
from trtlint.conversion.islands import islands, joined
from trtlint.conversion.layertypes import LayerTypes, asked_types
from trtlint.conversion.narrowports import Ports, ports_of
from trtlint.conversion.opset import NEWEST, lacking, opset_for
from trtlint.model.graph import Node
from trtlint.model.load import Model

_LISTED = 5
"""Layers that a note lists."""


class Labels:
    """The operators of a model with what settles their types.

    Args:
        model: the source.
        type_: ``fp16`` or ``bf16``.
        keep: what the user keeps in FP32.
        layers: the types that a build asks of layers, None for none.
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
                    self.fixed.setdefault(node, "TensorRT warns of normalizations written out in FP16")
        # An operator that no type but FP32 suits does not force its island.
        free = {node for node, reason in self.fixed.items() if reason.startswith("ONNX has no")}
        # What the user orders of single operators holds for these alone.
        free |= self.forced | ordered
        self.groups = _tied((island.nodes & own for island in self.islands if not island.divisible), free)
        self.attention = _tied((island.nodes & own for island in self.islands if island.divisible), free)

    @property
    def preferred(self) -> dict[Node, bool]:
        """The operators for which the build would like a type: whether that is the narrow one."""
        if self.asked.binding:
            return {}
        return {**dict.fromkeys(self.asked.fp32, False), **dict.fromkeys(self.asked.narrow, True)}

    @property
    def notes(self) -> tuple[str, ...]:
        """What of the types that a build asks of layers has no effect."""
        found = []
        if self.lacking:
            names = ", ".join(self.lacking[:_LISTED])
            form = f"these have a {self.type.upper()} form in opset {NEWEST} only: {names}"
            found.append(f"{form}; opset {self.opset} cannot be raised, so export the model with a newer one")
        if self.asked.unmatched:
            names = ", ".join(self.asked.unmatched[:_LISTED])
            found.append(f"no operator has the name of these {len(self.asked.unmatched)} layers: {names}")
        if self.asked.other:
            found.append(f"types of layers without effect: {', '.join(self.asked.other[:_LISTED])}")
        return tuple(found)

    def together(self, fixed: Mapping[Node, str]) -> tuple[frozenset[Node], ...]:
        """Return the groups of operators that get one type.

        No builder fuses attention in FP32, so that a block with an operator in FP32 falls apart.

        Args:
            fixed: the operators in FP32.
        """
        whole = [group for group in self.attention if not group & fixed.keys()]
        return tuple(map(frozenset, joined([*self.groups, *whole])))

    def fixed_with(self, kept: Mapping[str, str]) -> dict[Node, str]:
        """Return the operators in FP32 with those of their islands.

        Args:
            kept: by path of an operator that stays in FP32 for its numbers, the reason.
        """
        found = dict(self.fixed)
        for node in self.nodes:
            if node.path in kept and node not in self.forced:
                found.setdefault(node, kept[node.path])
        for group in self.groups:
            first = next((node for node in group if node in found), None)
            if first is not None:
                for node in group:
                    found.setdefault(node, f"the operator is fused with {first.path}")
        return found


def _tied(groups: Iterable[Iterable[Node]], free: Collection[Node]) -> list[frozenset[Node]]:
    """Join groups that overlap, without the operators that are free."""
    return [group for found in joined(groups) if len(group := frozenset(found - set(free))) > 1]
