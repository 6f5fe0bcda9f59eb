"""Find values whose declared element type differs from the type that the operators imply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from trtlint.facts.base import Fact, Step
from trtlint.facts.facts import Facts
from trtlint.model.retype import contradictions


class DeclaredType(Fact, frozen=True):
    """A summary of the wrong type declarations in a model.  Each such declaration contradicts an operator.

    Attributes:
        name: the first value with a wrong declared type, in the file's order.
        declared: the declared element type of this value, such as ``f16``.
        computed: the type that the operator computes, such as ``f32``.
        op: the operator that computes the value.
        count: number of values in the main graph with a wrong declared type.
    """

    roles: ClassVar[Mapping[str, str]] = {
        "computed": "computes a tensor for which the file declares a wrong type"
    }

    name: str
    declared: str
    computed: str
    op: str
    count: int


def find(facts: Facts) -> Iterator[DeclaredType]:
    """Yield one fact if declared types contradict the operators, else nothing."""
    found = [(value, declared) for value, declared in contradictions(facts.model.graph) if value.producer]
    if not found:
        return
    value, declared = found[0]
    node = value.producer
    assert node is not None
    yield DeclaredType(
        node=node,
        chain=(Step(node, "computed", label=f"gives {value.dtype}, declared {declared}"),),
        name=value.name,
        declared=declared,
        computed=value.dtype or "",
        op=node.op,
        count=len(found),
    )
