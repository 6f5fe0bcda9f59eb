"""Modules as exporters write them: related operators, some with a fault known from real models.

A module adds its nodes to the graph under construction, and returns the names of its outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.probes import quantized
from benchmarks.probes.building import Building
from benchmarks.probes.calls import BFLOAT16, BOOL, DOUBLE, FLOAT, FLOAT16, INT8, INT32, INT64, UINT8, Kind

Module = Callable[[Building], list[str]]
"""Function that adds nodes, and returns the names of their outputs."""
_HALF_OR_FULL = (FLOAT, FLOAT, FLOAT16, BFLOAT16)


def _floats(d: Building, dims: Sequence[int], type: int = FLOAT, kind: Kind = "data") -> str:
    return d.numbers(dims, type, kind)


def _type(d: Building) -> int:
    type = d.rng.choice(_HALF_OR_FULL)
    return FLOAT if type == BFLOAT16 and d.opset < 13 else type


def _dim(d: Building, x: str, axis: int) -> str:
    """Return the size of an axis of a tensor, as a scalar."""
    return d.node("Gather", d.node("Shape", x), d.index(axis), axis=0)


def _unsqueezed(d: Building, x: str, axis: int) -> str:
    if d.opset < 13:
        return d.node("Unsqueeze", x, axes=[axis])
    return d.node("Unsqueeze", x, d.index([axis]))


def _squeezed(d: Building, x: str, axis: int) -> str:
    return d.node("Squeeze", x, axes=[axis]) if d.opset < 13 else d.node("Squeeze", x, d.index([axis]))


def _reduced(d: Building, op: str, x: str, axis: int, keep: int) -> str:
    if d.opset < (13 if op == "ReduceSum" else 18):
        return d.node(op, x, axes=[axis], keepdims=keep)
    return d.node(op, x, d.index([axis]), keepdims=keep)


def attention(d: Building) -> list[str]:
    """Scaled dot-product attention in primitive operators; the scale is stored, or computed from a shape."""
    type, rng = _type(d), d.rng
    dims = (1, 2, rng.choice([1, 4]), rng.choice([4, 8]))
    q, k, v = (_floats(d, dims, type) for _ in range(3))
    k = d.node("Transpose", k, perm=[0, 1, 3, 2])
    if rng.random() < 0.5:
        scale = d.node("Sqrt", d.node("Cast", _dim(d, q, 3), to=type))
        q = d.node("Div", q, scale)
    else:
        q = d.node("Mul", q, d.number(0.35, type))
    scores = d.node("MatMul", q, k)
    if rng.random() < 0.4:
        scores = d.node("Add", scores, _floats(d, (1, 1, dims[2], dims[2]), type))
    made = d.node("MatMul", d.node("Softmax", scores, axis=-1), v)
    if rng.random() < 0.6:
        made = d.node("Transpose", made, perm=[0, 2, 1, 3])
        made = d.node("Reshape", made, d.index([rng.choice([1, 0]), -1, dims[1] * dims[3]]))
    return [made]


def layer_norm(d: Building) -> list[str]:
    """A layer norm in primitive operators; data of another type may be cast to float32 and back."""
    type, rng = _type(d), d.rng
    dims = (*(rng.choice([1, 2, 4]) for _ in range(rng.randint(1, 3))), 4)
    x = _floats(d, dims, type)
    inside = type if rng.random() < 0.5 else FLOAT
    wide = d.node("Cast", x, to=inside) if inside != type else x
    centred = d.node("Sub", wide, _reduced(d, "ReduceMean", wide, -1, 1))
    square = d.node("Pow", centred, d.number(2.0, inside))
    variance = d.node("Add", _reduced(d, "ReduceMean", square, -1, 1), d.number(1e-5, inside))
    made = d.node("Div", centred, d.node("Sqrt", variance))
    if inside != type:
        made = d.node("Cast", made, to=type)
    made = d.node("Mul", made, _floats(d, dims[-1:], type, "weight"))
    return [d.node("Add", made, _floats(d, dims[-1:], type, "weight"))]


def rotary(d: Building) -> list[str]:
    """A rotary embedding in primitive operators, with slices and a table computed in the graph."""
    type = _type(d)
    x = _floats(d, (1, 2, 4, 4), type)
    first = d.node("Slice", x, d.index([0]), d.index([2]), d.index([-1]))
    second = d.node("Slice", x, d.index([2]), d.index([(1 << 63) - 1]), d.index([-1]))
    turned = d.node("Concat", d.node("Neg", second), first, axis=-1)
    steps = d.node("Range", d.index(0), _dim(d, x, 2) if d.rng.random() < 0.6 else d.index(4), d.index(1))
    table = d.node(
        "Mul", _unsqueezed(d, d.node("Cast", steps, to=FLOAT), 1), _floats(d, (1, 4), FLOAT, "weight")
    )
    cos, sin = (d.node(op, table) for op in ("Cos", "Sin"))
    if type != FLOAT:
        cos, sin = d.node("Cast", cos, to=type), d.node("Cast", sin, to=type)
    return [d.node("Add", d.node("Mul", x, cos), d.node("Mul", turned, sin))]


def resize_by_shape(d: Building) -> list[str]:
    """A tensor that is resized to the shape of another tensor, and added to it."""
    type = _type(d)
    channels = d.rng.choice([1, 3])
    x, other = _floats(d, (1, channels, 4, 4), type), _floats(d, (1, channels, 8, 8), type)
    lead = d.node("Slice", d.node("Shape", x), d.index([0]), d.index([2]), d.index([0]))
    tail = d.node("Slice", d.node("Shape", other), d.index([2]), d.index([4]), d.index([0]))
    sizes = d.node("Concat", lead, tail, axis=0)
    mode = d.rng.choice(["nearest", "linear", "cubic"])
    way = d.rng.choice(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
    roi = d.place_constant(np.zeros(0), FLOAT) if d.opset < 13 else ""
    made = d.node("Resize", x, roi, roi, sizes, mode=mode, coordinate_transformation_mode=way)
    return [d.node("Add", made, other)]


def detections(d: Building) -> list[str]:
    """The head of a detector: the best boxes, by non-maximum suppression or by TopK."""
    boxes = _floats(d, (1, 8, 4))
    if d.rng.random() < 0.4:
        scores = _floats(d, (1, 2, 8))
        count = d.index(3) if d.rng.random() < 0.5 else d.index([3])
        kept = d.node("NonMaxSuppression", boxes, scores, count, d.number([0.5]), d.number([0.0]))
        chosen = d.node("Gather", kept, d.index(2), axis=1)
        return [d.node("Gather", _squeezed(d, boxes, 0), chosen, axis=0)]
    best = _reduced(d, "ReduceMax", _floats(d, (1, 8, 3)), 2, 0)
    _, where = d.nodes("TopK", 2, best, d.index([d.rng.choice([2, 3])]), axis=1)
    rows = d.node("Transpose", where, perm=[1, 0])
    picked = d.node("GatherND", _squeezed(d, boxes, 0), rows)
    return [picked, where] if d.rng.random() < 0.5 else [picked]


def top_k_gather(d: Building) -> list[str]:
    """The elements at the positions of another tensor's largest elements."""
    type = d.rng.choice([FLOAT, FLOAT16, INT64, INT32])
    _, where = d.nodes("TopK", 2, _floats(d, (2, 8), type), d.index([3]), axis=-1)
    return [d.node("GatherElements", _floats(d, (2, 8)), where, axis=1)]


