"""Float subgraphs: normalizations, attention, masks, activations, convolutions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from benchmarks.random_fixes.drawing import FLOATS, MICROSOFT, DrawError, Drawing, Value


def glue(d: Drawing, x: Value) -> Value:
    """Add an element-wise operator."""
    op = d.random.choice(("Relu", "Add", "Mul", "Tanh", "Sigmoid", "Neg", "Identity", "LeakyRelu"))
    d.needs(op != "Relu" or d.opset >= 14 or x.type != TensorProto.DOUBLE)
    second = [d.scalar(d.random.uniform(-2, 2))] if op in ("Add", "Mul") else []
    return d.value(op, [x, *second], x)


def norm(d: Drawing, x: Value) -> Value:
    """Add a layer norm or RMS norm in primitive operators."""
    d.needs(x.rank >= 2 and isinstance(x.shape[-1], int))
    size = int(x.shape[-1])
    axis = x.rank - 1 if d.chance(0.5) else -1
    centred = x
    if d.chance(0.7):
        centred = d.value("Sub", [x, d.reduce("ReduceMean", x, axis)], x)
    square = (
        d.value("Pow", [centred, d.scalar(2.0)], x)
        if d.chance(0.6)
        else d.value("Mul", [centred, centred], x)
    )
    mean = d.reduce("ReduceMean", square, axis)
    if d.chance(0.9):
        mean = d.value("Add", [mean, d.scalar(10.0 ** -d.random.randint(3, 7))], mean)
    root = d.value("Sqrt", [mean], mean)
    if d.chance(0.7):
        y = d.value("Div", [centred, root], x)
    else:
        y = d.value("Mul", [centred, d.value("Reciprocal", [root], root)], x)
    if d.chance(0.6):
        y = d.value("Mul", [y, d.floats(size)], x)
    if d.chance(0.4):
        y = d.value("Add", [y, d.floats(size)], x)
    return y


def _projected(d: Drawing, x: Value, width: int) -> Value:
    name = d.node("MatMul", [x, d.floats(int(x.shape[-1]), width, scale=0.5)])
    return Value(name, x.type, (*x.shape[:-1], width))


def _heads(d: Drawing, x: Value, heads: int, size: int) -> Value:
    name = d.node("Reshape", [x, d.ints(0, 0, heads, size)])
    return d.transposed(Value(name, x.type, (x.shape[0], x.shape[1], heads, size)), 0, 2, 1, 3)


def _masked(d: Drawing, scores: Value) -> Value:
    """Mask scores, with a large negative constant or minus infinity."""
    low = d.random.choice((-1e4, -65504.0, -1e9, -3.4028234663852886e38, -math.inf))
    if scores.type == TensorProto.FLOAT16:
        low = max(low, -65504.0) if math.isfinite(low) else low
    keys = scores.shape[-1]
    way = d.random.choice(("where", "add", "scaled"))
    shape = (scores.shape[0], 1, 1, keys) if scores.rank == 4 and d.chance(0.5) else scores.shape
    if way == "scaled" and math.isfinite(low):
        kept = d.cast(d.input(TensorProto.INT64, shape), scores.type)
        d.exposed.append(kept)
        gone = d.value("Sub", [d.scalar(1.0), kept], kept)
        return d.value("Add", [scores, d.value("Mul", [gone, d.scalar(low)], gone)], scores)
    mask = d.input(TensorProto.BOOL, shape)
    if way == "where":
        inputs = [mask, d.scalar(low), scores] if d.chance(0.5) else [mask, scores, d.scalar(low)]
        return d.value("Where", inputs, scores)
    added = Value(d.node("Where", [mask, d.scalar(0.0), d.scalar(low)]), scores.type, shape)
    return d.value("Add", [scores, added], scores)


def attention(d: Drawing, x: Value) -> Value:
    """Add attention over [batch, length, width], with the scale in one of several places."""
    d.needs(x.rank == 3 and isinstance(x.shape[-1], int))
    heads, size = d.random.choice(((1, 8), (2, 4), (2, 8), (4, 16), (2, 24)))
    width = heads * size
    q, k, v = (_heads(d, _projected(d, x, width), heads, size) for _ in range(3))
    k = d.transposed(k, 0, 1, 3, 2)
    scale = size**-0.5
    where = d.random.choice(("both", "query", "after", "divided", "none"))
    if where == "both":
        root = d.scalar(math.sqrt(scale))
        q, k = d.value("Mul", [q, root], q), d.value("Mul", [k, root], k)
    if where == "query":
        q = d.value("Mul", [q, d.scalar(scale)], q)
    scores = Value(d.node("MatMul", [q, k]), x.type, (*q.shape[:-1], q.shape[-2]))
    if where == "after":
        scores = d.value("Mul", [scores, d.scalar(scale)], scores)
    if where == "divided":
        scores = d.value("Div", [scores, d.scalar(1 / scale)], scores)
    if d.chance(0.5):
        scores = _masked(d, scores)
    if d.chance(0.1):
        d.exposed.append(scores)
    weights = d.softmax(scores)
    mixed = Value(d.node("MatMul", [weights, v]), x.type, v.shape)
    back = d.transposed(mixed, 0, 2, 1, 3)
    return Value(d.node("Reshape", [back, d.ints(0, 0, width)]), x.type, (*x.shape[:-1], width))


def masked_softmax(d: Drawing, x: Value) -> Value:
    """Add a softmax over masked scores; sometimes, the scores are also an output."""
    d.needs(x.rank >= 2)
    scores = x
    if d.chance(0.3):
        scores = d.value("Mul", [x, d.scalar(d.random.choice((1e2, 1e4)))], x)
    scores = _masked(d, scores)
    if d.chance(0.2):
        d.exposed.append(scores)
    return d.softmax(scores, d.random.choice((-1, x.rank - 1)))


def onnx_attention(d: Drawing, x: Value) -> Value:
    """Add the operator Attention of opset 23."""
    d.needs(d.opset >= 23 and x.rank == 3 and x.type != TensorProto.DOUBLE and isinstance(x.shape[-1], int))
    heads, size = d.random.choice(((1, 8), (2, 4), (2, 16)))
    q, k, v = (_projected(d, x, heads * size) for _ in range(3))
    inputs = [q, k, v]
    if d.chance(0.4):
        low = d.chance(0.5)
        kind = TensorProto.BOOL if low else x.type
        inputs.append(d.input(kind, (x.shape[1], x.shape[1])))
    causal = int(len(inputs) == 3 and d.chance(0.4))
    more: dict[str, Any] = {"softcap": 5.0} if d.chance(0.2) else {}
    return d.value("Attention", inputs, q, q_num_heads=heads, kv_num_heads=heads, is_causal=causal, **more)


def contrib_attention(d: Drawing, x: Value) -> Value:
    """Add MultiHeadAttention of ONNX Runtime."""
    d.needs(x.rank == 3 and x.type == TensorProto.FLOAT and isinstance(x.shape[-1], int))
    heads, size = d.random.choice(((1, 8), (2, 4), (2, 16)))
    q, k, v = (_projected(d, x, heads * size) for _ in range(3))
    return d.value("MultiHeadAttention", [q, k, v], q, MICROSOFT, num_heads=heads)


def softplus(d: Drawing, x: Value) -> Value:
    """Add log(1 + exp(x))."""
    one = d.scalar(1.0)
    exp = d.value("Exp", [x], x)
    added = d.value("Add", [exp, one] if d.chance(0.5) else [one, exp], x)
    return d.value("Log", [added], x)


def logsumexp(d: Drawing, x: Value) -> Value:
    """Add log(sum(exp(x)))."""
    d.needs(x.rank >= 2)
    axis = d.random.randrange(1, x.rank)
    summed = d.reduce("ReduceSum", d.value("Exp", [x], x), axis)
    return d.value("Log", [summed], summed)


def dense_clip(d: Drawing, x: Value) -> Value:
    """Add MatMul, Add and Clip from 0."""
    d.needs(isinstance(x.shape[-1], int) and x.rank >= 2 and (x.type != TensorProto.DOUBLE or d.opset >= 12))
    y = _projected(d, x, 6)
    y = d.value("Add", [y, d.floats(6)], y)
    return d.value("Clip", [y, d.store(np.array(0, FLOATS[x.type])), d.store(np.array(6, FLOATS[x.type]))], y)


def divided_by_norm(d: Drawing, x: Value) -> Value:
    """Add a division by the Euclidean norm."""
    d.needs(x.rank >= 2)
    length = d.reduce("ReduceL2", x, x.rank - 1)
    if d.chance(0.6):
        length = d.value("Max", [length, d.scalar(1e-12 if x.type != TensorProto.FLOAT16 else 1e-7)], length)
    return d.value("Div", [x, length], x)


def group_norm(d: Drawing, x: Value) -> Value:
    """Add GroupNormalization over images."""
    d.needs(d.opset >= 21 and x.rank == 4 and isinstance(x.shape[1], int) and x.type != TensorProto.DOUBLE)
    channels = int(x.shape[1])
    groups = d.random.choice([each for each in (1, 2, channels) if channels % each == 0])
    return d.value("GroupNormalization", [x, d.floats(channels), d.floats(channels)], x, num_groups=groups)


def conv(d: Drawing, x: Value) -> Value:
    """Add a convolution of one kernel size, followed by nothing, PRelu, Clip or BatchNormalization."""
    d.needs(x.rank == 4 and isinstance(x.shape[1], int) and x.type != TensorProto.DOUBLE)
    channels = int(x.shape[1])
    weight = d.floats(4, channels, 3, 3, scale=0.3)
    if d.chance(0.2):
        weight = Value(d.node("Mul", [weight, d.floats(4, 1, 1, 1)]), x.type, weight.shape)
    y = Value(
        d.node("Conv", [x, weight, d.floats(4)], pads=[1, 1, 1, 1]), x.type, (x.shape[0], 4, *x.shape[2:])
    )
    after = d.random.choice(("", "prelu", "clip", "norm", "elu"))
    if after == "prelu":
        return d.value("PRelu", [y, d.floats(4, 1, 1)], y)
    if after == "clip":
        return d.value(
            "Clip", [y, d.store(np.array(0, FLOATS[x.type])), d.store(np.array(6, FLOATS[x.type]))], y
        )
    if after == "norm":
        spread = d.store((np.abs(np.arange(4)) + 0.5).astype(FLOATS[x.type]))
        return d.value("BatchNormalization", [y, d.floats(4), d.floats(4), d.floats(4), spread], y)
    return d.value("Elu", [y], y, alpha=d.random.choice((1.0, 0.5))) if after == "elu" else y


def resize(d: Drawing, x: Value) -> Value:
    """Add a Resize: antialiased, linear, cubic, or nearest as TensorFlow writes it."""
    d.needs(d.opset >= 18 and x.rank == 4 and x.static and x.type == TensorProto.FLOAT)
    height, width = int(x.shape[2]), int(x.shape[3])
    d.needs(min(height, width) > 0)
    way = d.random.choice(("antialias", "linear", "cubic", "nearest"))
    factors = d.random.choice(((2, 2), (2, 1), (3, 2), (0.5, 0.5)))
    sizes = [
        int(x.shape[0]),
        int(x.shape[1]),
        max(1, int(height * factors[0])),
        max(1, int(width * factors[1])),
    ]
    ways: dict[str, dict[str, Any]] = {
        "antialias": {"mode": "linear", "antialias": 1, "coordinate_transformation_mode": "half_pixel"},
        "linear": {"mode": "linear"},
        "cubic": {"mode": "cubic", "antialias": int(d.chance(0.5))},
        "nearest": {
            "mode": "nearest",
            "nearest_mode": "floor",
            "coordinate_transformation_mode": d.random.choice(("asymmetric", "half_pixel")),
        },
    }
    return Value(d.node("Resize", [x, "", "", d.ints(*sizes)], **ways[way]), x.type, tuple(sizes))


def old_nearest(d: Drawing, x: Value) -> Value:
    """Add a Resize with tf_half_pixel_for_nn, which opsets 11 and 12 have."""
    d.needs(d.opset in (11, 12) and x.rank == 4 and x.static and x.type == TensorProto.FLOAT)
    factors = d.random.choice(((2.0, 2.0), (3.0, 2.0), (1.5, 2.0)))
    shape = (x.shape[0], x.shape[1], int(int(x.shape[2]) * factors[0]), int(int(x.shape[3]) * factors[1]))
    scales = d.store(np.array([1, 1, *factors], np.float32))
    name = d.node(
        "Resize",
        [x, d.store(np.array([], np.float32)), scales],
        mode="nearest",
        nearest_mode="floor",
        coordinate_transformation_mode="tf_half_pixel_for_nn",
    )
    return Value(name, x.type, shape)


def grid_sample(d: Drawing, x: Value) -> Value:
    """Add GridSample with a mode of opset 20."""
    d.needs(d.opset >= 20 and x.rank == 4 and x.static and x.type == TensorProto.FLOAT)
    grid = d.input(x.type, (x.shape[0], 3, 2, 2))
    name = d.node("GridSample", [x, grid], mode=d.random.choice(("linear", "cubic", "nearest")))
    return Value(name, x.type, (x.shape[0], x.shape[1], 3, 2))


def fused(d: Drawing, x: Value) -> Value:
    """Add an operator that ONNX Runtime fused."""
    d.needs(x.type == TensorProto.FLOAT and x.rank >= 2 and isinstance(x.shape[-1], int))
    size = int(x.shape[-1])
    op = d.random.choice(
        ("FastGelu", "Gelu", "QuickGelu", "BiasGelu", "SkipLayerNormalization", "FusedMatMul")
    )
    if op == "FusedMatMul":
        return Value(
            d.node(op, [x, d.floats(5, size, scale=0.4)], MICROSOFT, transB=1, alpha=0.5),
            x.type,
            (*x.shape[:-1], 5),
        )
    if op == "SkipLayerNormalization":
        d.needs(x.rank == 3)
        return d.value(op, [x, x, d.floats(size), d.floats(size)], x, MICROSOFT, epsilon=1e-5)
    bias = [d.floats(size)] if op == "BiasGelu" or (op == "FastGelu" and d.chance(0.5)) else []
    return d.value(op, [x, *bias], x, MICROSOFT)


def recurrence(d: Drawing, x: Value) -> Value:
    """Add a GRU or LSTM, sometimes followed by dense layers with Elu."""
    d.needs(x.rank == 3 and x.static and x.type == TensorProto.FLOAT)
    op, gates = d.random.choice((("GRU", 3), ("LSTM", 4), ("RNN", 1)))
    size, hidden = int(x.shape[2]), 4
    inputs = [x, d.floats(1, gates * hidden, size, scale=0.3), d.floats(1, gates * hidden, hidden, scale=0.3)]
    y = Value(d.node(op, inputs, hidden_size=hidden), x.type, (x.shape[0], 1, x.shape[1], hidden))
    y = Value(d.node("Reshape", [y, d.ints(-1, hidden)]), x.type, (int(x.shape[0]) * int(x.shape[1]), hidden))
    for _ in range(d.random.randrange(3)):
        y = Value(d.node("Gemm", [y, d.floats(hidden, hidden)]), x.type, y.shape)
        y = d.value("Elu", [y], y, alpha=d.random.choice((1.0, 0.7)))
    return y


def rotary(d: Drawing, x: Value) -> Value:
    """Add RotaryEmbedding of opset 23."""
    d.needs(d.opset >= 23 and x.rank == 3 and x.static and x.type == TensorProto.FLOAT)
    d.needs(int(x.shape[2]) % 8 == 0)
    heads = int(x.shape[2]) // 8
    tables = [d.floats(int(x.shape[0]), int(x.shape[1]), 4) for _ in range(2)]
    return d.value("RotaryEmbedding", [x, *tables], x, num_heads=heads, interleaved=int(d.chance(0.5)))


def channels_first(d: Drawing, x: Value) -> Value:
    """Add attention over [batch, width, length] with one chunked projection, as UNets write it."""
    d.needs(x.rank == 3 and x.static and x.type == TensorProto.FLOAT and d.opset >= 13)
    width, length = int(x.shape[1]), int(x.shape[2])
    d.needs(width % 2 == 0)
    qkv = Value(
        d.node("Conv", [x, d.floats(3 * width, width, 1, scale=0.4)]), x.type, (x.shape[0], 3 * width, length)
    )
    names = [d.name() for _ in range(3)]
    d.nodes.append(helper.make_node("Split", [qkv.name, d.ints(width, width, width).name], names, axis=1))
    size = width // 2
    batch = int(x.shape[0]) * 2
    q, k, v = (
        Value(d.node("Reshape", [name, d.ints(batch, size, length)]), x.type, (batch, size, length))
        for name in names
    )
    if d.chance(0.6):
        root = d.scalar(size**-0.25)
        q, k = d.value("Mul", [q, root], q), d.value("Mul", [k, root], k)
    if d.chance(0.6):
        scores = Value(d.node("Einsum", [q, k], equation="bct,bcs->bts"), x.type, (batch, length, length))
        weights = d.softmax(scores)
        mixed = d.node("Einsum", [weights, v], equation="bts,bcs->bct")
    else:
        scores = Value(d.node("MatMul", [d.transposed(q, 0, 2, 1), k]), x.type, (batch, length, length))
        mixed = d.node("MatMul", [v, d.transposed(d.softmax(scores), 0, 2, 1)])
    return Value(d.node("Reshape", [mixed, d.ints(*(int(each) for each in x.shape))]), x.type, x.shape)


def ellipsis(d: Drawing, x: Value) -> Value:
    """Add an Einsum whose equation has an ellipsis."""
    d.needs(d.opset >= 12 and x.rank >= 2 and isinstance(x.shape[-1], int) and x.type != TensorProto.FLOAT16)
    name = d.node("Einsum", [x, d.floats(int(x.shape[-1]), 3)], equation="...i,ij->...j")
    return Value(name, x.type, (*x.shape[:-1], 3))


def angles(d: Drawing, x: Value) -> Value:
    """Add the sine or cosine of products with frequencies."""
    d.needs(isinstance(x.shape[-1], int) and x.type != TensorProto.DOUBLE)
    y = d.value("Mul", [x, d.floats(int(x.shape[-1]), scale=20.0)], x)
    if x.type == TensorProto.FLOAT16:
        raise DrawError  # ONNX Runtime has no Sin in FP16.
    return d.value(d.random.choice(("Sin", "Cos")), [y], y)


PLACES = (
    glue, norm, norm, attention, attention, attention, masked_softmax, masked_softmax, onnx_attention,
    onnx_attention, contrib_attention, softplus, logsumexp, dense_clip, divided_by_norm, group_norm, conv,
    conv, resize, resize, old_nearest, grid_sample, fused, fused, recurrence, rotary, channels_first,
    ellipsis, angles,
)  # fmt: skip
