"""One model per opset with all versions of the operators that measurements expand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, defs, helper, numpy_helper

OLDEST, NEWEST = 7, 25
"""The opsets that ONNX Runtime supports."""
OVERFLOWING = "overflowing"
"""The output of a branch beyond FP16, so that the search and the second look run."""
_REDUCTIONS = ("ReduceMean", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceSum", "ReduceMax")
_AXES = {"ReduceSum": 13}
"""The opset in which a reduction gets its axes as an input, 18 for all others."""

Array = np.ndarray[Any, np.dtype[Any]]


def model_of(opset: int) -> onnx.ModelProto:
    """Return a model with all operators of an opset, with one branch and output each."""
    graph = onnx.GraphProto(name="operators")
    for name, shape in INPUTS.items():
        graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
    for name, array in _weights(opset).items():
        graph.initializer.append(numpy_helper.from_array(array, name))
    for name, nodes in _branches(opset):
        if all(_has(node, opset) for node in nodes):
            result = nodes[-1].output[0]
            nodes[-1].output[0] = name
            assert result == "y"
            graph.node.extend(nodes)
            graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    ir_version = 4 if opset < 9 else 8 if opset < 20 else 10
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)


INPUTS = {"x": [2, 8], "image": [2, 4, 6, 6], "heads": [1, 2, 4, 8]}


def feeds() -> dict[str, Array]:
    """Return normally distributed inputs."""
    generator = np.random.default_rng(0)
    return {name: generator.standard_normal(shape).astype(np.float32) for name, shape in INPUTS.items()}


def _weights(opset: int) -> dict[str, Array]:
    generator = np.random.default_rng(1)
    shapes = {"w": [8, 4], "c": [4], "row": [1, 4], "kernel": [4, 4, 3, 3], "g": [4], "b": [4], "gain": [8]}
    found = {name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    found["v"] = np.abs(generator.standard_normal(4)).astype(np.float32) + np.float32(0.5)
    found["large"] = np.array([70_000.0], np.float32)
    found["axes"] = np.array([1], np.int64)
    found["groups"] = np.ones(4 if opset >= 21 else 2, np.float32)
    found["cosine"] = found["sine"] = np.full((1, 4, 4), 0.7, np.float32)
    return found


def _branches(opset: int) -> Iterator[tuple[str, list[NodeProto]]]:
    """Return the branches by name. The last node of each computes ``y``."""

    def node(op: str, inputs: str, output: str = "y", **attributes: Any) -> NodeProto:
        return helper.make_node(op, inputs.split(), [output], **attributes)

    for op in _REDUCTIONS:
        begin = node("Abs", "x", f"{op}_abs")
        if opset >= _AXES.get(op, 18):
            yield op, [begin, node(op, f"{op}_abs axes")]
        else:
            yield op, [begin, node(op, f"{op}_abs", axes=[1])]
        yield f"{op}_all", [node("Abs", "x", f"{op}_all_abs"), node(op, f"{op}_all_abs", keepdims=0)]
    yield "LpNormalization", [node("LpNormalization", "x", axis=1, p=2)]
    yield "InstanceNormalization", [node("InstanceNormalization", "image g b")]
    yield "Softmax", [node("Softmax", "x", axis=1)]
    yield "Gemm", [node("Gemm", "x w c")]
    yield "Gemm_row", [node("Gemm", "x w row")]
    yield "Gemm_beta", [node("Gemm", "x w c", alpha=2.0, beta=0.5)]
    yield "Conv", [node("Conv", "image kernel b")]
    yield "ConvTranspose", [node("ConvTranspose", "image kernel b")]
    yield "BatchNormalization", [node("BatchNormalization", "image g b b v")]
    yield (
        "Conv_BatchNormalization",
        [node("Conv", "image kernel b", "product"), node("BatchNormalization", "product g b b v")],
    )
    yield "by_large", [node("Div", "x large", "reduced"), node("Mul", "reduced large")]
    yield (
        "by_constants",
        [node("Mul", "large large", "squared"), node("Div", "squared squared", "one"), node("Mul", "x one")],
    )
    yield "Gelu", [node("Gelu", "x")]
    yield "HardSwish", [node("HardSwish", "x")]
    yield "Mish", [node("Mish", "x")]
    yield "MeanVarianceNormalization", [node("MeanVarianceNormalization", "image", axes=[0, 2, 3])]
    yield "GroupNormalization", [node("GroupNormalization", "image groups groups", num_groups=2)]
    yield "Attention", [node("Attention", "heads heads heads")]
    yield "LayerNormalization", [node("LayerNormalization", "x gain")]
    yield "RMSNormalization", [node("RMSNormalization", "x gain")]
    yield "RotaryEmbedding", [node("RotaryEmbedding", "heads cosine sine")]
    yield "Dropout", [node("Dropout", "x")]
    yield (
        OVERFLOWING,
        [node("Mul", "x large", "beyond"), node("Mul", "beyond beyond", "square"), node("Sqrt", "square")],
    )


def _has(node: NodeProto, opset: int) -> bool:
    try:
        defs.get_schema(node.op_type, opset)
    except defs.SchemaError:
        return False
    return True
