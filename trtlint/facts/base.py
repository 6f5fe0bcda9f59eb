"""Base classes of all facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct

from trtlint.facts.refusal import Refusal
from trtlint.knowledge.releases import Product
from trtlint.model.graph import Node

if TYPE_CHECKING:
    from trtlint.model.origin import Origin


class Step(Struct, frozen=True):
    """A node in the block that a fact describes, and the role of the node.

    ``detail`` is the operation in a few words (``q × 0.3536``); ``label`` is the text below a caret
    (``√scale on Q``).  The rule selects the roles whose nodes get carets.
    """

    node: Node
    role: str
    detail: str = ""
    label: str = ""


class Fact(Struct, frozen=True):
    """A true statement about a model, anchored at a node.

    A module ``trtlint/facts/of_<ground>/<kind>.py`` has the facts of one kind.  It defines a frozen subclass
    and ``find(facts)``.  The docstring of the subclass documents the fields.  ``find`` yields the facts in
    graph order.  None in a field means that the value is unknown.
    """

    kind: ClassVar[str] = ""
    roles: ClassVar[Mapping[str, str]] = {}
    """The possible roles of a step, each with its meaning."""

    node: Node | None
    """The node that a report names; None for a fact about the whole model or a graph input."""
    chain: tuple[Step, ...]
    """The block in data-flow order."""

    @property
    def place(self) -> str:
        """The name of the place in the model: the node's path, empty for the whole model."""
        return self.node.path if self.node else ""

    @property
    def is_whole(self) -> bool:
        """True if the fact is about the whole model, so that the node of the fact is only an example."""
        return False

    @property
    def applies(self) -> Mapping[Product, str] | None:
        """The versions for which the fact is true, like ``applies`` of a rule; None for all.

        Facts about the contents of a file are true for all versions. Facts about the parsed network can
        differ between versions.
        """
        return None

    @property
    def scope(self) -> str:
        """The releases for which the fact was observed, in words.

        Empty if the range of releases of the rule applies.
        """
        return ""

    @property
    def code_origin(self) -> Origin | None:
        """The line of code of a fact without a node; None if there is no such line."""
        return None

    @property
    def refusal(self) -> Refusal | None:
        """The refusal (by the parser or builder) that this fact describes; None for other facts."""
        return None

    @property
    def consequences(self) -> frozenset[str]:
        """The operators that are refused because of this fact; empty for most facts."""
        return frozenset()
