"""Calls of operators, and the numbers in these calls.

A recipe gives the operands of an operator. The types of the operands, and the origin of their data, are drawn
elsewhere (:mod:`benchmarks.probes.draw`). Recipes do not depend on what TensorRT supports.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Kind = Literal["data", "weight", "parameter"]
"""Role of an operand: an activation, a tensor of weights, or a parameter such as axes."""


@dataclass(frozen=True, slots=True)
class Operand:
    """One input of an operator.

    Attributes:
        array: the elements, which are cast to the drawn type.
        kind: the role of the operand, which limits the origin of its data.
        type: ONNX's number of the required type; None if the schema decides.
    """

    array: np.ndarray[Any, Any]
    kind: Kind = "data"
    type: int | None = None


@dataclass(slots=True)
class Call:
    """One call of an operator.

    Attributes:
        op: operator type.
        operands: the inputs, None for an omitted input.
        attributes: the attributes.
        outputs: number of outputs.
        domain: domain of the operator.
        types: types that are set for type variables of the schema.
    """

    op: str
    operands: Sequence[Operand | None]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    domain: str = ""
    types: dict[str, int] = field(default_factory=dict)


Recipe = Callable[[random.Random, int], "Call | None"]
"""Function that returns a call for an opset; None if the opset lacks the operator, or if the draw failed."""

FLOAT, INT32, INT64, BOOL, FLOAT16, UINT8, INT8 = 1, 6, 7, 9, 10, 2, 3
BFLOAT16, DOUBLE = 16, 11


def shape(rng: random.Random, low: int = 0, high: int = 4) -> tuple[int, ...]:
    """Return a shape with few elements."""
    return tuple(rng.choice([1, 2, 2, 3, 4]) for _ in range(rng.randint(low, high)))


def wild_shape(rng: random.Random, low: int = 0, high: int = 4) -> tuple[int, ...]:
    """Return a shape that may have many dimensions, or no elements."""
    dims = shape(rng, low, high)
    if dims and rng.random() < 0.03:
        empty = rng.randrange(len(dims))
        return tuple(0 if at == empty else dim for at, dim in enumerate(dims))
    return (*(1,) * (rng.randint(6, 9) - len(dims)), *dims) if rng.random() < 0.03 else dims


def data(rng: random.Random, dims: Sequence[int], kind: Kind = "data", type: int | None = None) -> Operand:
    """Return an operand of random numbers near zero."""
    generator = np.random.default_rng(rng.randrange(1 << 30))
    return Operand(generator.normal(0, 1, tuple(dims)).round(3), kind, type)


def ints(values: Any, type: int | None = INT64) -> Operand:
    """Return a parameter of integers."""
    return Operand(np.array(values, dtype=np.int64), "parameter", type)


def number(value: Any, type: int | None = None) -> Operand:
    """Return a parameter that is a number."""
    return Operand(np.array(value, dtype=np.float64), "parameter", type)


def names(text: str) -> tuple[str, ...]:
    """Return the words of a text."""
    return tuple(text.split())


def broadcast(rng: random.Random, dims: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape that broadcasts to another shape."""
    cut = dims[rng.randint(0, len(dims)) :] if rng.random() < 0.4 else dims
    return tuple(1 if rng.random() < 0.25 else dim for dim in cut)


def spatial(rng: random.Random, rank: int, low: int = 4, high: int = 8) -> tuple[int, ...]:
    """Return the sizes of spatial dimensions."""
    return tuple(rng.randint(low, high) for _ in range(rank))
