"""What a call of an operator is, and the numbers that calls are made of.

A recipe says what an operator reads; of what type that is, and where it comes from, is drawn elsewhere
(:mod:`benchmarks.probes.draw`).  Recipes know nothing of what TensorRT takes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Kind = Literal["data", "weight", "parameter"]
"""What an operand is: an activation, a tensor of weights, or a number that shapes the operator."""


@dataclass(frozen=True, slots=True)
class Operand:
    """What one input reads.

    Attributes:
        array: the elements, cast to the type that is drawn.
        kind: what it is, which decides where it may come from.
        type: ONNX's number of a type that it must have; None leaves it to the schema.
    """

    array: np.ndarray[Any, Any]
    kind: Kind = "data"
    type: int | None = None


@dataclass(slots=True)
class Call:
    """One call of an operator.

    Attributes:
        op: operator type.
        operands: what it reads, None for an input left out.
        attributes: its attributes.
        outputs: how many outputs are asked for.
        domain: domain of the operator.
        types: types of the schema's type variables that are settled.
    """

    op: str
    operands: Sequence[Operand | None]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    domain: str = ""
    types: dict[str, int] = field(default_factory=dict)


Recipe = Callable[[random.Random, int], "Call | None"]
"""Gives a call for an opset, None where the operator is not in it or the draw was unlucky."""

FLOAT, INT32, INT64, BOOL, FLOAT16, UINT8, INT8 = 1, 6, 7, 9, 10, 2, 3
BFLOAT16, DOUBLE = 16, 11


def shape(rng: random.Random, low: int = 0, high: int = 4) -> tuple[int, ...]:
    """A shape of a few elements."""
    return tuple(rng.choice([1, 2, 2, 3, 4]) for _ in range(rng.randint(low, high)))


def wild_shape(rng: random.Random, low: int = 0, high: int = 4) -> tuple[int, ...]:
    """A shape that may have very many dimensions, or no elements."""
    dims = shape(rng, low, high)
    if dims and rng.random() < 0.03:
        empty = rng.randrange(len(dims))
        return tuple(0 if at == empty else dim for at, dim in enumerate(dims))
    return (*(1,) * (rng.randint(6, 9) - len(dims)), *dims) if rng.random() < 0.03 else dims


def data(rng: random.Random, dims: Sequence[int], kind: Kind = "data", type: int | None = None) -> Operand:
    """An operand of random numbers near zero."""
    generator = np.random.default_rng(rng.randrange(1 << 30))
    return Operand(generator.normal(0, 1, tuple(dims)).round(3), kind, type)


def ints(values: Any, type: int | None = INT64) -> Operand:
    """A parameter of integers."""
    return Operand(np.array(values, dtype=np.int64), "parameter", type)


def number(value: Any, type: int | None = None) -> Operand:
    """A parameter that is a number."""
    return Operand(np.array(value, dtype=np.float64), "parameter", type)


def names(text: str) -> tuple[str, ...]:
    """Words as a tuple."""
    return tuple(text.split())


def broadcast(rng: random.Random, dims: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts to another."""
    cut = dims[rng.randint(0, len(dims)) :] if rng.random() < 0.4 else dims
    return tuple(1 if rng.random() < 0.25 else dim for dim in cut)


def spatial(rng: random.Random, rank: int, low: int = 4, high: int = 8) -> tuple[int, ...]:
    """Sizes of spatial dimensions."""
    return tuple(rng.randint(low, high) for _ in range(rank))
