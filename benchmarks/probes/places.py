"""Graphs that contain the tested operator: the main graph, a branch, a loop body, or a function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper

from benchmarks.probes.building import make_sparse
from benchmarks.probes.calls import (
    BOOL,
    DOUBLE,
    FLOAT,
    FLOAT16,
    INT8,
    INT32,
    INT64,
    UINT8,
)
from benchmarks.probes.loops import Loops
from benchmarks.probes.operands import Part
from benchmarks.probes.tensors import UnluckyError, contrib, run, tensor


def _bodies(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    return [attribute.g for attribute in node.attribute if attribute.HasField("g")]


def _free(nodes: Iterable[onnx.NodeProto], known: set[str]) -> list[str]:
    """Return the names that nodes and their bodies read but do not compute."""
    nodes = list(nodes)
    known = known | {output for node in nodes for output in node.output}
    found = [name for node in nodes for name in node.input if name and name not in known]
    for body in (body for node in nodes for body in _bodies(node)):
        own = {info.name for info in body.input} | {stored.name for stored in body.initializer}
        found += _free(body.node, known | own)
        made = {output for node in body.node for output in node.output} | own | known
        found += [info.name for info in body.output if info.name not in made]
    return found


def _rename(nodes: Iterable[onnx.NodeProto], names: Mapping[str, str]) -> None:
    for node in nodes:
        node.input[:] = [names.get(name, name) for name in node.input]
        for body in _bodies(node):
            _rename(body.node, names)


_NESTED = 0.12
"""Share of nested bodies among the probes whose operator is in a body."""


class Places(Loops):
    """Moves drawn nodes into a branch, a loop body or a function."""

    # --- places ------------------------------------------------------------------------------------

    def trial(self, outputs: list[str]) -> list[tuple[str, int, tuple[int, ...] | None]]:
        """Return the outputs with types and shapes, from ONNX's shape inference and a run."""
        graph = helper.make_graph(
            [*self.outer.nodes, *self.inner.nodes],
            "trial",
            self.inputs,
            [onnx.ValueInfoProto(name=name) for name in outputs],
            [*self.outer.stored, *self.inner.stored],
        )
        model = self._versioned(graph)
        try:
            inferred = onnx.shape_inference.infer_shapes(
                model, strict_mode=not contrib(model), data_prop=True
            )
        except Exception as error:
            raise UnluckyError(str(error)) from error
        types = {info.name: info.type.tensor_type for info in inferred.graph.output}
        results: list[tuple[str, int, tuple[int, ...] | None]] = []
        for name in outputs:
            tensor = types[name]
            type = tensor.elem_type or (FLOAT if contrib(model) else 0)
            if not type:
                raise UnluckyError("no type")
            dims = [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
            known = tensor.HasField("shape") and None not in dims
            results.append((name, type, tuple(d for d in dims if d is not None) if known else None))
        for info in model.graph.output:
            info.CopyFrom(
                helper.make_tensor_value_info(
                    info.name, next(r[1] for r in results if r[0] == info.name), None
                )
            )
        arrays = run(model, self.feeds)
        if arrays is not None:
            results = [(n, t, tuple(np.shape(a))) for (n, t, _), a in zip(results, arrays, strict=True)]
        return results

    def placed(self, results: list[Any]) -> list[Any]:
        """Return the results of drawn nodes after a move into another graph; sometimes move them twice."""
        around = self.rng.choice(["if", "loop", "scan"])
        if self.place == "main" or self.rng.random() > _NESTED:
            return list(getattr(self, f"_{self.place}")(results))
        self.tags.append(f"nested in {around}")
        outer, self.outer = self.outer, Part()
        results = getattr(self, f"_{self.place}")(results)
        if any(dims is None for _, _, dims in results):
            results = self._measured(outer, results)
        self.inner, self.outer = self.outer, outer
        return list(getattr(self, f"_{around}")(results))

    def _measured(self, outer: Part, results: list[Any]) -> list[Any]:
        """Return the results with the shapes from a run."""
        graph = helper.make_graph(
            [*outer.nodes, *self.outer.nodes],
            "trial",
            self.inputs,
            [helper.make_tensor_value_info(name, type, None) for name, type, _ in results],
            [*outer.stored, *self.outer.stored],
        )
        arrays = run(self._versioned(graph), self.feeds)
        if arrays is None:
            return results
        return [(n, t, tuple(np.shape(a))) for (n, t, _), a in zip(results, arrays, strict=True)]

    def _main(self, results: list[Any]) -> list[Any]:
        self.outer.nodes += self.inner.nodes
        self.outer.stored += self.inner.stored
        return results

    def _if(self, results: list[Any]) -> list[Any]:
        rng = self.rng
        if any(dims is None for _, _, dims in results):
            raise UnluckyError("unknown sizes in a branch")
        other = Part()
        names = []
        tag = rng.choice(["equal", "equal", "sizes", "rank"])
        self.tags.append(f"if {tag}")
        for _, type, dims in results:
            if tag == "sizes" and dims:
                dims = tuple(dim + 1 if i == 0 else dim for i, dim in enumerate(dims))
            elif tag == "rank":
                dims = (1, *dims) if rng.random() < 0.6 or not dims else dims[1:]
            names.append(self._other(np.zeros(dims), type, other))
        condition = self._condition()
        own = rng.random() < 0.5
        bare = rng.random() < 0.3

        def body(part: Part, names: list[str]) -> onnx.GraphProto:
            infos = [
                onnx.ValueInfoProto(name=name) if bare else helper.make_tensor_value_info(name, type, None)
                for name, (_, type, _) in zip(names, results, strict=True)
            ]
            return helper.make_graph(part.nodes, self.name("branch"), [], infos, part.stored)

        drawn, spare = body(self.inner, [name for name, _, _ in results]), body(other, names)
        outputs = [self.name() for _ in results]
        branches: dict[str, Any] = (
            {"then_branch": drawn, "else_branch": spare}
            if own
            else {"then_branch": spare, "else_branch": drawn}
        )
        self.outer.nodes.append(
            helper.make_node("If", [condition], outputs, name=self.name("n_"), **branches)
        )
        return [(name, type, None) for name, (_, type, _) in zip(outputs, results, strict=True)]

    def _other(self, array: np.ndarray[Any, Any], type: int, part: Part) -> str:
        way = self.rng.random()
        if way < 0.4:
            return self.constant(array, type, part)
        if way < 0.7:
            return self.add(part, "Identity", [self.fed(array, type)])
        if type in (FLOAT, FLOAT16, INT64, INT32, DOUBLE):
            shape = self.constant(np.array(array.shape, dtype=np.int64), INT64, part)
            return self.add(part, "ConstantOfShape", [shape], value=tensor("", type, np.zeros(1)))
        return self.add(part, "Identity", [self.stored(array, type, part)])

    def _condition(self) -> str:
        rng = self.rng
        true = np.array(rng.random() < 0.5)
        way = rng.choice(["fed", "fed", "fed1", "stored", "constant", "size", "data", "not", "identity"])
        self.tags.append(f"if {way}")
        if way == "fed":
            return self.fed(true, BOOL)
        if way == "fed1":
            return self.fed(true.reshape(1), BOOL)
        if way == "stored":
            return self.stored(true, BOOL, self.outer)
        if way == "constant":
            return self.constant(true.reshape(rng.choice([(), (1,)])), BOOL, self.outer)
        if way == "not":
            return self.add(self.outer, "Not", [self.stored(true, BOOL, self.outer)])
        if way == "identity":
            return self.add(self.outer, "Identity", [self.fed(true, BOOL)])
        if way == "data":
            top = self.add(self.outer, "ReduceMax", [self.fed(np.ones((2, 2)), FLOAT)], keepdims=0)
            return self.add(self.outer, "Greater", [top, self.stored(np.zeros(()), FLOAT, self.outer)])
        size = rng.choice([1, 2, 3])
        shape = self.add(self.outer, "Shape", [self.fed(np.zeros((2, size)), FLOAT)])
        dim = self.add(self.outer, "Gather", [shape, self.stored(np.array(1), INT64, self.outer)])
        return self.add(self.outer, "Equal", [dim, self.stored(np.array(1), INT64, self.outer)])

    def _function(self, results: list[Any]) -> list[Any]:
        reads = dict.fromkeys(_free(self.inner.nodes, set()))
        formal = {name: f"in_{index}" for index, name in enumerate(reads)}
        _rename(self.inner.nodes, formal)
        self.functions.append(
            helper.make_function(
                "local",
                "my_op",
                list(formal.values()),
                [name for name, _, _ in results],
                self.inner.nodes,
                [
                    helper.make_opsetid("", self.opset),
                    helper.make_opsetid("local", 1),
                    helper.make_opsetid("com.microsoft", 1),
                ],
            )
        )
        self.outer.stored += self.inner.stored
        names = [self.name() for _ in results]
        self.outer.nodes.append(
            helper.make_node("my_op", list(reads), names, name=self.name("n_"), domain="local")
        )
        return [(name, type, dims) for name, (_, type, dims) in zip(names, results, strict=True)]

    # --- the rest ----------------------------------------------------------------------------------

    def _after(self, results: list[Any]) -> None:
        """Add one or two operators after the results, and replace the results."""
        for index, (name, type, dims) in enumerate(results):
            while self.rng.random() < 0.35:
                way = self.rng.choice(
                    ["identity", "relu", "cast", "flat", "add", "transpose", "shape", "more"]
                )
                if way == "relu" and (
                    type in (FLOAT, FLOAT16) or (type in (INT32, INT64, INT8) and self.opset >= 14)
                ):
                    name = self.add(self.outer, "Relu", [name])
                elif way == "cast" and type in (FLOAT, FLOAT16, INT32, INT64, BOOL, DOUBLE):
                    type = self.rng.choice([FLOAT, FLOAT16, INT32, INT64, DOUBLE, BOOL, UINT8, INT8])
                    name = self.add(self.outer, "Cast", [name], to=type)
                elif way == "flat":
                    name = self.add(
                        self.outer, "Reshape", [name, self.constant(np.array([-1]), INT64, self.outer)]
                    )
                    dims = None
                elif way == "add" and type in (FLOAT, FLOAT16, INT32, INT64):
                    name = self.add(self.outer, "Add", [name, self.stored(np.ones(()), type, self.outer)])
                elif way == "transpose":
                    name = self.add(self.outer, "Transpose", [name])
                    dims = None
                elif way == "shape" and self.rng.random() < 0.3:
                    name, type, dims = self.add(self.outer, "Shape", [name]), INT64, None
                elif way == "more" and self.opset >= 13:
                    axis = self.stored(np.array([0]), INT64, self.outer)
                    name, dims = self.add(self.outer, "Unsqueeze", [name, axis]), None
                else:
                    name = self.add(self.outer, "Identity", [name])
            results[index] = (name, type, dims)

    def _model(self, results: list[Any]) -> onnx.ModelProto:
        outputs = []
        for name, type, _ in results:
            outputs.append(helper.make_tensor_value_info(name, type, None))
        graph = helper.make_graph(self.outer.nodes, "probe", self.inputs, outputs, self.outer.stored)
        return self._versioned(graph)

    def _versioned(self, graph: onnx.GraphProto) -> onnx.ModelProto:
        imports = [helper.make_opsetid("", self.opset)]
        imports += [helper.make_opsetid(domain, 1) for domain in ("com.microsoft", "local")]
        version = 8 if self.opset < 19 else 9 if self.opset < 21 else 10 if self.opset < 23 else 11
        return helper.make_model(graph, opset_imports=imports, ir_version=version, functions=self.functions)

    def _declare(self, model: onnx.ModelProto) -> None:
        """Declare the shapes of outputs and some other values, as exporters do."""
        try:
            inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
        except Exception as error:
            raise UnluckyError(str(error)) from error
        for own, told in zip(model.graph.output, inferred.graph.output, strict=True):
            if (
                told.type.tensor_type.HasField("shape")
                and told.type.tensor_type.elem_type == own.type.tensor_type.elem_type
            ):
                rank = len(told.type.tensor_type.shape.dim)
                kept = [
                    d.dim_value if d.HasField("dim_value") and self.rng.random() < 0.5 else f"{own.name}_d{i}"
                    for i, d in enumerate(told.type.tensor_type.shape.dim)
                ]
                own.CopyFrom(
                    helper.make_tensor_value_info(own.name, own.type.tensor_type.elem_type, kept[:rank])
                )
        if self.rng.random() < 0.2:
            model.graph.value_info.extend(inferred.graph.value_info)

    def _spoil(self, model: onnx.ModelProto) -> None:
        """Add parts that ONNX's shape inference rejects: sparse weights, and a wrong value_info."""
        for name in self.sparse_weights:
            make_sparse(model.graph, name)
        infos = model.graph.value_info
        if not infos or self.rng.random() > 0.3:
            return
        type = self.rng.choice(infos).type.tensor_type
        if self.rng.random() < 0.5 and type.elem_type in (FLOAT, FLOAT16):
            self.tags.append("stale type")
            type.elem_type = FLOAT16 if type.elem_type == FLOAT else FLOAT
        elif type.shape.dim:
            self.tags.append("stale shape")
            type.shape.dim[0].dim_value = 7
