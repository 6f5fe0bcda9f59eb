"""Find sums and means of squares, as in a norm, an energy or a variance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal

from trtlint.facts.base import Fact, Step
from trtlint.facts.facts import Facts
from trtlint.model.graph import Node, Value
from trtlint.model.protos import ElementType
from trtlint.model.values import Constants

Form = Literal["mul", "pow", "operator"]

_LARGEST = {"f16": 65504}
"""The largest finite numbers of the element types in which a sum of squares easily overflows.

The numbers are integers, because a float cannot be divided by a very large number of elements.
"""


class SumOfSquares(Fact, frozen=True):
    """A sum of squares that separate operators compute.  ``ReduceL2`` and ``LpNormalization`` are left out.

    Attributes:
        op: ``ReduceSum``, ``ReduceMean`` or ``ReduceSumSquare``.
        form: how the square is written: ``mul`` (x · x), ``pow`` (x to the power of 2) or ``operator``.
        dtype: the element type of the squares; None if unknown.
        count: number of squares in one sum; None if the file does not fix this number.
        root: whether a Sqrt follows the sum, so that the result is a norm.
        magnitude: a limit for the elements in FP16. A sum overflows if the root mean square of the elements
            is above this limit. In a mean, the square of an element overflows if the magnitude of this
            element is above the limit. None for types other than FP16, and for a sum whose ``count`` is None.
    """

    roles: ClassVar[Mapping[str, str]] = {
        "square": "squares each element",
        "sum": "adds the squares",
        "root": "takes the root of the sum",
    }

    op: Literal["ReduceSum", "ReduceMean", "ReduceSumSquare"]
    form: Form
    dtype: ElementType | None
    count: int | None
    root: bool
    magnitude: float | None


def find(facts: Facts) -> Iterator[SumOfSquares]:
    """Yield, in graph order, the sums of squares whose operands are known only at run time."""
    graph, constants = facts.model.graph, facts.model.constants
    for node in graph.of_onnx("ReduceSum", "ReduceMean", "ReduceSumSquare"):
        data = node.input(0)
        if data is None or constants.data_free(data):
            continue
        form = "operator" if node.op == "ReduceSumSquare" else _square(data, constants)
        if form is None:
            continue
        root = next(
            (reader for reader, _ in node.output.uses if reader.op == "Sqrt" and not reader.domain), None
        )
        count = _count(node, data, constants)
        yield SumOfSquares(
            node=node,
            chain=_chain(node, None if form == "operator" else data.producer, root),
            op=node.op,  # type: ignore[arg-type]
            form=form,
            dtype=data.dtype,
            count=count,
            root=root is not None,
            magnitude=_magnitude(node.op, data.dtype, count),
        )


def _square(value: Value, constants: Constants) -> Literal["mul", "pow"] | None:
    node = value.producer
    if node is None or node.domain:
        return None
    if node.op == "Mul" and len(node.inputs) == 2 and node.inputs[0] is node.inputs[1]:
        return "mul"
    return "pow" if node.op == "Pow" and constants.scalar(node.input(1)) == 2 else None


def _count(node: Node, data: Value, constants: Constants) -> int | None:
    """Return the number of elements that a reduction combines into one element.

    The result is None if the file does not fix this number.
    """
    shape, named = data.shape, constants.axes(node)
    if shape is None or named is None:
        return None
    rank = len(shape)
    every = () if node.attribute("noop_with_empty_axes") else range(rank)
    axes = named or every
    sizes = [shape[axis] for axis in axes if -rank <= axis < rank]
    whole = [size for size in sizes if isinstance(size, int)]
    return math.prod(whole) if len(whole) == len(axes) else None


def _magnitude(op: str, dtype: str | None, count: int | None) -> float | None:
    largest = _LARGEST.get(dtype or "")
    if largest is None:
        return None
    if op == "ReduceMean":
        return math.sqrt(largest)
    return math.sqrt(largest / count) if count else None


def _chain(node: Node, square: Node | None, root: Node | None) -> tuple[Step, ...]:
    steps = [Step(node, "sum")]
    if square is not None:
        steps.insert(0, Step(square, "square"))
    return (*steps, Step(root, "root")) if root is not None else tuple(steps)
