"""What every fact has in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from trtlint.facts.refusal import Refusal
from trtlint.knowledge.releases import Product
from trtlint.lean import dataclass
from trtlint.model.graph import Node

if TYPE_CHECKING:
    from trtlint.model.origin import Origin


@dataclass(frozen=True, slots=True)
class Step:
    """A node of the block that a fact is about, and the part it plays there.

    ``detail`` is what the node does, in a few words (``q × 0.3536``); ``label`` is what a caret
    under it would say (``√scale on Q``).  Which steps get carets is the rule's choice, by role.
    """

    node: Node
    role: str
    detail: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something true of a model, anchored at a node.

    A module ``trtlint/facts/<kind>.py`` states the facts of one kind: it defines a frozen subclass
    whose fields are documented in its docstring, and ``find(model)`` that yields them in graph
    order.  A field that cannot be known from the file is None, and None is unknown, never false.
    """

    kind: ClassVar[str] = ""
    roles: ClassVar[Mapping[str, str]] = {}
    """The roles that steps of this kind can have, each with its meaning."""

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
        """Whether it is about the whole model, and names a node as an example only."""
        return False

    @property
    def applies(self) -> Mapping[Product, str] | None:
        """The versions that it is true for, as a rule's ``applies``; None for all of them.

        What a file is does not depend on a version; what a parser makes of it does.
        """
        return None

    @property
    def scope(self) -> str:
        """The only releases that it was seen on, in words; empty where the ranges of a rule say it."""
        return ""

    @property
    def code_origin(self) -> Origin | None:
        """The line of code that it is about, where no node says that; None for no line."""
        return None

    @property
    def refusal(self) -> Refusal | None:
        """The refusal that it states; None where it states none."""
        return None

    @property
    def consequences(self) -> frozenset[str]:
        """The operators whose refusals have this fact as their cause; empty for most facts."""
        return frozenset()
