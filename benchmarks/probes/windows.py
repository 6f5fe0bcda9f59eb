"""Operators on images and signals, matrix products, and operators with only one kind of call."""
# Every recipe gets the opset, even if the recipe does not use it.
# ruff: noqa: ARG001

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.probes.calls import (
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
    names,
    number,
    shape,
    spatial,
)


def _window(rng: random.Random, size: Sequence[int], conv: bool) -> dict[str, Any]:
    rank = len(size)
    kernel = [rng.randint(1, 3) for _ in size]
    attributes: dict[str, Any] = {"kernel_shape": kernel}
    if rng.random() < 0.5:
        attributes["strides"] = [rng.randint(1, 3) for _ in range(rank)]
    mode = rng.random()
    if mode < 0.4:
        attributes["pads"] = [rng.randint(0, k - 1) for k in kernel] + [rng.randint(0, k - 1) for k in kernel]
    elif mode < 0.6:
        attributes["auto_pad"] = rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"])
    if rng.random() < (0.3 if conv else 0.15):
        attributes["dilations"] = [rng.randint(1, 2) for _ in range(rank)]
    return attributes


def pool(op: str) -> Recipe:
    """Return a recipe for a pooling operator."""

    def recipe(rng: random.Random, opset: int) -> Call | None:
        rank = rng.choice([1, 2, 2, 2, 3])
        size = spatial(rng, rank)
        attributes = _window(rng, size, conv=False)
        if "dilations" in attributes and (
            (op == "AveragePool" and opset < 19) or (op == "LpPool" and opset < 18)
        ):
            del attributes["dilations"]
        if rng.random() < 0.2 and (op != "LpPool" or opset >= 18):
            attributes["ceil_mode"] = rng.choice([0, 1])
        if op == "AveragePool" and rng.random() < 0.3:
            attributes["count_include_pad"] = 1
        if op == "LpPool":
            attributes["p"] = rng.choice([1, 2, 2, 3])
        outputs = 2 if op == "MaxPool" and rng.random() < 0.08 else 1
        return Call(op, [data(rng, (rng.randint(1, 2), rng.randint(1, 3), *size))], attributes, outputs)

    return recipe


def conv(rng: random.Random, opset: int) -> Call | None:
    """A convolution."""
    rank = rng.choice([1, 2, 2, 2, 3])
    size = spatial(rng, rank)
    attributes = _window(rng, size, conv=True)
    group = rng.choice([1, 1, 1, 2])
    inner, outer = rng.randint(1, 2), group * rng.randint(1, 2)
    attributes["group"] = group
    if group == 1 and rng.random() < 0.5:
        del attributes["group"]
    kernel = attributes["kernel_shape"]
    if rng.random() < 0.4:
        del attributes["kernel_shape"]
    operands: list[Operand | None] = [
        data(rng, (rng.randint(1, 2), group * inner, *size)),
        data(rng, (outer, inner, *kernel), "weight"),
    ]
    if rng.random() < 0.5:
        operands.append(data(rng, (outer,), "weight"))
    return Call("Conv", operands, attributes)


def conv_transpose(rng: random.Random, opset: int) -> Call | None:
    """A transposed convolution."""
    rank = rng.choice([1, 2, 2, 2, 3])
    size = spatial(rng, rank, 2, 5)
    attributes = _window(rng, size, conv=True)
    strides = attributes.get("strides", [1] * rank)
    if rng.random() < 0.3:
        attributes["output_padding"] = [rng.randint(0, stride - 1) for stride in strides]
    if rng.random() < 0.15 and "auto_pad" not in attributes and "pads" not in attributes:
        attributes["output_shape"] = [dim * stride for dim, stride in zip(size, strides, strict=True)]
    group = rng.choice([1, 1, 1, 2])
    inner, outer = rng.randint(1, 2), rng.randint(1, 2)
    if group > 1 or rng.random() < 0.5:
        attributes["group"] = group
    kernel = attributes["kernel_shape"]
    if rng.random() < 0.4:
        del attributes["kernel_shape"]
    operands: list[Operand | None] = [
        data(rng, (rng.randint(1, 2), group * inner, *size)),
        data(rng, (group * inner, outer, *kernel), "weight"),
    ]
    if rng.random() < 0.5:
        operands.append(data(rng, (group * outer,), "weight"))
    return Call("ConvTranspose", operands, attributes)


def matmul(rng: random.Random, opset: int) -> Call | None:
    """A matrix product, also of vectors and batches."""
    batch = shape(rng, 0, 2)
    m, k, n = (rng.randint(1, 4) for _ in range(3))
    a: tuple[int, ...] = (*batch, m, k)
    b: tuple[int, ...] = (*broadcast(rng, batch), k, n)
    if rng.random() < 0.1:
        a = (k,)
    if rng.random() < 0.1:
        b = (k,)
    kind: Kind = "weight" if rng.random() < 0.5 else "data"
    return Call("MatMul", [data(rng, a), data(rng, b, kind)])


