"""Collect the log messages and engine layers of a build by ONNX node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from trtlint.facts.of_build.layer import LayerFact
from trtlint.facts.of_build.log_message import LogMessage
from trtlint.model.graph import Node

if TYPE_CHECKING:
    from trtlint.facts.facts import Facts


class NodeEvidence(Struct):
    """Log messages and engine layers of a build, by ONNX node.

    Attributes:
        messages: for each node, the log messages that name it.
        nameless: the log messages that name no node, layer or tensor.
        layers: for each node, the engine layers that compute it.
    """

    messages: dict[Node, list[LogMessage]] = field(default_factory=dict)
    nameless: list[LogMessage] = field(default_factory=list)
    layers: dict[Node, list[LayerFact]] = field(default_factory=dict)


def node_evidence(facts: Facts) -> NodeEvidence:
    """Collect the log messages and engine layers of a build by ONNX node."""
    found = NodeEvidence()
    for message in facts.of("log_message"):
        if isinstance(message, LogMessage):
            for node in message.nodes:
                found.messages.setdefault(node, []).append(message)
            if not message.named:
                found.nameless.append(message)
    for layer in facts.of("layer"):
        if isinstance(layer, LayerFact):
            for node in layer.nodes:
                found.layers.setdefault(node, []).append(layer)
    return found
