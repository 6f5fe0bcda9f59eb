"""Operators that move, slice, concatenate and select elements."""
# Every recipe gets the opset, even if the recipe does not use it.
# ruff: noqa: ARG001

from __future__ import annotations

import random
from typing import Any

import numpy as np

from benchmarks.probes.calls import (
    BOOL,
    FLOAT,
    INT32,
    INT64,
    Call,
    Kind,
    Operand,
    Recipe,
    broadcast,
    data,
    ints,
    shape,
    wild_shape,
)


def pad(rng: random.Random, opset: int) -> Call | None:
    """Pad."""
    dims = tuple(rng.randint(2, 4) for _ in range(rng.randint(1, 5)))
    mode = rng.choice(
        ["constant", "constant", "constant", "reflect", "edge", *(["wrap"] if opset >= 19 else [])]
    )
    low = -1 if rng.random() < 0.2 else 0
    axes = None
    count = len(dims)
    if opset >= 18 and rng.random() < 0.3:
        axes = sorted(rng.sample(range(len(dims)), rng.randint(1, len(dims))))
        count = len(axes)
    pads = [rng.randint(low, 1) for _ in range(2 * count)]
    operands: list[Operand | None] = [data(rng, dims), ints(pads)]
    if mode == "constant" and rng.random() < 0.5:
        operands.append(Operand(np.array(rng.choice([0.0, 1.0])), "parameter"))
    if axes is not None:
        if len(operands) == 2:
            operands.append(None)
        operands.append(ints(axes, rng.choice([INT64, INT64, INT32])))
    attributes = {"mode": mode} if mode != "constant" or rng.random() < 0.5 else {}
    return Call("Pad", operands, attributes)


def slice_(rng: random.Random, opset: int) -> Call | None:
    """Slice."""
    dims = tuple(rng.randint(1, 4) for _ in range(rng.randint(1, 4)))
    axes = rng.sample(range(len(dims)), rng.randint(1, len(dims)))
    starts, ends, steps = [], [], []
    for axis in axes:
        backwards = rng.random() < 0.2
        if backwards:
            starts.append(rng.choice([-1, dims[axis] - 1]))
            ends.append(rng.choice([-dims[axis] - 1, -(1 << 31)]))
            steps.append(-1)
        else:
            start = rng.randrange(dims[axis])
            starts.append(start - dims[axis] if rng.random() < 0.3 else start)
            ends.append(rng.choice([dims[axis], (1 << 31) - 1, (1 << 63) - 1, start + 1]))
            steps.append(rng.choice([1, 1, 2]))
    kind = INT64 if max(map(abs, (*starts, *ends))) >= 1 << 31 else rng.choice([INT64, INT64, INT32])
    operands: list[Operand | None] = [data(rng, dims), ints(starts, kind), ints(ends, kind)]
    if sorted(axes) != list(range(len(axes))) or axes != sorted(axes) or rng.random() < 0.7:
        operands.append(ints([a - len(dims) if rng.random() < 0.3 else a for a in axes], kind))
        if any(step != 1 for step in steps) or rng.random() < 0.5:
            operands.append(ints(steps, kind))
    elif any(step != 1 for step in steps):
        operands += [None, ints(steps, kind)]
    return Call("Slice", operands)


def split(rng: random.Random, opset: int) -> Call | None:
    """Split."""
    dims = list(shape(rng, 1, 4))
    axis = rng.randrange(len(dims))
    count = rng.randint(1, 3)
    attributes: dict[str, Any] = {"axis": axis - len(dims) if rng.random() < 0.3 else axis}
    sizes = [rng.randint(1, 3) for _ in range(count)]
    given = rng.random() < 0.5
    if not given:
        sizes = [sizes[0]] * count
        if opset >= 18:
            attributes["num_outputs"] = count
    dims[axis] = sum(sizes)
    if given and opset < 13:
        attributes["split"] = sizes
    operands: list[Operand | None] = [data(rng, dims)]
    if given and opset >= 13:
        operands.append(ints(sizes))
    return Call("Split", operands, attributes, count)


def concat(rng: random.Random, opset: int) -> Call | None:
    """Concat."""
    dims = list(wild_shape(rng, 1, 4))
    axis = rng.randrange(-len(dims), len(dims))
    operands: list[Operand | None] = []
    for _ in range(rng.randint(1, 3)):
        own = list(dims)
        own[axis] = rng.randint(1, 3)
        operands.append(data(rng, own))
    return Call("Concat", operands, {"axis": axis})