def gemm(rng: random.Random, opset: int) -> Call | None:
    """A matrix product with a bias."""
    m, k, n = (rng.randint(1, 4) for _ in range(3))
    ta, tb = rng.choice([0, 1]), rng.choice([0, 1])
    operands: list[Operand | None] = [
        data(rng, (k, m) if ta else (m, k)),
        data(rng, (n, k) if tb else (k, n), "weight"),
    ]
    if rng.random() < 0.7:
        operands.append(data(rng, rng.choice([(n,), (1, n), (m, n), (m, 1), ()]), "weight"))
    attributes: dict[str, Any] = {"transA": ta, "transB": tb}
    if rng.random() < 0.4:
        attributes |= {"alpha": rng.choice([0.5, 1.0]), "beta": rng.choice([0.0, 1.0, 2.0])}
    return Call("Gemm", operands, attributes)


EQUATIONS = names(
    "ij,jk->ik ij,jk->ki i,i-> ij->ji bij,bjk->bik ij->i ij-> ii->i bhid,bhjd->bhij i,j->ij "
    "ij,ij->ij ij,kj,lj->ikl ...ij,...jk->...ik ij,jk "
)


def einsum(rng: random.Random, opset: int) -> Call | None:
    """Einsum."""
    equation = rng.choice(EQUATIONS)
    sizes = {letter: rng.randint(2, 3) for letter in "bhijkld"}
    dots = shape(rng, 0, 2)
    operands: list[Operand | None] = []
    for term in equation.split("->")[0].split(","):
        lead = dots if term.startswith("...") else ()
        operands.append(data(rng, (*lead, *(sizes[letter] for letter in term.removeprefix("...")))))
    return Call("Einsum", operands, {"equation": equation})


