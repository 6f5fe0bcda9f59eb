"""Find computations that depend only on stored tensors.

A tool can replace each such computation by a constant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from trtlint.facts.base import Fact, Step
from trtlint.facts.blocks.sizes import bytes_of, elements_of, ratio, total
from trtlint.facts.facts import Facts
from trtlint.model.graph import Node, Value
from trtlint.model.protos import ElementType
from trtlint.model.values import Constants
from trtlint.model.walks import search, watching

_GIVEN = frozenset({"Constant", "Identity", "Shape", "Size"})
"""Operators that do not count as a computation: they return a stored tensor, a size or their input."""
_MOST_VALUES = 1000
"""Largest number of values to search in one computation.

The largest computation in nearly 600 real exports has 449 values.
"""
_MOST_TOGETHER = 100_000
"""Largest number of values to search in one model.

After this number of values, the search visits fewer values in each remaining computation: at most
:data:`_LEAST_VALUES`.
"""
_LEAST_VALUES = 64
_SHOWN = 6
"""Largest number of nodes that a report shows for one computation."""


class Foldable(Fact, frozen=True):
    """A computation that depends only on stored tensors and static shapes.

    The computation ends at an output of the model, or before an operator that depends on input data.

    Attributes:
        op: the operator that computes the result of the computation.
        operators: the operator types of the computation, sorted. The search covers only the last 1,000 values
            of a computation. If there are more values, the report says that the search stopped at its limit.
        nodes: number of nodes in the computation.
        readers: types of the operators that read the result, sorted.
        dtype: element type of the result; None if unknown.
        size: number of elements of the result; None if unknown.
        bytes: size of the result in bytes; None if unknown.
        stored: total size, in bytes, of the stored tensors from which the graph computes the result; None if
            a size is unknown.
        growth: ``bytes`` divided by ``stored``; None if a size is unknown, or if the result depends on no
            stored tensor.
        weight: whether a convolution or matrix product reads the result as a weight.
    """

    roles: ClassVar[Mapping[str, str]] = {
        "step": "a node of the computation that depends only on constants",
        "result": "the last node of the computation",
    }

    op: str
    operators: tuple[str, ...]
    nodes: int
    readers: tuple[str, ...]
    dtype: ElementType | None
    size: int | None
    bytes: int | None
    stored: int | None
    growth: float | None
    weight: bool


def find(facts: Facts) -> Iterator[Foldable]:
    """Yield the computations in graph order.

    Each computation ends at an output of the model, or before an operator that depends on input data.
    """
    constants, left = facts.model.constants, _MOST_TOGETHER
    for node in facts.model.graph.nodes:
        if node.op in _GIVEN or not constants.foldable(node.output):
            continue
        met = [reader for reader, _ in node.output.uses if not constants.foldable(reader.output)]
        if met or node.output.is_output:
            values, whole = _values(node.output, max(_LEAST_VALUES, min(_MOST_VALUES, left)))
            left -= len(values)
            yield _fact(node, met, constants, values, whole=whole)


def _values(result: Value, most: int) -> tuple[list[Value], bool]:
    """Return the values from which ``result`` is computed, and whether these are all such values.

    At most ``most`` values are returned.
    """
    with watching() as watch:
        values = [value for value, _ in search(result, lambda step: step.inputs, most)]
    return values, not watch.cut


def _fact(
    node: Node, readers: list[Node], constants: Constants, values: Iterable[Value], *, whole: bool
) -> Foldable:
    nodes: dict[Node, None] = {}
    sources: dict[Value, None] = {}
    for value in values:
        producer = value.producer
        if constants.stored(value) is not None:
            sources[value] = None
        elif producer is not None and producer.op not in _GIVEN:
            nodes[producer] = None
    given = total(map(bytes_of, sources)) if whole else None
    made = bytes_of(node.output)
    order = sorted(nodes, key=lambda step: step.index)
    shown = [Step(step, "step") for step in order[-_SHOWN:] if step is not node]
    return Foldable(
        node=node,
        chain=(*shown, Step(node, "result", label="constant for any input")),
        op=node.op,
        operators=tuple(sorted({step.op for step in order})),
        nodes=len(order),
        readers=tuple(sorted({reader.op for reader in readers})),
        dtype=node.output.dtype,
        size=elements_of(node.output),
        bytes=made,
        stored=given,
        growth=ratio(made, given) if made is not None and given else None,
        weight=any(_is_weight(node.output, reader) for reader in readers),
    )


def _is_weight(value: Value, reader: Node) -> bool:
    return reader.op in ("Conv", "ConvTranspose", "Gemm", "MatMul") and reader.input(1) is value