def embedding(d: Building) -> list[str]:
    """Words and positions from embedding tables."""
    type = _type(d)
    words = d.numbers((1, 3), d.rng.choice([INT64, INT64, INT32]), "indices")
    looked = d.node("Gather", _floats(d, (8, 4), type, "weight"), words, axis=0)
    positions = d.node("Range", d.index(0), _dim(d, words, 1), d.index(1))
    return [d.node("Add", looked, d.node("Gather", _floats(d, (8, 4), type, "weight"), positions, axis=0))]


def cache(d: Building) -> list[str]:
    """Keys of earlier steps, concatenated with keys of this step."""
    type = _type(d)
    keys = d.node("Concat", _floats(d, (1, 2, 2, 4), type), _floats(d, (1, 2, 1, 4), type), axis=-2)
    scores = d.node("MatMul", _floats(d, (1, 2, 1, 4), type), d.node("Transpose", keys, perm=[0, 1, 3, 2]))
    return [d.node("MatMul", d.node("Softmax", scores, axis=-1), keys), keys]


def masked_by_nonzero(d: Building) -> list[str]:
    """x[x > 0] = 0, as exporters write it."""
    x = _floats(d, (4, d.rng.choice([2, 4])))
    where = d.node("Transpose", d.node("NonZero", d.node("Greater", x, d.number(0.0))), perm=[1, 0])
    sizes = d.node("Shape", d.node("GatherND", x, where))
    return [d.node("ScatterND", x, where, d.node("Expand", d.number(0.0), sizes))]


