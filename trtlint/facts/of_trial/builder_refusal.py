"""Find the error of NVIDIA's builder in a dry build whose parse succeeded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from trtlint.facts.base import Fact, Step
from trtlint.facts.blocks.lognames import error_code
from trtlint.facts.facts import Facts
from trtlint.facts.of_build.log_message import LogMessage
from trtlint.facts.refusal import Refusal

_SHORT = 300


class BuilderRefusal(Fact, frozen=True):
    """The first error of NVIDIA's builder in a failed dry build.

    Attributes:
        label: a text that names the dry build, such as ``dry build, TensorRT-RTX 1.7.1, SM 8.9``.
        op: the operator that the error names; empty if the error names none.
        code: the kind of the error as printed, such as ``API Usage Error``; empty if none is printed.
        says: the text of the error on one line, cut at 300 characters.
        shapes: the shapes of dynamic inputs in the build, such as ``x=1x3x224x224``.
        shapes_chosen: whether trtlint chose some of these shapes.
    """

    roles: ClassVar[Mapping[str, str]] = {"refused": "a node that the error is about"}

    label: str
    op: str
    code: str
    says: str
    shapes: tuple[str, ...]
    shapes_chosen: bool

    @property
    def refusal(self) -> Refusal:
        """The refusal by the builder, as plain data."""
        return Refusal("build", self.op, self.code)


def find(facts: Facts) -> Iterator[BuilderRefusal]:
    """Yield one fact if the builder refused the network in a dry build, else nothing."""
    if facts.dry is None or facts.dry.result.built is not False:
        return
    result = facts.dry.result
    errors = [
        message
        for message in facts.of("log_message")
        if isinstance(message, LogMessage) and message.severity in ("error", "fatal")
    ]
    first = next((error for error in errors if error.nodes), errors[0] if errors else None)
    nodes = () if first is None else first.nodes
    says = "the builder gives no reason" if first is None else " ".join(first.message.split())
    yield BuilderRefusal(
        node=nodes[0] if nodes else None,
        chain=tuple(Step(node, "refused", label="refused") for node in nodes),
        label=result.label,
        op="" if first is None else first.op or (nodes[0].op if len(nodes) == 1 else ""),
        code="" if first is None else error_code(first.message),
        says=says if len(says) <= _SHORT else f"{says[: _SHORT - 3]}...",
        shapes=tuple(shape.words for shape in result.shapes),
        shapes_chosen=any(shape.chosen for shape in result.shapes),
    )