def reshape(rng: random.Random, opset: int) -> Call | None:
    """Reshape."""
    dims = wild_shape(rng, 0, 4)
    size = int(np.prod(dims))
    target = [size] if rng.random() < 0.4 else [1, size] if rng.random() < 0.5 else list(reversed(dims))
    if target and rng.random() < 0.4:
        target[rng.randrange(len(target))] = -1
    attributes = {"allowzero": rng.choice([0, 1])} if opset >= 14 and rng.random() < 0.2 else {}
    return Call("Reshape", [data(rng, dims), ints(target)], attributes)


def squeeze(rng: random.Random, opset: int) -> Call | None:
    """Squeeze."""
    dims = list(shape(rng, 1, 4))
    axes = sorted(rng.sample(range(len(dims)), rng.randint(1, min(2, len(dims)))))
    for axis in axes:
        dims[axis] = 1
    axes = [axis - len(dims) if rng.random() < 0.3 else axis for axis in axes]
    if rng.random() < 0.2:
        return Call("Squeeze", [data(rng, dims)])
    if opset >= 13:
        return Call("Squeeze", [data(rng, dims), ints(axes)])
    return Call("Squeeze", [data(rng, dims)], {"axes": axes})


def unsqueeze(rng: random.Random, opset: int) -> Call | None:
    """Unsqueeze."""
    dims = shape(rng, 0, 4)
    count = rng.randint(1, 2)
    axes = sorted(rng.sample(range(len(dims) + count), count))
    if rng.random() < 0.3:
        axes = [axis - len(dims) - count for axis in axes]
    if opset >= 13:
        return Call("Unsqueeze", [data(rng, dims), ints(axes)])
    return Call("Unsqueeze", [data(rng, dims)], {"axes": axes})


def expand(rng: random.Random, opset: int) -> Call | None:
    """Expand."""
    dims = wild_shape(rng, 0, 3)
    target = [rng.randint(1, 3) if dim == 1 else rng.choice([dim, 1]) for dim in dims]
    target = [rng.randint(1, 2) for _ in range(rng.randint(0, 2))] + target
    return Call("Expand", [data(rng, dims), ints(target)])


def tile(rng: random.Random, opset: int) -> Call | None:
    """Tile."""
    dims = shape(rng, 1, 4)
    return Call("Tile", [data(rng, dims), ints([rng.randint(1, 2) for _ in dims])])


def gather(rng: random.Random, opset: int) -> Call | None:
    """Gather."""
    dims = shape(rng, 1, 4)
    axis = rng.randrange(-len(dims), len(dims))
    indices = np.random.default_rng(rng.randrange(1 << 30)).integers(0, dims[axis], shape(rng, 0, 2))
    return Call(
        "Gather", [data(rng, dims), Operand(indices, "parameter", rng.choice([INT64, INT32]))], {"axis": axis}
    )


def gather_elements(rng: random.Random, opset: int) -> Call | None:
    """GatherElements."""
    dims = shape(rng, 1, 4)
    axis = rng.randrange(-len(dims), len(dims))
    indices = np.random.default_rng(rng.randrange(1 << 30)).integers(0, dims[axis], dims)
    return Call(
        "GatherElements",
        [data(rng, dims), Operand(indices, "parameter", rng.choice([INT64, INT32]))],
        {"axis": axis},
    )


def gather_nd(rng: random.Random, opset: int) -> Call | None:
    """GatherND."""
    dims = shape(rng, 2, 4)
    depth = rng.randint(1, len(dims))
    indices = [[rng.randrange(dim) for dim in dims[:depth]] for _ in range(2)]
    return Call("GatherND", [data(rng, dims), ints(indices)])


def scatter_elements(rng: random.Random, opset: int) -> Call | None:
    """ScatterElements."""
    dims = shape(rng, 1, 4)
    axis = rng.randrange(-len(dims), len(dims))
    part = tuple(rng.randint(1, dim) for dim in dims)
    indices = np.zeros(part, np.int64) + np.arange(part[axis]).reshape(
        [-1 if i == axis % len(dims) else 1 for i in range(len(dims))]
    )
    attributes: dict[str, Any] = {"axis": axis}
    if opset >= 16 and rng.random() < 0.3:
        attributes["reduction"] = rng.choice(["none", "add", "mul", *(["max", "min"] if opset >= 18 else [])])
    return Call(
        "ScatterElements",
        [data(rng, dims), Operand(indices, "parameter", rng.choice([INT64, INT32])), data(rng, part)],
        attributes,
    )


