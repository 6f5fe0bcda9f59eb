"""What the log of a build says, message by message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from trtlint.facts.base import Fact
from trtlint.model.graph import Node

if TYPE_CHECKING:
    from trtlint.facts import Facts

Severity = Literal["verbose", "info", "warning", "error", "fatal"]


@dataclass(frozen=True, slots=True)
class LogMessage(Fact):
    """One message of the log.

    Attributes:
        name: what it says, an entry of trtlint/build/patterns.yaml such as ``norm_fp16``; ``other`` for
            warnings and errors of which none is known.
        severity: as printed, None for a line without prefix.
        text: the first line of it, cut at 300 characters.
        message: the whole of it, with its continuation lines.
        groups: what the entry takes from it, by the names of its groups.
        numbers: those of ``groups`` that are numbers.
        line: number of its line, from 1.
        at: file and line, such as ``build.log:1842``.
        named: the nodes, layers or tensors that it names, as printed; where it names none, those that
            messages before it announced it for.
        modules: ``named`` without the last part of each path, without repeats: the modules that the
            nodes are in, where exporters name nodes by path.
        nodes: those of them that the model has.
        ops: the operator types of ``nodes``, without repeats.
        op: the operator type that it names, or that the parser had stopped at.
        names_nodes: whether it names anything itself.
        context: the node or layer that the build had last said it was working on, for warnings and
            errors; the message need not be about it.
        cause: for an error of the builder, the exception of a tactic or of Myelin above it.
        alone: whether the line says nothing else that is known: an error of the library often has a
            second name, such as ``no_profile``.
        first: whether it is the first message of this name.
        count: how many messages of this name the log has.
    """

    kind: ClassVar[str] = "log_message"
    roles: ClassVar[Mapping[str, str]] = {"named": "a node that the message names"}

    name: str
    severity: Severity | None
    text: str
    message: str
    groups: Mapping[str, str]
    numbers: Mapping[str, float]
    line: int
    at: str
    named: tuple[str, ...]
    modules: tuple[str, ...]
    nodes: tuple[Node, ...]
    ops: tuple[str, ...]
    op: str | None
    names_nodes: bool
    context: str | None
    cause: str | None
    alone: bool
    first: bool
    count: int

    @property
    def place(self) -> str:
        """The node that it names, else the line."""
        return self.node.path if self.node else self.at


def find(facts: Facts) -> Iterator[LogMessage]:
    """The messages that the log keeps, in its order, those that every node causes apart."""
    if facts.build is None or facts.build.log is None:
        return
    from trtlint.facts._messages import messages

    yield from messages(facts, facts.build, facts.build.log)
