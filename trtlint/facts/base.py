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
    """A node in the group of operators that a fact describes, and the role of the node.

    ``detail`` is the operation in a few words, such as ``q × 0.3536``.  ``label`` is the text that reports
    show below the node, such as ``√scale on Q``.  A rule selects the roles whose nodes get a label.
    """

    node: Node
    role: str
    detail: str = ""
    label: str = ""


class Fact(Struct, frozen=True):
    """A true statement about a model, a build, a command or an experiment.  It usually belongs to a node.

    All facts of one kind come from one module ``trtlint/facts/of_<ground>/<kind>.py``.  The module defines a
    frozen subclass, whose docstring documents the fields, and the function ``find(facts)``, which yields the
    facts in graph order.  A field is None if its value is unknown.
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
        """The location in reports: the path of the node; empty for the whole model."""
        return self.node.path if self.node else ""

    @property
    def is_whole(self) -> bool:
        """True if the fact is about the whole model.

        The node of such a fact is only an example.
        """
        return False

    @property
    def applies(self) -> Mapping[Product, str] | None:
        """The versions for which the fact is true, by product; None for all versions.

        Facts about the contents of a file are true for all versions.  Facts about the network that the parser
        makes can differ between versions.  The format is the format of ``applies`` in a rule.
        """
        return None

    @property
    def scope(self) -> str:
        """The releases for which the fact was observed, as a text for reports.

        Empty if the rule states the releases.
        """
        return ""

    @property
    def code_origin(self) -> Origin | None:
        """The line of Python code that the fact is about; None if the fact is about a node."""
        return None

    @property
    def refusal(self) -> Refusal | None:
        """The refusal by the parser or the builder, if the fact describes a refusal; else None."""
        return None

    @property
    def consequences(self) -> frozenset[str]:
        """The operator types that TensorRT refuses because of this fact; empty for most facts."""
        return frozenset()
