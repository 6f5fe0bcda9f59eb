"""Methods with which modules of a random model add nodes, constants and branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import onnx
from onnx import helper

from benchmarks.probes.calls import INT64, Kind, Operand
from benchmarks.probes.operands import Operands, Part
from benchmarks.probes.tensors import tensor


class Building(Operands):
    """A random model to which modules add nodes."""

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output; return the name of the output."""
        return self.add(self.inner, op, list(inputs), **attributes)

    def nodes(self, op: str, count: int, *inputs: str, **attributes: Any) -> list[str]:
        """Add a node with several outputs; return their names."""
        self.add(self.inner, op, list(inputs), count, **attributes)
        return list(self.inner.nodes[-1].output)

    def place_constant(self, array: np.ndarray[Any, Any], type: int) -> str:
        """Add a constant as an initializer or as a node."""
        place = self.stored if self.rng.random() < 0.55 else self.constant
        return place(array, type, self.inner if self.rng.random() < 0.6 else self.outer)

    def index(self, value: int | Sequence[int]) -> str:
        """Add an int64 constant."""
        return self.place_constant(np.array(value, dtype=np.int64), INT64)

    def number(self, value: float | Sequence[float], type: int = 1) -> str:
        """Add a number of a type as a constant."""
        return self.place_constant(np.array(value, dtype=np.float64), type)

    def numbers(self, dims: Sequence[int], type: int, kind: Kind | Literal["indices"]) -> str:
        """Add an operand of random numbers from a random origin. Indices are below four."""
        generator = np.random.default_rng(self.rng.randrange(1 << 30))
        if kind == "indices":
            return self.operand(Operand(generator.integers(0, 4, tuple(dims)), "data"), type)
        return self.operand(Operand(generator.normal(0, 1, tuple(dims)).round(3), kind), type)

    def filled(self, sizes: str, type: int) -> str:
        """Add zeros with a computed shape."""
        return self.node("ConstantOfShape", sizes, value=tensor("", type, np.zeros(1)))

    def branched(
        self, condition: str, then: Callable[[], str], otherwise: Callable[[], str], type: int
    ) -> str:
        """Add an If with two branches, which two functions draw. Return the name of the output."""
        around, graphs = self.inner, []
        for drawn in (then, otherwise):
            self.inner = Part()
            result = drawn()
            info = helper.make_tensor_value_info(result, type, None)
            graphs.append(
                helper.make_graph(self.inner.nodes, self.name("branch"), [], [info], self.inner.stored)
            )
        self.inner = around
        return self.node("If", condition, then_branch=graphs[0], else_branch=graphs[1])

    def sparse(self, dims: Sequence[int]) -> str:
        """Add a weight that the finished model stores as a sparse tensor."""
        array = np.zeros(tuple(dims))
        array.reshape(-1)[:: self.rng.choice([2, 3])] = 0.5
        name = self.name("w")
        self.outer.stored.append(tensor(name, 1, array))
        self.sparse_weights.append(name)
        self.tags.append("sparse")
        return name


def make_sparse(graph: onnx.GraphProto, name: str) -> None:
    """Convert an initializer of a graph to a sparse initializer."""
    (dense,) = (stored for stored in graph.initializer if stored.name == name)
    flat = onnx.numpy_helper.to_array(dense).reshape(-1)
    where = np.flatnonzero(flat)
    values = helper.make_tensor(name, dense.data_type, [len(where)], flat[where].tolist())
    indices = helper.make_tensor(name + "_indices", INT64, [len(where)], where.tolist())
    graph.initializer.remove(dense)
    graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, list(dense.dims)))
