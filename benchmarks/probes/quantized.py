"""Quantized modules as tools write them: products, convolutions and other operators between quantizers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.probes.building import Building
from benchmarks.probes.calls import FLOAT, FLOAT16, INT8, INT32, UINT8

INT4, FLOAT8 = 22, 17


def _quantized_type(d: Building) -> int:
    types = [INT8, INT8, INT8, INT8, UINT8]
    if d.opset >= 19:
        types.append(FLOAT8)
    if d.opset >= 21:
        types.append(INT4)
    return d.rng.choice(types)


def _pair(d: Building, x: str, type: int, like: int = FLOAT) -> str:
    """Add a quantizer and a dequantizer with the same scale after a value, in one of the usual forms."""
    scale = d.number(d.rng.choice([0.25, 0.09]), like)
    way = d.rng.choice(["both", "both", "both", "first", "two scales", "computed", "fed"])
    zero = d.place_constant(np.zeros(()), type)
    if way == "computed":
        zero = d.node("Identity", zero)
    if way == "fed" and type != FLOAT8:
        zero = d.fed(np.zeros(()), type)
    q = d.node("QuantizeLinear", x, scale, zero)
    if way == "first" and type == UINT8:
        return d.node("DequantizeLinear", q, scale)
    if way == "first":
        return d.node("DequantizeLinear", q, scale)
    if way == "two scales":
        scale = d.number(0.125, like)
    return d.node("DequantizeLinear", q, scale, zero)


def _weight(d: Building, dims: Sequence[int], axis: int, type: int, like: int = FLOAT) -> str:
    """Add a weight that is stored quantized, or quantized in the graph.

    The weight has one scale, or one for each channel.
    """
    generator = np.random.default_rng(d.rng.randrange(1 << 30))
    each = d.opset >= 13 and d.rng.random() < 0.5
    sizes: tuple[int, ...] = (dims[axis],) if each else ()
    attributes: dict[str, Any] = {"axis": axis} if each else {}
    if d.opset >= 21 and d.rng.random() < 0.25:
        along = 1 - axis if len(dims) == 2 else 1
        if dims[along] % 2 == 0:
            sizes = tuple(size // 2 if at == along else size for at, size in enumerate(dims))
            attributes = {"axis": along, "block_size": 2}
    scale = d.place_constant(np.abs(generator.normal(0.2, 0.05, sizes)) + 0.01, like)
    zero = d.place_constant(np.zeros(sizes), type)
    if d.rng.random() < 0.45:
        stored = d.place_constant(generator.normal(0, 1, tuple(dims)).round(3), like)
        q = d.node("QuantizeLinear", stored, scale, zero, **attributes)
    else:
        q = d.place_constant(np.round(generator.uniform(0, 3, tuple(dims))), type)
    given = [q, scale, zero] if d.rng.random() < 0.7 else [q, scale]
    return d.node("DequantizeLinear", *given, **attributes)


def _like(d: Building) -> int:
    return FLOAT16 if d.opset >= 19 and d.rng.random() < 0.3 else FLOAT


def matmul(d: Building) -> list[str]:
    """A quantized matrix product."""
    like, type = _like(d), _quantized_type(d)
    width = d.rng.choice([4, 16, 64])
    x = d.numbers((2, width), like, "data")
    if d.rng.random() < 0.75:
        x = _pair(d, x, type if type != INT4 else INT8, like)
    made = d.node("MatMul", x, _weight(d, (width, 16), 1, type, like))
    if d.rng.random() < 0.5:
        made = d.node("Add", made, d.numbers((16,), like, "weight"))
    return [_pair(d, made, INT8, like) if d.rng.random() < 0.3 else made]


def conv(d: Building) -> list[str]:
    """A quantized convolution with a bias in float or int32."""
    like, type = _like(d), d.rng.choice([INT8, INT8, INT8, UINT8])
    x = d.numbers((1, 2, 6, 6), like, "data")
    if d.rng.random() < 0.85:
        x = _pair(d, x, type, like)
    given = [x, _weight(d, (2, 2, 3, 3), 0, type, like)]
    wild = d.rng.random()
    if wild < 0.3:
        given.append(d.numbers((2,), like, "weight"))
    elif wild < 0.45:
        bias = d.place_constant(np.array([0, 2]), INT32)
        given.append(d.node("DequantizeLinear", bias, d.number(0.1, like)))
    made = d.node("Conv", *given, pads=[1, 1, 1, 1])
    if d.rng.random() < 0.3:
        made = d.node("Relu", made)
    return [_pair(d, made, INT8, like) if d.rng.random() < 0.4 else made]


def others(d: Building) -> list[str]:
    """A pair of quantizers before an operator, and sometimes after it."""
    like, type = _like(d), _quantized_type(d)
    x = _pair(d, d.numbers((1, 2, 4, 4), like, "data"), type, like)
    op = d.rng.choice(
        ["Softmax", "Transpose", "Add", "GlobalAveragePool", "MaxPool", "Resize", "Concat", "Reshape", "Relu"]
    )
    if op == "Add":
        made = d.node(op, x, _pair(d, d.numbers((1, 2, 4, 4), like, "data"), type, like))
    elif op == "Concat":
        made = d.node(op, x, _pair(d, d.numbers((1, 2, 4, 4), like, "data"), type, like), axis=1)
    elif op == "MaxPool":
        made = d.node(op, x, kernel_shape=[2, 2])
    elif op == "Reshape":
        made = d.node(op, x, d.index([1, -1]))
    elif op == "Resize":
        roi = d.place_constant(np.zeros(0), FLOAT) if d.opset < 13 else ""
        made = d.node(op, x, roi, d.place_constant(np.array([1.0, 1, 2, 2]), FLOAT), mode="nearest")
    else:
        made = d.node(op, x)
    return [_pair(d, made, type, like) if d.rng.random() < 0.5 else made]


def embedding(d: Building) -> list[str]:
    """A quantized embedding table with a Gather before or after the dequantizer."""
    type = d.rng.choice([INT8, UINT8])
    table = d.place_constant(np.round(np.linspace(0, 7, 32)).reshape(8, 4), type)
    scale = d.number(0.1)
    ids = d.numbers((1, 3), d.rng.choice([7, INT32]), "indices")
    if d.rng.random() < 0.5:
        return [d.node("Gather", d.node("DequantizeLinear", table, scale), ids, axis=0)]
    return [d.node("DequantizeLinear", d.node("Gather", table, ids, axis=0), scale)]
