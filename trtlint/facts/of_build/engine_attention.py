"""Find the engine layers that compute each attention block of the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from trtlint.facts.base import Fact
from trtlint.facts.facts import Facts
from trtlint.facts.of_build.layer import LayerFact
from trtlint.facts.of_model.attention import Attention

_CORE = frozenset({"scores", "softmax", "product", "operator"})
"""Roles of the nodes that a fused attention kernel always computes.

The scale and the mask of the block are not in the set, because a separate kernel may compute them.
"""


class EngineAttention(Fact, frozen=True):
    """An attention block of the model, and the engine layers that compute it.

    Attributes:
        attention: the block, with the fields of the fact ``attention``.
        fused: True if one fused attention kernel computes the block; False if different layers compute the
            products and the softmax. There is no fact for a block inside a Myelin island (a fused subgraph)
            whose kernels are unknown.
        layers: the names of the layers that compute the products and the softmax of the block.
        ms: average time of these layers for one inference, in milliseconds.
        share: the time of these layers as a share of the time of all layers, 0 to 1.
    """

    roles: ClassVar[Mapping[str, str]] = Attention.roles

    attention: Attention
    fused: bool
    layers: tuple[str, ...]
    ms: float | None
    share: float | None


def find(facts: Facts) -> Iterator[EngineAttention]:
    """Yield, in graph order, the attention blocks whose engine layers are known."""
    if facts.joined is None:
        return
    inside = facts.node_evidence.layers
    for block in facts.of("attention"):
        if isinstance(block, Attention):
            nodes = [step.node for step in block.chain if step.role in _CORE]
            parts = [[layer for layer in inside.get(node, ()) if layer.profile == 0] for node in nodes]
            fused = _fused(parts)
            if fused is not None:
                yield _fact(block, fused, parts)


def _fused(parts: list[list[LayerFact]]) -> bool | None:
    if not parts or not all(parts):
        return None
    if any(layer.attention for layers in parts for layer in layers):
        return True
    names = [frozenset(layer.name for layer in layers) for layers in parts]
    return False if len(names) > 1 and not frozenset.intersection(*names) else None


def _fact(block: Attention, fused: bool, parts: list[list[LayerFact]]) -> EngineAttention:
    layers = {layer.name: layer for found in parts for layer in found}.values()
    times = [layer.ms for layer in layers if layer.ms is not None]
    shares = [layer.share for layer in layers if layer.share is not None]
    return EngineAttention(
        node=block.node,
        chain=block.chain,
        attention=block,
        fused=fused,
        layers=tuple(layer.name for layer in layers),
        ms=sum(times) if times else None,
        share=sum(shares) if shares else None,
    )
