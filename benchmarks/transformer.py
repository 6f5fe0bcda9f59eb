"""Write a transformer of 300 MB with random weights: python -m benchmarks.transformer FILE."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

LAYERS, WIDTH, HEADS, TOKENS = 11, 768, 12, 512


class Transformer:
    """A transformer whose normalizations are primitive operators, as exporters wrote them before opset 17."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: list[onnx.TensorProto] = []
        self.generator = np.random.default_rng(0)

    def save(self, path: Path) -> None:
        """Write the model to a file."""
        self.constant("heads", np.array([0, 0, HEADS, WIDTH // HEADS]))
        self.constant("joined", np.array([0, 0, WIDTH]))
        self.constant("last", np.array([-1]))
        for name, value in (("two", 2.0), ("epsilon", 1e-5), ("half", 0.5), ("one", 1.0), ("root2", 2**0.5)):
            self.constant(name, np.float32(value))
        self.constant("scale", np.float32((WIDTH // HEADS) ** -0.5))
        x = "x"
        for layer in range(LAYERS):
            x = self.node("Add", x, self.attention(self.norm(x), f"layer{layer}"))
            x = self.node("Add", x, self.feed_forward(self.norm(x), f"layer{layer}"))
        result = self.norm(x)
        shape = [1, TOKENS, WIDTH]
        graph = helper.make_graph(
            self.nodes,
            "transformer",
            [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info(result, onnx.TensorProto.FLOAT, shape)],
            self.tensors,
        )
        opsets = [helper.make_opsetid("", 18)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)

    def constant(self, name: str, value: object) -> str:
        self.tensors.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"/{name}", **attributes))
        return name

    def linear(self, x: str, name: str, inputs: int, outputs: int) -> str:
        weight = self.generator.standard_normal((inputs, outputs), np.float32) * np.float32(0.02)
        product = self.node("MatMul", x, self.constant(f"{name}.weight", weight))
        return self.node("Add", product, self.constant(f"{name}.bias", np.zeros(outputs, np.float32)))

    def norm(self, x: str) -> str:
        centred = self.node("Sub", x, self.node("ReduceMean", x, "last"))
        variance = self.node("ReduceMean", self.node("Pow", centred, "two"), "last")
        return self.node("Div", centred, self.node("Sqrt", self.node("Add", variance, "epsilon")))

    def attention(self, x: str, name: str) -> str:
        q, k, v = (
            self.node("Reshape", self.linear(x, f"{name}.{each}", WIDTH, WIDTH), "heads") for each in "qkv"
        )
        scores = self.node(
            "MatMul",
            self.node("Transpose", q, perm=[0, 2, 1, 3]),
            self.node("Transpose", k, perm=[0, 2, 3, 1]),
        )
        weights = self.node("Softmax", self.node("Mul", scores, "scale"), axis=-1)
        mixed = self.node("MatMul", weights, self.node("Transpose", v, perm=[0, 2, 1, 3]))
        joined = self.node("Reshape", self.node("Transpose", mixed, perm=[0, 2, 1, 3]), "joined")
        return self.linear(joined, f"{name}.out", WIDTH, WIDTH)

    def feed_forward(self, x: str, name: str) -> str:
        wide = self.linear(x, f"{name}.up", WIDTH, 4 * WIDTH)
        erf = self.node("Add", self.node("Erf", self.node("Div", wide, "root2")), "one")
        gelu = self.node("Mul", self.node("Mul", wide, erf), "half")
        return self.linear(gelu, f"{name}.down", 4 * WIDTH, WIDTH)


if __name__ == "__main__":
    Transformer().save(Path(sys.argv[1]))
