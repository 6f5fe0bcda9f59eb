"""Describe the inputs and outputs of the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal

from trtlint.facts.base import Fact, Step
from trtlint.facts.facts import Facts
from trtlint.model.graph import Value
from trtlint.model.protos import Dimension, ElementType


class GraphIO(Fact, frozen=True):
    """An input or output of the model.

    For an output, ``node`` is the node that computes it.  For an input, ``node`` is the first node that reads
    it, or None if no node reads it.  Inputs with a stored default value are left out.

    Attributes:
        name: name of the tensor, which is also its name in the engine.
        direction: ``input`` or ``output``.
        dtype: element type; None if unknown.
        shape: the dimensions; None if the rank is unknown.  Each dimension is a size, a name, or None for a
            dynamic dimension without a name.
        dynamic: positions of the dimensions whose size is not in the file.
        readers: number of nodes that read the tensor.
    """

    roles: ClassVar[Mapping[str, str]] = {"end": "the node that computes the output, or that reads the input"}

    name: str
    direction: Literal["input", "output"]
    dtype: ElementType | None
    shape: tuple[Dimension, ...] | None
    dynamic: tuple[int, ...]
    readers: int

    @property
    def place(self) -> str:
        """The location in reports: the path of the node, or the name of the tensor if there is no node."""
        return self.node.path if self.node else f"{self.direction} {self.name}"


def find(facts: Facts) -> Iterator[GraphIO]:
    """Yield the inputs, then the outputs, in the file's order."""
    for value in facts.model.graph.inputs:
        yield _fact(value, "input")
    for value in facts.model.graph.outputs:
        yield _fact(value, "output")


def _fact(value: Value, direction: Literal["input", "output"]) -> GraphIO:
    reader = value.uses[0][0] if value.uses else None
    node = reader if direction == "input" else value.producer
    shape = value.shape
    return GraphIO(
        node=node,
        chain=(Step(node, "end", detail=f"{direction} {value.name} {value.type_text}"),) if node else (),
        name=value.name,
        direction=direction,
        dtype=value.dtype,
        shape=shape,
        dynamic=tuple(axis for axis, dim in enumerate(shape or ()) if not isinstance(dim, int)),
        readers=len(value.uses),
    )