def masked_fill(d: Building) -> list[str]:
    """Masked data; the mask is computed from positions, or an input."""
    type = _type(d)
    x = _floats(d, (1, 2, 4, 4), type)
    low = d.number(-1000.0, type)
    way = d.rng.choice(["range", "fed", "trilu", "cumsum"])
    if way == "fed":
        mask = d.numbers((1, 1, 4, 4), BOOL, "data")
    elif way == "cumsum":
        mask = d.node("Greater", d.node("CumSum", d.numbers((4,), INT64, "indices"), d.index(0)), d.index(1))
    elif way == "trilu" and d.opset >= 14:
        mask = d.node("Cast", d.node("Trilu", d.numbers((4, 4), type, "data")), to=BOOL)
    else:
        steps = d.node("Range", d.index(0), d.index(4), d.index(1))
        mask = d.node("Less", _unsqueezed(d, steps, 0), _unsqueezed(d, steps, 1))
    return [d.node("Where", mask, low, x)]


def pixel_shuffle(d: Building) -> list[str]:
    """A pixel shuffle from two Reshape operators and a Transpose."""
    x = _floats(d, (1, 8, 2, 4), _type(d))
    split = d.node("Reshape", x, d.index([d.rng.choice([1, -1]), 2, 2, 2, 2, 4]))
    return [d.node("Reshape", d.node("Transpose", split, perm=[0, 1, 4, 2, 5, 3]), d.index([0, 2, 4, 8]))]


def reshape_by_shape(d: Building) -> list[str]:
    """x.view(x.shape[1], x.shape[0], -1), in any type."""
    type = d.rng.choice([FLOAT, FLOAT16, INT64, INT32, BOOL, INT8, DOUBLE])
    x = d.numbers((d.rng.choice([1, 2]), 4, d.rng.choice([2, 8])), type, "data")
    parts = [_unsqueezed(d, _dim(d, x, axis), 0) for axis in (1, 0)]
    sizes = d.node("Concat", *parts, d.index([-1]), axis=0)
    if d.rng.random() < 0.3:
        sizes = d.node("Cast", d.node("Cast", sizes, to=d.rng.choice([INT32, FLOAT])), to=INT64)
    return [d.node("Reshape", x, sizes)]


