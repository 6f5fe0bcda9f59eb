"""Growth of the lint time with the graph: repeated attention blocks, 2,500 to 20,000 nodes."""

from __future__ import annotations

import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

from benchmarks.measure import report
from trtlint import Target, lint

NODES = (2_500, 5_000, 10_000, 20_000)
ROUNDS = 5


def transformer(nodes: int) -> onnx.ModelProto:
    """Return pre-norm transformer blocks as TorchScript writes them at opset 13.

    The model has about ``nodes`` nodes.
    """
    width, heads, length = 64, 4, 16
    graph_nodes: list[onnx.NodeProto] = []
    constants = [
        helper.make_tensor("two", TensorProto.FLOAT, [], [2.0]),
        helper.make_tensor("eps", TensorProto.FLOAT, [], [1e-5]),
        helper.make_tensor("scale", TensorProto.FLOAT, [], [0.5]),
        helper.make_tensor("split", TensorProto.INT64, [4], [1, length, heads, width // heads]),
        helper.make_tensor("merge", TensorProto.INT64, [3], [1, length, width]),
        helper.make_tensor("w", TensorProto.FLOAT, [width, width], [0.0] * width * width),
        helper.make_tensor("b", TensorProto.FLOAT, [width], [0.0] * width),
    ]

    def node(op: str, *inputs: str, **attributes: Any) -> str:
        name = f"{op}_{len(graph_nodes)}"
        graph_nodes.append(helper.make_node(op, inputs, [name], name=f"/{name}", **attributes))
        return name

    def norm(x: str) -> str:
        centred = node("Sub", x, node("ReduceMean", x, axes=[-1]))
        variance = node("ReduceMean", node("Pow", centred, "two"), axes=[-1])
        normed = node("Div", centred, node("Sqrt", node("Add", variance, "eps")))
        return node("Add", node("Mul", normed, "w_norm"), "b")

    def linear(x: str) -> str:
        return node("Add", node("MatMul", x, "w"), "b")

    def head(x: str, perm: list[int]) -> str:
        return node("Transpose", node("Reshape", linear(x), "split"), perm=perm)

    constants.append(helper.make_tensor("w_norm", TensorProto.FLOAT, [width], [1.0] * width))
    x = "x"
    while len(graph_nodes) < nodes:
        h = norm(x)
        query = node("Mul", head(h, [0, 2, 1, 3]), "scale")
        key = node("Mul", head(h, [0, 2, 3, 1]), "scale")
        probabilities = node("Softmax", node("MatMul", query, key), axis=-1)
        attended = node("MatMul", probabilities, head(h, [0, 2, 1, 3]))
        merged = node("Reshape", node("Transpose", attended, perm=[0, 2, 1, 3]), "merge")
        x = node("Add", x, linear(merged))
        x = node("Add", x, linear(node("Relu", linear(norm(x)))))
    graph = helper.make_graph(
        graph_nodes,
        "transformer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, length, width])],
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, [1, length, width])],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def main() -> bool:
    print("graphs of repeated attention blocks")
    target = Target(version="10.7", gpu="L4", asked=frozenset({"fp16"}))
    times = dict.fromkeys(NODES, float("inf"))
    sites: dict[int, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        paths = {nodes: Path(folder) / f"{nodes}.onnx" for nodes in NODES}
        for nodes, path in paths.items():
            onnx.save(transformer(nodes), path)
        # In turn, so that the load of the machine affects all measurements equally.
        for _ in range(ROUNDS):
            for nodes, path in paths.items():
                start = time.perf_counter()
                result = lint(path, target=target)
                times[nodes] = min(times[nodes], time.perf_counter() - start)
                sites[nodes] = sum(len(finding.sites) for finding in result.models[0].findings)
    for nodes in NODES:
        print(f"  {nodes:>6} nodes: {times[nodes]:6.2f} s, {sites[nodes]} sites")
    growth = [times[big] / times[small] / (big / small) for small, big in pairwise(NODES)]
    met = report("worst growth of time / growth of nodes", max(growth), 1.25)
    return report("seconds for 10,000 nodes", times[10_000], 1.5, " s") and met


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
