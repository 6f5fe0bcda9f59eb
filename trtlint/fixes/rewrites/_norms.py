"""Find the nodes of a decomposed normalization."""

from __future__ import annotations

from msgspec import Struct

from trtlint.facts.base import Fact
from trtlint.facts.of_model.normalization import Normalization
from trtlint.fixes.patch import NotApplicable
from trtlint.model.graph import Node, Value


class Norm(Struct, frozen=True):
    """The nodes of a decomposed normalization, (x - mean) / sqrt(variance + epsilon).

    Attributes:
        tensor: the normalized tensor x.
        mean, centre, square, variance, epsilon, root, divide: the nodes. ``centre`` computes x - mean,
        ``epsilon`` adds the epsilon, and ``root`` computes the square root. A missing node is None.
    """

    tensor: Value
    mean: Node | None
    centre: Node | None
    square: Node
    variance: Node
    epsilon: Node | None
    root: Node
    divide: Node

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes of the norm in data-flow order, without missing nodes."""
        every = (self.mean, self.centre, self.square, self.variance, self.epsilon, self.root, self.divide)
        return tuple(node for node in every if node is not None)


def norm_of(fact: Fact) -> Norm:
    """Return the normalization that a fact describes."""
    if not isinstance(fact, Normalization) or fact.form != "decomposed":
        raise NotApplicable("the norm is a single operator, but the rewrite needs a decomposed norm")
    steps = {step.role: step.node for step in fact.chain}
    centre, square = steps.get("centre"), steps["square"]
    tensor = centre.inputs[0] if centre is not None else square.inputs[0]
    if tensor is None:
        raise NotApplicable("the normalized tensor is not known")
    return Norm(
        tensor,
        steps.get("mean"),
        centre,
        square,
        steps["variance"],
        steps.get("epsilon"),
        steps["root"],
        steps["divide"],
    )
