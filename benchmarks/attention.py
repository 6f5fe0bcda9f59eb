"""Encoders with random weights, whose attention TensorRT-RTX fuses in 16 bits.

Each model has two layers and heads of size 64. The attention has one of the forms that exporters write. A
normalization precedes the attention, so the magnitude of the inputs does not change the scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, HEADS, HEAD, TOKENS, BATCH, LAYERS = 256, 4, 64, 128, 2, 2
_SCALE = HEAD**-0.5


class Encoder:
    """A builder of one model.

    Args:
        scale: place of the attention scale: ``scores``, ``div``, ``query``, ``both`` (its root on Q and K) or
            ``shape`` (``both``, with a scale computed from the shape of Q).
        mask: ``none``, ``add`` (a mask times the lowest FP32 number), ``where`` (infinity) or ``causal`` (a
            stored mask).
        fused: whether one product computes Q, K and V.
        written_out: whether normalizations consist of primitive operators.
    """

    def __init__(
        self,
        scale: str = "scores",
        mask: str = "none",
        *,
        fused: bool = False,
        written_out: bool = False,
    ) -> None:
        self.scale = scale
        self.mask = mask
        self.fused = fused
        self.written_out = written_out
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: list[onnx.TensorProto] = []
        self.random = np.random.default_rng(0)

    def model(self) -> onnx.ModelProto:
        """Return the model."""
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [BATCH, TOKENS, WIDTH])]
        if self.mask in ("add", "where"):
            inputs.append(helper.make_tensor_value_info("mask", TensorProto.BOOL, [BATCH, 1, 1, TOKENS]))
        x = "x"
        for _ in range(LAYERS):
            x = self.op("Add", x, self.attention(self.norm(x)))
            hidden = self.op("Relu", self.linear(self.norm(x), WIDTH, 4 * WIDTH))
            x = self.op("Add", x, self.linear(hidden, 4 * WIDTH, WIDTH))
        last = self.norm(x)
        output = helper.make_tensor_value_info(last, TensorProto.FLOAT, [BATCH, TOKENS, WIDTH])
        graph = helper.make_graph(self.nodes, "encoder", inputs, [output], self.tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def op(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Append an operator with one output; return the name of the output."""
        name = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"/{name}", **attributes))
        return name

    def ops(self, op: str, *inputs: str, count: int, **attributes: Any) -> list[str]:
        """Append an operator with several outputs; return their names."""
        names = [f"{op.lower()}_{len(self.nodes)}_{index}" for index in range(count)]
        self.nodes.append(helper.make_node(op, inputs, names, name=f"/{names[0]}", **attributes))
        return names

    def number(self, value: object, type_: type = np.float32) -> str:
        """Store a tensor; return its name."""
        name = f"stored_{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(np.asarray(value, type_), name))
        return name

    def linear(self, x: str, inputs: int, outputs: int) -> str:
        """Append a product with random weights and a bias."""
        weights = self.random.standard_normal((inputs, outputs)) / inputs**0.5
        product = self.op("MatMul", x, self.number(weights))
        return self.op("Add", product, self.number(self.random.standard_normal(outputs) / 10))

    def norm(self, x: str) -> str:
        """Append a normalization of the last axis."""
        if not self.written_out:
            ones, zeros = self.number(np.ones(WIDTH)), self.number(np.zeros(WIDTH))
            return self.op("LayerNormalization", x, ones, zeros, axis=-1)
        centred = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1]))
        squares = self.op("Pow", centred, self.number(2.0))
        variance = self.op("Add", self.op("ReduceMean", squares, axes=[-1]), self.number(1e-5))
        return self.op("Div", centred, self.op("Sqrt", variance))

    def heads(self, x: str) -> tuple[str, str, str]:
        """Append the products of Q, K and V, each of shape (batch, heads, tokens, head)."""
        shape = self.number([0, 0, HEADS, HEAD], np.int64)
        if self.fused:
            sizes = self.number([WIDTH] * 3, np.int64)
            parts = self.ops("Split", self.linear(x, WIDTH, 3 * WIDTH), sizes, count=3, axis=-1)
        else:
            parts = [self.linear(x, WIDTH, WIDTH) for _ in range(3)]
        q, k, v = (self.op("Transpose", self.op("Reshape", part, shape), perm=[0, 2, 1, 3]) for part in parts)
        return q, k, v

    def attention(self, x: str) -> str:
        """Append attention and the product that follows."""
        q, k, v = self.heads(x)
        k = self.op("Transpose", k, perm=[0, 1, 3, 2])
        if self.scale == "query":
            q = self.op("Mul", q, self.number(_SCALE))
        elif self.scale in ("both", "shape"):
            root = self.number(_SCALE**0.5) if self.scale == "both" else self.root(q)
            q, k = self.op("Mul", q, root), self.op("Mul", k, root)
        scores = self.op("MatMul", q, k)
        if self.scale == "scores":
            scores = self.op("Mul", scores, self.number(_SCALE))
        elif self.scale == "div":
            scores = self.op("Div", scores, self.number(1 / _SCALE))
        weights = self.op("Softmax", self.masked(scores), axis=-1)
        mixed = self.op("Transpose", self.op("MatMul", weights, v), perm=[0, 2, 1, 3])
        joined = self.op("Reshape", mixed, self.number([0, 0, WIDTH], np.int64))
        return self.linear(joined, WIDTH, WIDTH)

    def root(self, q: str) -> str:
        """Append the operators that compute the root of the scale from the shape of Q."""
        size = self.op("Gather", self.op("Shape", q), self.number([3], np.int64))
        width = self.op("Cast", size, to=TensorProto.FLOAT)
        return self.op("Sqrt", self.op("Div", self.number(1.0), self.op("Sqrt", width)))

    def masked(self, scores: str) -> str:
        """Append the mask."""
        lowest = float(np.finfo(np.float32).min)
        if self.mask == "add":
            added = self.op("Where", "mask", self.number(0.0), self.number(lowest))
            return self.op("Add", scores, added)
        if self.mask == "where":
            return self.op("Where", "mask", scores, self.number(-np.inf))
        if self.mask == "causal":
            return self.op("Add", scores, self.number(np.triu(np.full((TOKENS, TOKENS), lowest), 1)))
        return scores


FORMS: dict[str, Callable[[], Encoder]] = {
    "scale_scores": Encoder,
    "scale_div_mask_add": lambda: Encoder("div", "add"),
    "scale_query_mask_where": lambda: Encoder("query", "where"),
    "scale_both_causal": lambda: Encoder("both", "causal"),
    "scale_shape_fused": lambda: Encoder("shape", fused=True),
    "fused_mask_add": lambda: Encoder("scores", "add", fused=True),
    "norm_written_out": lambda: Encoder("scores", "add", written_out=True),
}


def models() -> Iterator[tuple[str, bytes]]:
    """Yield the name and the file of each model."""
    for name, make in FORMS.items():
        yield f"g_{name}", make().model().SerializeToString()
