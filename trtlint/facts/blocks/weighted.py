"""Collect an operator, the nodes that compute its weight, and the nodes of its activation."""

from __future__ import annotations

from trtlint.facts.base import Step
from trtlint.facts.blocks.activations import Activation
from trtlint.facts.blocks.weights import Weight
from trtlint.model.graph import Node


def weighted(node: Node, role: str, weight: Weight, activation: Activation | None) -> tuple[Step, ...]:
    """Return the steps of an operator with a weight.

    The steps are, in this order:

    - the nodes that compute the weight
    - the operator ``node``, with the role ``role``
    - the nodes of the activation after ``node``
    """
    bounds = _bounds(activation)
    return (
        *(Step(step, "weight", label="computes the weight") for step in weight.nodes),
        Step(node, role, detail=f"weight: {weight.how}", label=f"weight: {weight.source}"),
        *(
            Step(step, "activation", detail=bounds, label=bounds)
            for step in (activation.nodes if activation else ())
        ),
    )


def _bounds(activation: Activation | None) -> str:
    """Format the bounds of an activation, such as ``0 to 6``.

    Return an empty string if the activation has no bounds.
    """
    if activation is None or (activation.low is None and activation.high is None):
        return ""
    if activation.low is None:
        return f"at most {activation.high:g}"
    if activation.high is None:
        return f"at least {activation.low:g}"
    return f"{activation.low:g} to {activation.high:g}"
