"""Subgraphs with integers, quantizers, control flow, sequences and computed operands."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from benchmarks.random_fixes.drawing import FLOATS, Drawing, Value


def _whole(
    d: Drawing, kind: type[np.generic], *shape: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    info = np.iinfo(kind)  # type: ignore[type-var]
    drawn = np.random.default_rng(d.random.getrandbits(32))
    if d.chance(0.3):
        return drawn.choice([info.min, info.max], shape).astype(kind)
    return drawn.integers(info.min, info.max, shape, endpoint=True).astype(kind)


def matmul_integer(d: Drawing, x: Value) -> Value:
    """Add MatMulInteger with a stored weight; the input is an integer or dynamically quantized."""
    d.needs(x.type == TensorProto.FLOAT and x.rank >= 2 and isinstance(x.shape[-1], int))
    size = int(x.shape[-1])
    if d.chance(0.5):
        size = d.random.choice((5, 300, 4000))
        data = d.input(d.random.choice((TensorProto.UINT8, TensorProto.INT8)), (2, size))
        kind = np.uint8 if data.type == TensorProto.UINT8 else np.int8
        inputs = [data, d.store(_whole(d, d.random.choice((np.uint8, np.int8)), size, 3))]
        if d.chance(0.5):
            inputs.append(d.store(np.array(d.random.randrange(0, 100), kind)))
        result = Value(d.node("MatMulInteger", inputs), TensorProto.INT32, (2, 3))
        d.exposed.append(result)
        return d.cast(result, x.type)
    names = [d.name() for _ in range(3)]
    d.nodes.append(helper.make_node("DynamicQuantizeLinear", [x.name], names))
    weight = d.store(_whole(d, np.int8, size, 4))
    whole = Value(
        d.node("MatMulInteger", [names[0], weight, names[2]]), TensorProto.INT32, (*x.shape[:-1], 4)
    )
    return d.value("Mul", [d.cast(whole, x.type), names[1]], Value("", x.type, whole.shape))


def quantized(d: Drawing, x: Value) -> Value:
    """Add quantizers around nothing, around a product, or around a second pair of quantizers."""
    d.needs(x.type == TensorProto.FLOAT)
    kind = d.random.choice((np.uint8, np.int8))
    zero = d.random.choice((0, 128, 3)) if kind is np.uint8 else d.random.choice((0, 0, -5))
    scale = d.store(np.array(d.random.choice((0.02, 0.1, 0.5)), np.float32))
    point = d.store(np.array(zero, kind))
    stored = TensorProto.UINT8 if kind is np.uint8 else TensorProto.INT8
    y = Value(d.node("QuantizeLinear", [x, scale, point]), stored, x.shape)
    y = Value(d.node("DequantizeLinear", [y, scale, point]), x.type, x.shape)
    if d.chance(0.4):
        y = Value(d.node("QuantizeLinear", [y, scale, point]), stored, x.shape)
        if d.chance(0.3):
            d.exposed.append(y)
        y = Value(d.node("DequantizeLinear", [y, scale, point]), x.type, x.shape)
    if d.chance(0.4) and isinstance(x.shape[-1], int) and x.rank >= 2:
        weight = d.store(_whole(d, np.int8, int(x.shape[-1]), 3))
        one = d.store(np.array(0.01, np.float32))
        floats = Value(d.node("DequantizeLinear", [weight, one]), x.type, (int(x.shape[-1]), 3))
        y = Value(d.node("MatMul", [y, floats]), x.type, (*x.shape[:-1], 3))
    return y


def qlinear(d: Drawing, x: Value) -> Value:
    """Add QLinearMatMul between quantizers."""
    d.needs(x.type == TensorProto.FLOAT and x.rank == 2 and isinstance(x.shape[-1], int))
    kind = d.random.choice((np.uint8, np.int8))
    zero = d.store(np.array(0 if kind is np.int8 else d.random.choice((0, 128, 7)), kind))
    scale, out = (d.store(np.array(each, np.float32)) for each in (0.05, 0.9))
    data = d.node("QuantizeLinear", [x, scale, zero])
    weight = d.store(_whole(d, kind, int(x.shape[-1]), 4))
    result = d.node("QLinearMatMul", [data, scale, zero, weight, scale, zero, out, zero])
    return Value(d.node("DequantizeLinear", [result, out, zero]), x.type, (x.shape[0], 4))


def loop(d: Drawing, x: Value) -> Value:
    """Add a Loop with a stored number of iterations, a running sum and sometimes a scan output."""
    d.needs(x.static)
    p = d.name("p")
    carried = helper.make_tensor_value_info(f"{p}_x", x.type, list(x.shape))
    nodes = [
        helper.make_node("Identity", [f"{p}_c"], [f"{p}_co"]),
        helper.make_node("Cast", [f"{p}_i"], [f"{p}_f"], to=x.type),
        helper.make_node(d.random.choice(("Add", "Mul", "Sub")), [f"{p}_x", f"{p}_f"], [f"{p}_xo"]),
    ]
    outputs = [
        helper.make_tensor_value_info(f"{p}_co", TensorProto.BOOL, []),
        helper.make_tensor_value_info(f"{p}_xo", x.type, list(x.shape)),
    ]
    scanned = d.chance(0.5)
    if scanned:
        nodes.append(helper.make_node("Neg", [f"{p}_xo"], [f"{p}_s"]))
        outputs.append(helper.make_tensor_value_info(f"{p}_s", x.type, list(x.shape)))
    inputs = [
        helper.make_tensor_value_info(f"{p}_i", TensorProto.INT64, []),
        helper.make_tensor_value_info(f"{p}_c", TensorProto.BOOL, []),
        carried,
    ]
    times = d.random.choice((0, 1, 2, 4))
    condition = d.store(np.array(True)).name if d.chance(0.6) else ""
    names = [d.name() for _ in range(1 + scanned)]
    body = helper.make_graph(nodes, "body", inputs, outputs)
    count = d.store(np.array(times, np.int64)).name
    d.nodes.append(helper.make_node("Loop", [count, condition, x.name], names, body=body))
    if scanned:
        d.exposed.append(Value(names[1], x.type, (times, *x.shape)))
    return Value(names[0], x.type, x.shape)


def branch(d: Drawing, x: Value) -> Value:
    """Add an If; its condition is stored, computed from a shape, or an input.

    Both branches use the same names for different tensors, as exporters that merge two decoders do.
    """
    p = d.name("b")
    bodies = []
    for op, op2 in (("Relu", "Neg"), ("Tanh", "Abs")):
        d.needs(op != "Relu" or x.type != TensorProto.DOUBLE or d.opset >= 14)
        nodes = [
            helper.make_node(op, [x.name], [f"{p}_t"]),
            helper.make_node(op2, [f"{p}_t"], [f"{p}_o{op}"]),
        ]
        if op == "Tanh":
            nodes[1] = helper.make_node("Transpose", [f"{p}_t"], [f"{p}_u"], perm=list(range(x.rank))[::-1])
            nodes.append(
                helper.make_node("Transpose", [f"{p}_u"], [f"{p}_o{op}"], perm=list(range(x.rank))[::-1])
            )
        out = helper.make_tensor_value_info(f"{p}_o{op}", x.type, list(x.shape))
        bodies.append(helper.make_graph(nodes, f"{p}_{op}", [], [out]))
    way = d.random.choice(("stored", "shape", "fed"))
    if way == "stored":
        condition = d.store(np.array(d.chance(0.5))).name
    elif way == "shape":
        rank = d.node("Gather", [d.node("Shape", [x]), d.store(np.array(x.rank - 1, np.int64))])
        condition = d.node("Equal", [rank, d.store(np.array(1, np.int64))])
    else:
        condition = d.input(TensorProto.BOOL, ()).name
    name = d.name()
    d.nodes.append(helper.make_node("If", [condition], [name], then_branch=bodies[0], else_branch=bodies[1]))
    return Value(name, x.type, x.shape)


def scatter(d: Drawing, x: Value) -> Value:
    """Add ScatterElements or ScatterND with a reduction."""
    d.needs(d.opset >= 18 and x.rank == 2 and x.static and x.type == TensorProto.FLOAT)
    rows, columns = (int(each) for each in x.shape)
    d.needs(rows > 0 and columns > 0)
    how = d.random.choice(("add", "mul", "max", "min"))
    if d.chance(0.5):
        index = d.store(np.array([[d.random.randrange(-rows, rows)] for _ in range(3)], np.int64))
        return d.value("ScatterND", [x, index, d.floats(3, columns)], x, reduction=how)
    index = d.store(np.array([[d.random.randrange(rows) for _ in range(columns)]] * 2, np.int64))
    return d.value("ScatterElements", [x, index, d.floats(2, columns)], x, axis=0, reduction=how)


def sequence(d: Drawing, x: Value) -> Value:
    """Add a sequence that is built and concatenated, or split and read."""
    d.needs(x.rank >= 2 and isinstance(x.shape[-1], int) and int(x.shape[-1]) % 2 == 0)
    if d.chance(0.5):
        neg = d.value("Neg", [x], x)
        built = d.node("SequenceConstruct", [x, neg, x])
        new = int(d.chance(0.3))
        axis = 0 if new else x.rank - 1
        name = d.node("ConcatFromSequence", [built], axis=axis, new_axis=new)
        shape = (3, *x.shape) if new else (*x.shape[:-1], int(x.shape[-1]) * 3)
        return Value(name, x.type, shape)
    half = int(x.shape[-1]) // 2
    parts = d.node("SplitToSequence", [x, d.store(np.array(half, np.int64))], axis=x.rank - 1)
    name = d.node("SequenceAt", [parts, d.store(np.array(d.random.choice((0, 1, -1)), np.int64))])
    return Value(name, x.type, (*x.shape[:-1], half))


def boolean_index(d: Drawing, x: Value) -> Value:
    """Add x[mask] = f(x[mask]) with NonZero, GatherND and ScatterND."""
    d.needs(x.static and x.rank == 2 and x.type == TensorProto.FLOAT)
    mask = Value(d.node("Greater", [x, d.scalar(0.0)]), TensorProto.BOOL, x.shape)
    index = d.node("Transpose", [d.node("NonZero", [mask])], perm=[1, 0])
    picked = d.node("GatherND", [x, index])
    changed = d.node(d.random.choice(("Neg", "Exp", "Tanh")), [picked])
    return d.value("ScatterND", [x, index, changed], x)


def whole_numbers(d: Drawing, x: Value) -> Value:
    """Add integers that are cast, rectified and cast back."""
    d.needs(d.opset >= 14 and x.type == TensorProto.FLOAT)
    whole = d.cast(
        d.value("Clip", [x, d.store(np.array(-99, np.float32)), d.store(np.array(99, np.float32))], x),
        TensorProto.INT32,
    )
    return d.cast(d.value("Relu", [whole], whole), x.type)


def computed_axes(d: Drawing, x: Value) -> Value:
    """Add a reduction whose axes are computed from constants."""
    d.needs(d.opset >= 18 and x.rank >= 2 and x.type != TensorProto.DOUBLE)
    axes = d.node("Sub", [d.ints(x.rank), d.ints(1)])
    shape = (*x.shape[:-1], 1)
    return Value(d.node(d.random.choice(("ReduceSum", "ReduceMean", "ReduceMax")), [x, axes]), x.type, shape)


def expanded_constant(d: Drawing, x: Value) -> Value:
    """Add a constant that is expanded to the shape of the data."""
    d.needs(isinstance(x.shape[-1], int))
    whole = d.node("Expand", [d.floats(int(x.shape[-1])), d.node("Shape", [x])])
    return d.value("Add", [x, whole], x)


def table(d: Drawing, x: Value) -> Value:
    """Add rows of a table with a Cast after the Gather."""
    d.needs(isinstance(x.shape[-1], int) and x.type == TensorProto.FLOAT)
    size = int(x.shape[-1])
    rows = d.store(
        np.random.default_rng(d.random.getrandbits(32)).standard_normal((7, size)).astype(np.float16)
    )
    picked = d.node("Gather", [rows, d.input(TensorProto.INT64, (1,))])
    return d.value("Add", [x, d.node("Cast", [picked], to=x.type)], x)


def empty_outputs(d: Drawing, x: Value) -> Value:
    """Add an operator with an explicit empty second output."""
    d.needs(d.opset >= 12 and x.type != TensorProto.DOUBLE)
    name = d.name()
    d.nodes.append(helper.make_node("Dropout", [x.name], [name, ""]))
    return Value(name, x.type, x.shape)


def sparse(d: Drawing, x: Value) -> Value:
    """Add a Constant node with a sparse tensor."""
    d.needs(isinstance(x.shape[-1], int) and x.type == TensorProto.FLOAT and int(x.shape[-1]) >= 2)
    size = int(x.shape[-1])
    values = numpy_helper.from_array(np.array([2.5], np.float32), d.name())
    places = numpy_helper.from_array(np.array([1], np.int64), d.name())
    name = d.name()
    tensor = helper.make_sparse_tensor(values, places, [size])
    d.nodes.append(helper.make_node("Constant", [], [name], sparse_value=tensor))
    return d.value("Add", [x, name], x)


def dequantized_bias(d: Drawing, x: Value) -> Value:
    """Add a stored INT32 bias that is dequantized."""
    d.needs(isinstance(x.shape[-1], int) and x.type == TensorProto.FLOAT)
    bias = d.store(np.arange(int(x.shape[-1]), dtype=np.int32) - 2)
    name = d.node("DequantizeLinear", [bias, d.store(np.array(0.01, np.float32))])
    return d.value("Add", [x, name], x)


def reshaped(d: Drawing, x: Value) -> Value:
    """Move the value to another rank."""
    d.needs(x.static)
    count = int(np.prod([int(each) for each in x.shape]))
    choices = [
        shape
        for shape in ((1, 4, -1), (2, -1), (1, 2, 4, -1), (2, 4, -1), (-1, 8), (2, -1, 8), (1, 4, 4, -1))
        if count % abs(int(np.prod(shape))) == 0 and count
    ]
    d.needs(bool(choices))
    shape = list(d.random.choice(choices))
    rest = count // abs(int(np.prod(shape)))
    sizes = tuple(rest if each == -1 else each for each in shape)
    return Value(d.node("Reshape", [x, d.ints(*shape)]), x.type, sizes)


def in_half(d: Drawing, x: Value) -> Value:
    """Add FP16-sensitive operators between two Casts."""
    d.needs(x.type == TensorProto.FLOAT and x.rank >= 2)
    half = d.cast(x, TensorProto.FLOAT16)
    square = d.value("Mul", [half, half], half)
    total = d.reduce("ReduceSum", square, x.rank - 1)
    total = d.value(
        "Sqrt",
        [d.value("Add", [total, d.store(np.array([1e-3], FLOATS[TensorProto.FLOAT16]))], total)],
        total,
    )
    return d.cast(d.value("Div", [half, total], half), x.type)


PLACES = (
    matmul_integer, matmul_integer, quantized, quantized, qlinear, qlinear, loop, loop, branch, branch,
    scatter, scatter, sequence, sequence, boolean_index, whole_numbers, computed_axes, expanded_constant,
    table, empty_outputs, sparse, dequantized_bias, reshaped, reshaped, reshaped, in_half,
)  # fmt: skip