def recurrent(d: Building) -> list[str]:
    """A recurrent layer as PyTorch exports it; the shape of the first state is computed from the input."""
    type = d.rng.choice([FLOAT, FLOAT, FLOAT16])
    op, gates = d.rng.choice([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    ways = d.rng.choice([1, 2])
    x = _floats(d, (2, d.rng.choice([1, 2]), 3), type)
    batch = _unsqueezed(d, _dim(d, x, 1), 0)
    sizes = d.node("Concat", d.index([ways]), batch, d.index([4]), axis=0)
    if d.rng.random() < 0.5:
        state = d.filled(sizes, type)
    else:
        state = d.node("Expand", d.place_constant(np.zeros((ways, 1, 4)), type), sizes)
    weights = [_floats(d, (ways, gates * 4, width), type, "weight") for width in (3, 4)]
    bias = _floats(d, (ways, gates * 8), type, "weight") if d.rng.random() < 0.6 else ""
    states = [state, state] if op == "LSTM" else [state]
    direction = "bidirectional" if ways == 2 else "forward"
    sequence, last = d.nodes(op, 2, x, *weights, bias, "", *states, hidden_size=4, direction=direction)
    made = d.node("Transpose", sequence, perm=[0, 2, 1, 3])
    made = d.node("Reshape", made, d.index([0, 0, -1]))
    return [made, last] if d.rng.random() < 0.3 else [made]


def convolution(d: Building) -> list[str]:
    """A convolution with a normalization and an activation."""
    type, rng = d.rng.choice([FLOAT, FLOAT, FLOAT16]), d.rng
    x, weight = _floats(d, (2, 3, 8, 8), type), _floats(d, (2, 3, 3, 3), type, "weight")
    stride = rng.choice([1, 2])
    made = d.node("Conv", x, weight, pads=[1, 1, 1, 1], strides=[stride, stride])
    vectors = [_floats(d, (2,), type, "weight") for _ in range(3)]
    norm = rng.choice(["none", "batch", "instance"])
    if norm == "batch":
        spread = d.place_constant(np.ones(2), type)
        made = d.node("BatchNormalization", made, *vectors, spread)
    elif norm == "instance":
        made = d.node("InstanceNormalization", made, *vectors[:2])
    act = rng.choice(["Relu", "Sigmoid", "Clip", "HardSigmoid", "Tanh", "silu"])
    if act == "silu":
        return [d.node("Mul", made, d.node("Sigmoid", made))]
    if act == "Clip":
        return [d.node("Clip", made, d.number(0.0, type), d.number(6.0, type))]
    return [d.node(act, made)]


def preprocessing(d: Building) -> list[str]:
    """An image of bytes that is converted to floats."""
    image = d.fed(np.arange(48).reshape(1, 4, 4, 3), UINT8)
    way = d.rng.choice(["cast", "transpose", "dequantize", "slice", "half"])
    if way == "dequantize":
        return [d.node("DequantizeLinear", image, d.number(0.5), d.place_constant(np.zeros(()), UINT8))]
    if way == "transpose":
        image = d.node("Transpose", image, perm=[0, 3, 1, 2])
    if way == "slice":
        image = d.node("Slice", image, d.index([0]), d.index([2]), d.index([1]))
    type = FLOAT16 if way == "half" else FLOAT
    made = d.node("Div", d.node("Cast", image, to=type), d.number(255.0, type))
    return [made if way == "transpose" else d.node("Transpose", made, perm=[0, 3, 1, 2])]


def integers(d: Building) -> list[str]:
    """Arithmetic on integers of all widths."""
    type = d.rng.choice([INT64, INT32, INT8, UINT8])
    x = d.numbers((2, 3), type, "data")
    for _ in range(d.rng.randint(1, 3)):
        op = d.rng.choice(["Add", "Mul", "Sub", "Neg", "Abs", "Max", "Min", "Mod", "Cast", "Equal"])
        if op == "Cast":
            type = d.rng.choice([INT64, INT32, INT8, UINT8, FLOAT, BOOL])
            x = d.node("Cast", x, to=type)
        elif type == BOOL:
            x = d.node("Not", x)
        elif op in ("Neg", "Abs"):
            x = d.node(op, x)
        elif op == "Equal":
            type = BOOL
            x = d.node("Equal", x, x)
        elif op != "Mod" or type != FLOAT:
            x = d.node(op, x, d.place_constant(np.full(d.rng.choice([(), (3,)]), 2), type))
    return [x]


def mixed(d: Building) -> list[str]:
    """Casts between types."""
    x = d.numbers((d.rng.choice([1, 4]),), d.rng.choice([INT64, FLOAT, BOOL, FLOAT16, INT32]), "data")
    type = d.rng.choice([FLOAT, FLOAT16, INT32, INT64, UINT8, INT8, BOOL, DOUBLE])
    x = d.node("Cast", x, to=type)
    if type != BOOL:
        x = d.node("Add", x, d.place_constant(np.full((1,), 3), type))
    return [d.node("Cast", x, to=d.rng.choice([FLOAT, INT64, BOOL, UINT8, INT8, BFLOAT16]))]


def scatter_update(d: Building) -> list[str]:
    """Rows that are replaced; their indices are computed from a shape."""
    x, rows = _floats(d, (2, 4, 4)), d.rng.choice([1, 2])
    limit = _dim(d, x, 0) if rows == 2 else d.index(1)
    steps = d.node("Range", d.index(0), limit, d.index(1))
    return [d.node("ScatterND", x, _unsqueezed(d, steps, 1), _floats(d, (rows, 4, 4)))]


def split_and_join(d: Building) -> list[str]:
    """A tensor that is split, and concatenated along another axis."""
    x = d.numbers((1, 8, 4), d.rng.choice([FLOAT, FLOAT16, INT32, INT64, BOOL, INT8]), "data")
    way = d.rng.choice(["sizes", "number", "chunk"])
    if way == "number" and d.opset >= 18:
        parts = d.nodes("Split", 2, x, axis=1, num_outputs=2)
    elif d.opset < 13:
        parts = d.nodes("Split", 2, x, axis=1, split=[4, 4])
    else:
        parts = d.nodes("Split", 2, x, d.index([4, 4]), axis=1)
    if way == "chunk" and d.opset >= 14:
        return [d.node("Mul", parts[0], d.node("Sigmoid", parts[1]))]
    return [d.node("Concat", *parts, axis=d.rng.choice([0, -1]))]


def outputs(d: Building) -> list[str]:
    """An input that is also an output, sometimes twice, reshaped, or as its shape."""
    x = d.numbers((4, 4), d.rng.choice([FLOAT, INT32, INT64, BOOL, FLOAT16, UINT8, INT8]), "data")
    same = d.node("Identity", x)
    found = [same]
    if d.rng.random() < 0.5:
        found.append(d.node("Identity", same))
    if d.rng.random() < 0.5:
        found.append(d.node("Reshape", d.node("Identity", same), d.index([-1])))
    if d.rng.random() < 0.3:
        found.append(d.node("Shape", same))
    return found


def branch_squeeze(d: Building) -> list[str]:
    """torch.squeeze(x, dim) as TorchScript writes it: an If on the size of the axis."""
    x = d.node("Identity", _floats(d, (d.rng.choice([1, 2]), d.rng.choice([1, 3]), 4)))
    axis = d.rng.choice([0, 1])
    condition = d.node("Equal", _dim(d, x, axis), d.index(1))
    return [d.branched(condition, lambda: _squeezed(d, x, axis), lambda: d.node("Identity", x), FLOAT)]


def sparse(d: Building) -> list[str]:
    """A product with a sparse weight."""
    weight = d.sparse((4, 4))
    return [d.node(d.rng.choice(["MatMul", "Gemm", "Add"]), _floats(d, (4, 4)), weight)]


def sequence(d: Building) -> list[str]:
    """Tensors that are written to a sequence, and read from it."""
    made = d.node("SequenceConstruct", *(_floats(d, (2, 2)) for _ in range(2)))
    way = d.rng.choice(["at", "length", "join", "erase"])
    if way == "length":
        return [d.node("SequenceLength", made)]
    if way == "join":
        return [d.node("ConcatFromSequence", made, axis=0, new_axis=d.rng.choice([0, 1]))]
    if way == "erase":
        made = d.node("SequenceErase", made)
    return [d.node("SequenceAt", made, d.index(0))]


def text(d: Building) -> list[str]:
    """Strings that are compared or cast."""
    words = d.node("Constant", value_strings=["1", "2"])
    if d.opset >= 20 and d.rng.random() < 0.5:
        return [d.node("RegexFullMatch", words, pattern="[0-9]")]
    return [d.node("Cast", words, to=FLOAT)]


MODULES: dict[str, Module] = {
    "attention-written-out": attention,
    "layer-norm-written-out": layer_norm,
    "rotary-written-out": rotary,
    "resize-by-shape": resize_by_shape,
    "detections": detections,
    "top-k-gather": top_k_gather,
    "embedding": embedding,
    "cache-concat": cache,
    "masked-by-nonzero": masked_by_nonzero,
    "masked-fill": masked_fill,
    "pixel-shuffle-written-out": pixel_shuffle,
    "reshape-by-shape": reshape_by_shape,
    "recurrent-dynamic-batch": recurrent,
    "convolution-block": convolution,
    "uint8-preprocessing": preprocessing,
    "integer-arithmetic": integers,
    "mixed-types": mixed,
    "scatter-update": scatter_update,
    "split-and-join": split_and_join,
    "identity-and-outputs": outputs,
    "branch-squeeze": branch_squeeze,
    "sparse-weight": sparse,
    "sequence": sequence,
    "text": text,
    "quantized-matmul": quantized.matmul,
    "quantized-conv": quantized.conv,
    "quantized-others": quantized.others,
    "quantized-embedding": quantized.embedding,
}
"""The modules, by name."""
