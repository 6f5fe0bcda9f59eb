"""Draw random models that ONNX's checker and ONNX Runtime accept."""

from __future__ import annotations

import random

import onnx
from onnx import TensorProto, helper

from benchmarks.random_fixes import floatplaces, otherplaces
from benchmarks.random_fixes.drawing import DrawError, Drawing, Value

_SHAPES: tuple[tuple[int | str, ...], ...] = (
    (2, 6, 16), ("n", 5, 16), ("n", "m", 16), (1, "m", 8), (2, 6), ("n", 8), (3, 1), (4, 4), (1, 4, 6, 8),
    (2, 4, 5, 5), ("n", 4, "h", "w"), (1, 8, 12), (2, 4, 12), (1, 3, 24),
)  # fmt: skip
_OPSETS = (11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23)
_TYPES = (TensorProto.FLOAT,) * 7 + (TensorProto.FLOAT16,) * 2 + (TensorProto.DOUBLE,)
_MOST_TRIES = 40


def draw(seed: int) -> tuple[onnx.ModelProto, tuple[str, ...]]:
    """Return the model of a seed, and the names of its subgraphs in order."""
    chosen = random.Random(seed)
    drawing = Drawing(chosen, chosen.choice(_OPSETS), chosen.choice(_TYPES))
    value = drawing.input(drawing.type, chosen.choice(_SHAPES))
    for _ in range(chosen.choice((1, 1, 2, 2, 3, 4))):
        value = _place(drawing, value)
        if drawing.chance(0.15):
            drawing.exposed.append(value)
        if value.type != TensorProto.INT32 and drawing.chance(0.2):
            value = drawing.value("Tanh", [value], value)
    if chosen.random() < 0.15:
        value = drawing.value("Identity", [value], value)
    model = drawing.model(value)
    if chosen.random() < 0.08:
        model = in_branch(model)
    return model, tuple(drawing.places)


def _place(drawing: Drawing, value: Value) -> Value:
    for _ in range(_MOST_TRIES):
        place = drawing.random.choice(floatplaces.PLACES + otherplaces.PLACES)
        kept = (len(drawing.nodes), len(drawing.stored), len(drawing.inputs), len(drawing.exposed))
        try:
            result = place(drawing, value)
        except DrawError:
            del drawing.nodes[kept[0] :], drawing.stored[kept[1] :]
            del drawing.inputs[kept[2] :], drawing.exposed[kept[3] :]
            continue
        drawing.places.append(place.__name__)
        return result
    return value


def in_branch(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model with its nodes in both branches of an If; the second branch negates the result."""
    graph = model.graph
    first = graph.output[0]
    rank = [None] * len(first.type.tensor_type.shape.dim)
    bodies = []
    for suffix, op in (("t", "Identity"), ("e", "Neg")):
        out = helper.make_tensor_value_info(f"{first.name}_{suffix}", first.type.tensor_type.elem_type, rank)
        nodes = [*graph.node, helper.make_node(op, [first.name], [out.name])]
        bodies.append(helper.make_graph(nodes, suffix, [], [out]))
    node = helper.make_node(
        "If", ["whole_condition"], ["whole"], then_branch=bodies[0], else_branch=bodies[1]
    )
    condition = helper.make_tensor_value_info("whole_condition", TensorProto.BOOL, [])
    outer = helper.make_graph(
        [node],
        "whole",
        [*graph.input, condition],
        [helper.make_tensor_value_info("whole", first.type.tensor_type.elem_type, rank)],
        list(graph.initializer),
    )
    return helper.make_model(outer, opset_imports=list(model.opset_import), ir_version=model.ir_version)
