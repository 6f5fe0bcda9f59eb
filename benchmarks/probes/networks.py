"""Normalizations, recurrent operators, attention and quantizers."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from benchmarks.probes.calls import (
    BOOL,
    INT8,
    INT32,
    INT64,
    UINT8,
    Call,
    Kind,
    Operand,
    Recipe,
    data,
    ints,
    shape,
)


def normalization(op: str) -> Recipe:
    """Return a recipe for a normalization with scales."""

    def recipe(rng: random.Random, opset: int) -> Call | None:
        if op == "BatchNormalization":
            channels = rng.randint(1, 3)
            dims = (2, channels, *shape(rng, 0, 3))
            operands = [
                data(rng, dims),
                *(Operand(np.abs(data(rng, (channels,)).array) + 0.5, "weight") for _ in range(4)),
            ]
            return Call(op, list(operands), {"epsilon": 1e-5} if rng.random() < 0.5 else {})
        if op == "InstanceNormalization":
            channels = rng.randint(1, 3)
            dims = (2, channels, *shape(rng, 1, 3))
            return Call(
                op, [data(rng, dims), data(rng, (channels,), "weight"), data(rng, (channels,), "weight")]
            )
        if op == "GroupNormalization":
            if opset < 18:
                return None
            groups = rng.choice([1, 2])
            channels = groups * rng.randint(1, 2)
            size = channels if opset >= 21 else groups
            dims = (2, channels, *shape(rng, 1, 3))
            return Call(
                op,
                [data(rng, dims), data(rng, (size,), "weight"), data(rng, (size,), "weight")],
                {"num_groups": groups},
            )
        dims = shape(rng, 1, 4)
        axis = rng.randrange(len(dims))
        rest = dims[axis:]
        attributes = {"axis": axis - len(dims) if rng.random() < 0.5 else axis}
        operands2: list[Operand | None] = [data(rng, dims), data(rng, rest, "weight")]
        if op == "LayerNormalization":
            if opset < 17:
                return None
            if rng.random() < 0.6:
                operands2.append(data(rng, rest, "weight"))
            if rng.random() < 0.3:
                attributes["stash_type"] = rng.choice([1, 1, 0, 10, 16])
            return Call(op, operands2, attributes, rng.choice([1, 1, 1, 1, 3]))
        if opset < 23:
            return None
        return Call(op, operands2, attributes)

    return recipe


def recurrent(op: str) -> Recipe:
    """Return a recipe for LSTM, GRU or RNN."""

    def recipe(rng: random.Random, opset: int) -> Call | None:
        gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
        sequence, batch, width, hidden = rng.randint(1, 4), rng.randint(1, 4), 2, rng.randint(1, 3)
        direction = rng.choice(["forward", "forward", "reverse", "bidirectional"])
        ways = 2 if direction == "bidirectional" else 1
        attributes: dict[str, Any] = {"hidden_size": hidden, "direction": direction}
        first = False
        if opset >= 14 and rng.random() < 0.3:
            attributes["layout"] = rng.choice([0, 1])
            first = attributes["layout"] == 1
        operands: list[Operand | None] = [
            data(rng, (batch, sequence, width) if first else (sequence, batch, width)),
            data(rng, (ways, gates * hidden, width), "weight"),
            data(rng, (ways, gates * hidden, hidden), "weight"),
        ]
        state = (batch, ways, hidden) if first else (ways, batch, hidden)
        optional: list[Operand | None] = [
            data(rng, (ways, 2 * gates * hidden), "weight") if rng.random() < 0.6 else None,
            ints([sequence] * batch, INT32) if rng.random() < 0.2 else None,
            data(rng, state, rng.choice(["data", "weight"])) if rng.random() < 0.4 else None,
        ]
        if op == "LSTM":
            optional.append(data(rng, state, rng.choice(["data", "weight"])) if rng.random() < 0.3 else None)
            optional.append(data(rng, (ways, 3 * hidden), "weight") if rng.random() < 0.15 else None)
        operands += optional
        while operands[-1] is None:
            operands.pop()
        if op == "GRU":
            attributes["linear_before_reset"] = rng.choice([0, 1])
        if rng.random() < 0.15:
            attributes["clip"] = 3.0
        if rng.random() < 0.25:
            names = [
                "Relu",
                "Tanh",
                "Sigmoid",
                "LeakyRelu",
                "Softsign",
                "Softplus",
                "HardSigmoid",
                "Elu",
                "Affine",
                "ThresholdedRelu",
                "ScaledTanh",
            ]
            each = {"LSTM": 3, "GRU": 2, "RNN": 1}[op]
            chosen = [rng.choice(names[:5]) if rng.random() < 0.6 else rng.choice(names) for _ in range(each)]
            attributes["activations"] = (
                chosen * ways if rng.random() < 0.7 else [rng.choice(names[:6]) for _ in range(each * ways)]
            )
            if rng.random() < 0.4:
                attributes["activation_alpha"] = [0.3] * len(attributes["activations"])
                attributes["activation_beta"] = [0.5] * len(attributes["activations"])
        return Call(op, operands, attributes, rng.randint(1, 3 if op == "LSTM" else 2))

    return recipe


def attention(rng: random.Random, opset: int) -> Call | None:
    """Attention."""
    if opset < 23:
        return None
    batch, q_length, length = rng.randint(1, 2), rng.choice([1, 4, 8]), rng.choice([4, 8])
    kv_heads = rng.choice([1, 2])
    heads = kv_heads * rng.choice([1, 1, 2])
    size = rng.choice([8, 16, 32, 4])
    v_size = size if rng.random() < 0.85 else size * 2
    attributes: dict[str, Any] = {}
    three = rng.random() < 0.4
    if three:
        attributes |= {"q_num_heads": heads, "kv_num_heads": kv_heads}
        operands: list[Operand | None] = [
            data(rng, (batch, q_length, heads * size)),
            data(rng, (batch, length, kv_heads * size)),
            data(rng, (batch, length, kv_heads * v_size)),
        ]
    else:
        operands = [
            data(rng, (batch, heads, q_length, size)),
            data(rng, (batch, kv_heads, length, size)),
            data(rng, (batch, kv_heads, length, v_size)),
        ]
    past = 0
    cached = rng.random() < 0.15
    if cached:
        past = 2
    mask = rng.random()
    if mask < 0.3:
        dims = rng.choice(
            [
                (q_length, length + past),
                (1, 1, q_length, length + past),
                (batch, heads, q_length, length + past),
            ]
        )
        operands.append(data(rng, dims, type=BOOL if rng.random() < 0.5 else None))
    elif cached:
        operands.append(None)
    if cached:
        operands += [data(rng, (batch, kv_heads, past, size)), data(rng, (batch, kv_heads, past, v_size))]
    if rng.random() < 0.25:
        attributes["is_causal"] = 1
    if rng.random() < 0.2:
        attributes["scale"] = 0.3
    if rng.random() < 0.08:
        attributes["softcap"] = 2.0
    return Call("Attention", operands, attributes, 3 if cached else 1)


def rotary(rng: random.Random, opset: int) -> Call | None:
    """RotaryEmbedding."""
    if opset < 23:
        return None
    batch, heads, length, size = rng.randint(1, 2), rng.randint(1, 2), rng.randint(2, 4), rng.choice([4, 8])
    attributes: dict[str, Any] = {"interleaved": rng.choice([0, 1])}
    part = size
    if rng.random() < 0.3:
        part = size // 2
        attributes["rotary_embedding_dim"] = part
    if rng.random() < 0.4:
        x = data(rng, (batch, length, heads * size))
        attributes["num_heads"] = heads
    else:
        x = data(rng, (batch, heads, length, size))
    kind: Kind = rng.choice(["weight", "data"])
    if rng.random() < 0.5:
        caches = [data(rng, (6, part // 2), kind) for _ in range(2)]
        positions = np.tile(np.arange(length), (batch, 1))
        return Call(
            "RotaryEmbedding",
            [x, *caches, Operand(positions, rng.choice(["data", "parameter"]), INT64)],
            attributes,
        )
    return Call(
        "RotaryEmbedding", [x, *(data(rng, (batch, length, part // 2), kind) for _ in range(2))], attributes
    )


def quantize(op: str) -> Recipe:
    """Return a recipe for QuantizeLinear or DequantizeLinear."""

    def recipe(rng: random.Random, opset: int) -> Call | None:
        dims = tuple(rng.choice([2, 4]) for _ in range(rng.randint(0, 4)))
        attributes: dict[str, Any] = {}
        scale_dims: tuple[int, ...] = rng.choice([(), (1,)])
        if dims and rng.random() < 0.4:
            axis = rng.randrange(len(dims))
            scale_dims = (dims[axis],)
            attributes["axis"] = axis - len(dims) if rng.random() < 0.3 else axis
        if opset >= 21 and dims and rng.random() < 0.15:
            axis = rng.randrange(len(dims))
            attributes |= {"axis": axis, "block_size": 2}
            scale_dims = tuple(dim // 2 if i == axis else dim for i, dim in enumerate(dims))
        scale = Operand(np.abs(data(rng, scale_dims).array) / 8 + 0.05, "weight", None)
        types = [
            INT8,
            INT8,
            INT8,
            UINT8,
            *([17, 19, 22, 21, 5, 4] if opset >= 21 else [17, 18] if opset >= 19 else []),
        ]
        type = rng.choice(types)
        zero = Operand(np.full(scale_dims, 0 if rng.random() < 0.9 or type > 3 else 3), "weight", type)
        if op == "QuantizeLinear":
            operands: list[Operand | None] = [data(rng, dims), scale]
            if type != UINT8 or rng.random() < 0.5:
                operands.append(zero)
            return Call(op, operands, attributes)
        stored = Operand(
            np.round(data(rng, dims).array * 3)
            if type not in (21, 4, 2)
            else np.abs(np.round(data(rng, dims).array * 3)),
            rng.choice(["data", "weight", "weight"]),
            type,
        )
        operands = [stored, scale]
        if rng.random() < 0.7:
            operands.append(zero)
        return Call(op, operands, attributes)

    return recipe