def resize(rng: random.Random, opset: int) -> Call | None:
    """Resize."""
    rank = rng.choice([1, 2, 3, 4, 4, 4, 5])
    dims = tuple(rng.randint(1, 4) for _ in range(rank))
    mode = rng.choice(["nearest", "nearest", "linear", "linear", "cubic"])
    spatial = rng.randint(1, rank) if rng.random() < 0.3 else max(0, rank - 2)
    if mode == "cubic" and rank < 2:
        return None
    factors = [1.0] * (rank - spatial) + [rng.choice([2.0, 0.5, 1.5, 2.0]) for _ in range(spatial)]
    attributes: dict[str, Any] = {"mode": mode}
    if rng.random() < 0.7:
        attributes["coordinate_transformation_mode"] = rng.choice(
            ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
        )
    if mode == "nearest" and rng.random() < 0.6:
        attributes["nearest_mode"] = rng.choice(["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
    if mode == "cubic" and rng.random() < 0.3:
        attributes["cubic_coeff_a"] = -0.5
    if opset >= 18 and rng.random() < 0.1:
        attributes["antialias"] = 1
    if rng.random() < 0.1:
        attributes["exclude_outside"] = 1 if mode == "cubic" else 0
    roi = Operand(np.zeros(0), "parameter", FLOAT) if opset < 13 or rng.random() < 0.2 else None
    sizes = [max(1, int(dim * factor)) for dim, factor in zip(dims, factors, strict=True)]
    if opset >= 18 and rng.random() < 0.2 and spatial:
        axes = list(range(rank - spatial, rank))
        attributes["axes"] = axes
        sizes, factors = sizes[rank - spatial :], factors[rank - spatial :]
    if rng.random() < 0.5:
        scales = Operand(np.array(factors), "parameter", FLOAT)
        return Call("Resize", [data(rng, dims), roi, scales], attributes)
    empty = Operand(np.zeros(0), "parameter", FLOAT) if opset < 13 else None
    return Call("Resize", [data(rng, dims), roi, empty, ints(sizes)], attributes)


def grid_sample(rng: random.Random, opset: int) -> Call | None:
    """GridSample."""
    if opset < 16:
        return None
    rank = 2 if opset < 20 or rng.random() < 0.7 else 3
    size, out = spatial(rng, rank, 2, 4), spatial(rng, rank, 2, 3)
    grid = np.clip(data(rng, (2, *out, rank)).array, -1, 1)
    modes = ["linear", "nearest", "cubic"] if opset >= 20 else ["bilinear", "nearest", "bicubic"]
    attributes: dict[str, Any] = {
        "mode": rng.choice(modes[: 2 if rank == 3 else 3]),
        "align_corners": rng.choice([0, 1]),
    }
    attributes["padding_mode"] = rng.choice(["zeros", "border", "reflection"])
    return Call("GridSample", [data(rng, (2, 2, *size)), Operand(grid)], attributes)


def depth_space(op: str) -> Recipe:
    """Return a recipe for DepthToSpace or SpaceToDepth."""

    def recipe(rng: random.Random, opset: int) -> Call | None:
        if op == "DepthToSpace":
            attributes: dict[str, Any] = {"blocksize": 2}
            if rng.random() < 0.5:
                attributes["mode"] = rng.choice(["DCR", "CRD"])
            return Call(op, [data(rng, (1, 4 * rng.randint(1, 2), 2, 3))], attributes)
        return Call(op, [data(rng, (1, rng.randint(1, 2), 4, 2))], {"blocksize": 2})

    return recipe


def prelu(rng: random.Random, opset: int) -> Call | None:
    """PRelu."""
    dims = shape(rng, 1, 4)
    slope = rng.choice([dims, (dims[1], *([1] * (len(dims) - 2))) if len(dims) > 1 else (1,), (1,)])
    return Call("PRelu", [data(rng, dims), data(rng, slope, rng.choice(["weight", "weight", "data"]))])


def lrn(rng: random.Random, opset: int) -> Call | None:
    """LRN."""
    return Call("LRN", [data(rng, (1, 4, *shape(rng, 1, 3)))], {"size": rng.choice([1, 3, 5])})


def reverse_sequence(rng: random.Random, opset: int) -> Call | None:
    """ReverseSequence."""
    time = rng.choice([0, 1])
    dims = (3, 3, *shape(rng, 0, 2))
    return Call(
        "ReverseSequence", [data(rng, dims), ints([1, 2, 3])], {"time_axis": time, "batch_axis": 1 - time}
    )


def nms(rng: random.Random, opset: int) -> Call | None:
    """NonMaxSuppression."""
    boxes = np.sort(np.abs(data(rng, (1, 5, 4)).array), axis=-1)
    operands: list[Operand | None] = [Operand(boxes, "data", FLOAT), data(rng, (1, 2, 5), type=FLOAT)]
    operands += [ints([3]), number([0.5], FLOAT), number([0.1], FLOAT)][: rng.randint(1, 3)]
    return Call("NonMaxSuppression", operands)


def roi_align(rng: random.Random, opset: int) -> Call | None:
    """RoiAlign."""
    return Call(
        "RoiAlign",
        [data(rng, (1, 2, 6, 6)), Operand(np.array([[0.0, 0, 3, 3]])), ints([0])],
        {"output_height": 2, "output_width": 2},
    )


def stft(rng: random.Random, opset: int) -> Call | None:
    """STFT."""
    if opset < 17:
        return None
    return Call(
        "STFT", [data(rng, (1, 32, 1)), ints(8), data(rng, (16,), "weight"), ints(16)][: rng.choice([3, 4])]
    )


def dft(rng: random.Random, opset: int) -> Call | None:
    """DFT."""
    if opset < 17:
        return None
    return Call("DFT", [data(rng, (1, 8, 1))])


def window(op: str) -> Recipe:
    """Return a recipe for a window function of signal processing."""

    def recipe(rng: random.Random, opset: int) -> Call | None:
        if opset < 17:
            return None
        attributes = {"output_datatype": rng.choice([1, 1, 10, 11])} if rng.random() < 0.4 else {}
        return Call(op, [ints(rng.randint(4, 8), rng.choice([INT64, INT32]))], attributes)

    return recipe


def plain(
    op: str,
    *dims: Sequence[int],
    types: Sequence[int] = (),
    domain: str = "",
    since: int = 1,
    **attributes: Any,
) -> Recipe:
    """Return a recipe for an operator with only one kind of call."""

    def recipe(rng: random.Random, opset: int) -> Call | None:
        if opset < since:
            return None
        kinds = list(types) or [0] * len(dims)
        operands: list[Operand | None] = []
        for index, (size, type) in enumerate(zip(dims, kinds, strict=True)):
            operands.append(
                data(rng, size, "data" if index == 0 or rng.random() < 0.5 else "weight", type or None)
            )
        return Call(op, operands, dict(attributes), 1, domain)

    return recipe


def tensor_scatter(rng: random.Random, opset: int) -> Call | None:
    """TensorScatter."""
    if opset < 24:
        return None
    dims = (1, 2, 4, 3) if rng.random() < 0.7 else (1, 4, 3)
    part = (*dims[:-2], 2, 3)
    return Call(
        "TensorScatter",
        [data(rng, dims), data(rng, part), ints([1])],
        {"mode": rng.choice(["linear", "linear", "circular"])},
    )
