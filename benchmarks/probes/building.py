"""What modules are written with: nodes, numbers and branches, added where the drawing stands."""

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
    """A drawing that modules add nodes to."""

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        """A node of one output; its name."""
        return self.add(self.inner, op, list(inputs), **attributes)

    def nodes(self, op: str, count: int, *inputs: str, **attributes: Any) -> list[str]:
        """A node of several outputs; their names."""
        self.add(self.inner, op, list(inputs), count, **attributes)
        return list(self.inner.nodes[-1].output)

    def place_constant(self, array: np.ndarray[Any, Any], type: int) -> str:
        """A constant, as an initializer or as a node."""
        place = self.stored if self.rng.random() < 0.55 else self.constant
        return place(array, type, self.inner if self.rng.random() < 0.6 else self.outer)

    def index(self, value: int | Sequence[int]) -> str:
        """A constant of int64."""
        return self.place_constant(np.array(value, dtype=np.int64), INT64)

    def number(self, value: float | Sequence[float], type: int = 1) -> str:
        """A constant number of a type."""
        return self.place_constant(np.array(value, dtype=np.float64), type)

    def numbers(self, dims: Sequence[int], type: int, kind: Kind | Literal["indices"]) -> str:
        """An operand of random numbers, from wherever; indices are below four."""
        generator = np.random.default_rng(self.rng.randrange(1 << 30))
        if kind == "indices":
            return self.operand(Operand(generator.integers(0, 4, tuple(dims)), "data"), type)
        return self.operand(Operand(generator.normal(0, 1, tuple(dims)).round(3), kind), type)

    def filled(self, sizes: str, type: int) -> str:
        """Zeros of a size that is computed."""
        return self.node("ConstantOfShape", sizes, value=tensor("", type, np.zeros(1)))

    def branched(
        self, condition: str, then: Callable[[], str], otherwise: Callable[[], str], type: int
    ) -> str:
        """An If of two branches, each given by what draws it; the name of what it gives."""
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
        """A weight that the finished model stores sparse."""
        array = np.zeros(tuple(dims))
        array.reshape(-1)[:: self.rng.choice([2, 3])] = 0.5
        name = self.name("w")
        self.outer.stored.append(tensor(name, 1, array))
        self.sparse_weights.append(name)
        self.tags.append("sparse")
        return name


def make_sparse(graph: onnx.GraphProto, name: str) -> None:
    """Store an initializer of a graph as a sparse one."""
    (dense,) = (stored for stored in graph.initializer if stored.name == name)
    flat = onnx.numpy_helper.to_array(dense).reshape(-1)
    where = np.flatnonzero(flat)
    values = helper.make_tensor(name, dense.data_type, [len(where)], flat[where].tolist())
    indices = helper.make_tensor(name + "_indices", INT64, [len(where)], where.tolist())
    graph.initializer.remove(dense)
    graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, list(dense.dims)))