def scatter_nd(rng: random.Random, opset: int) -> Call | None:
    """ScatterND."""
    dims = shape(rng, 1, 4)
    depth = rng.randint(1, len(dims))
    indices = [[rng.randrange(dim) for dim in dims[:depth]]]
    attributes: dict[str, Any] = {}
    if opset >= 16 and rng.random() < 0.3:
        attributes["reduction"] = rng.choice(["none", "add", "mul", *(["max", "min"] if opset >= 18 else [])])
    return Call("ScatterND", [data(rng, dims), ints(indices), data(rng, (1, *dims[depth:]))], attributes)


def where(rng: random.Random, opset: int) -> Call | None:
    """Where."""
    dims = shape(rng)
    kind: Kind = rng.choice(["data", "weight"])
    return Call(
        "Where",
        [
            data(rng, broadcast(rng, dims), type=BOOL),
            data(rng, dims),
            data(rng, broadcast(rng, dims), kind),
        ],
    )


def clip(rng: random.Random, opset: int) -> Call | None:
    """Clip."""
    low: Operand | None = Operand(np.array(-1.0), "parameter") if rng.random() < 0.7 else None
    high: Operand | None = Operand(np.array(2.0), "parameter") if rng.random() < 0.7 else None
    operands = [data(rng, shape(rng)), low, high]
    while operands[-1] is None:
        operands.pop()
    return Call("Clip", operands)


def one_hot(rng: random.Random, opset: int) -> Call | None:
    """OneHot."""
    dims = shape(rng, 0, 3)
    depth: Any = rng.randint(3, 5)
    depth = depth if rng.random() < 0.5 else [depth]
    indices = np.random.default_rng(1).integers(0, 3, dims)
    attributes = {"axis": rng.randint(-len(dims) - 1, len(dims))} if rng.random() < 0.5 else {}
    values = Operand(np.array([0.0, 1.0]), "parameter")
    return Call(
        "OneHot",
        [
            Operand(indices, "data", rng.choice([INT64, INT64, INT32, FLOAT])),
            ints(depth, rng.choice([INT64, INT64, INT32, FLOAT])),
            values,
        ],
        attributes,
    )


def range_(rng: random.Random, opset: int) -> Call | None:
    """Range."""
    type = rng.choice([INT64, INT64, INT32, FLOAT, 11, 5])
    return Call(
        "Range", [Operand(np.array(v), "parameter", type) for v in (0, rng.randint(2, 5), rng.choice([1, 2]))]
    )


def cum_sum(rng: random.Random, opset: int) -> Call | None:
    """CumSum."""
    dims = shape(rng, 1, 4)
    axis: Any = rng.randrange(-len(dims), len(dims))
    attributes = {name: 1 for name in ("exclusive", "reverse") if rng.random() < 0.3}
    return Call(
        "CumSum",
        [data(rng, dims), ints(axis if rng.random() < 0.7 else [axis], rng.choice([INT64, INT32]))],
        attributes,
    )


def trilu(rng: random.Random, opset: int) -> Call | None:
    """Trilu."""
    operands: list[Operand | None] = [data(rng, shape(rng, 2, 4))]
    if rng.random() < 0.5:
        operands.append(ints(rng.choice([-1, 0, 1]) if rng.random() < 0.6 else [rng.choice([-1, 0, 1])]))
    return Call("Trilu", operands, {"upper": rng.choice([0, 1])})


def top_k(rng: random.Random, opset: int) -> Call | None:
    """TopK."""
    dims = shape(rng, 1, 4)
    axis = rng.randrange(-len(dims), len(dims))
    attributes: dict[str, Any] = {"axis": axis}
    if rng.random() < 0.5:
        attributes |= {"largest": rng.choice([0, 1]), "sorted": rng.choice([0, 1])}
    return Call("TopK", [data(rng, dims), ints([rng.randint(1, dims[axis])])], attributes, 2)


def arg(op: str) -> Recipe:
    """Return a recipe for ArgMax or ArgMin."""

    def recipe(rng: random.Random, opset: int) -> Call | None:
        dims = shape(rng, 1, 4)
        attributes: dict[str, Any] = {
            "axis": rng.randrange(-len(dims), len(dims)),
            "keepdims": rng.choice([0, 1]),
        }
        if opset >= 12 and rng.random() < 0.3:
            attributes["select_last_index"] = rng.choice([0, 1])
        return Call(op, [data(rng, dims)], attributes)

    return recipe
