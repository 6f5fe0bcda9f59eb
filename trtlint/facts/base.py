"""Base classes of all facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar, TypeVar

from msgspec import Struct

from trtlint.facts.refusal import Refusal
from trtlint.knowledge.releases import Product
from trtlint.model.graph import Node

if TYPE_CHECKING:
    from trtlint.model.origin import Origin


class Step(Struct, frozen=True):
    """A node in the group of nodes that a fact describes, and the role of the node in this group.

    ``detail`` describes the operation in a few words, such as ``q × 0.3536``.  ``label`` is the text that
    reports show below the node, such as ``√scale on Q``.  A node has a label in a report only if the key
    ``mark`` of the rule lists the node's role.
    """

    node: Node
    role: str
    detail: str = ""
    label: str = ""


class Fact(Struct, frozen=True, kw_only=True):
    """A true statement about a model, a build, a command or an experiment.

    Most facts belong to a node.  All facts of one kind come from one module,
    ``trtlint/facts/of_<ground>/<kind>.py``.  The module defines

    - a frozen subclass of this class, with a docstring that documents the fields,
    - the function ``find(facts)``, which yields the facts in graph order.

    A field is None if its value is unknown.
    """

    kind: ClassVar[str] = ""
    """The name of the module that defines the class."""
    roles: ClassVar[Mapping[str, str]] = {}
    """The possible values of ``Step.role``, each with its meaning."""

    node: Node | None = None
    """The node that a report names, or None for a fact about the whole model or a graph input."""
    chain: tuple[Step, ...] = ()
    """The nodes that the fact describes, each with its role, in data-flow order."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.kind = cls.__module__.rpartition(".")[2]

    @property
    def place(self) -> str:
        """The location in reports: the path of the node, or an empty string if the fact has no node."""
        return self.node.path if self.node else ""

    @property
    def is_whole(self) -> bool:
        """True if the fact is about the whole model; ``node`` is then only an example."""
        return False

    @property
    def applies(self) -> Mapping[Product, str] | None:
        """The versions for which the fact is true, by product, or None for all versions.

        A fact about the contents of the file is true for all versions.  A fact about the parsed network may
        be true only for some versions.  The version ranges have the same syntax as ``applies`` in a rule.
        """
        return None

    @property
    def scope(self) -> str:
        """The releases in which the fact was observed, as a text for reports.

        The text is empty if the rule already names the releases in its own texts.
        """
        return ""

    @property
    def code_origin(self) -> Origin | None:
        """The line of Python code that the fact is about, or None if the fact is about a node."""
        return None

    @property
    def refusal(self) -> Refusal | None:
        """The refusal (by the parser or the builder) that the fact describes, or None if there is none."""
        return None

    @property
    def consequences(self) -> frozenset[str]:
        """The operator types that TensorRT refuses because of this fact.  The set is empty for most facts."""
        return frozenset()


_Fact = TypeVar("_Fact", bound=Fact)


def in_graph_order(facts: Iterable[_Fact]) -> list[_Fact]:
    """Sort facts by the positions of their nodes. All facts must have a node."""

    def position(fact: _Fact) -> int:
        assert fact.node is not None
        return fact.node.index

    return sorted(facts, key=position)
