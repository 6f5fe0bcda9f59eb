"""Where a probed operator stands: the main graph, a branch, a loop, a function."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper

from benchmarks.probes.calls import (
    BOOL,
    DOUBLE,
    FLOAT,
    FLOAT16,
    INT8,
    INT32,
    INT64,
    Operand,
)
from benchmarks.probes.operands import Operands, Part
from benchmarks.probes.tensors import UnluckyError, contrib, run, tensor


class Places(Operands):
    """Puts what was drawn in its place."""

    # --- places ------------------------------------------------------------------------------------

    def trial(self, outputs: list[str]) -> list[tuple[str, int, tuple[int, ...] | None]]:
        """The outputs with their types and shapes, from ONNX's inference and a run."""
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

    def _loop(self, results: list[Any]) -> list[Any]:
        rng = self.rng
        count, start = self._trips()
        iteration, go = self.name("it"), self.name("go")
        inputs = [
            helper.make_tensor_value_info(iteration, INT64, ()),
            helper.make_tensor_value_info(go, BOOL, ()),
        ]
        states, updates = [], []
        for _ in range(rng.randint(0, 2)):
            dims = tuple(rng.choice([1, 2, 3, 4]) for _ in range(rng.randint(1, 3)))
            type = rng.choice([FLOAT, FLOAT, FLOAT16, INT64, INT32])
            first = self.operand(Operand(np.ones(dims), "data"), type) if False else self._state(dims, type)
            own = self.name("s")
            inputs.append(helper.make_tensor_value_info(own, type, None))
            way = rng.choice(["add", "add", "same", "grows", "other"])
            if way == "add":
                after = self.add(
                    self.inner,
                    rng.choice(["Add", "Mul"]),
                    [own, self.stored(np.ones(dims), type, self.inner)],
                )
            elif way == "grows" and count != "":
                self.tags.append("loop grows")
                after = self.add(self.inner, "Concat", [own, own], axis=0)
            elif way == "other":
                after = self.add(self.inner, "Add", [own, self._state(dims, type)])
            else:
                after = self.add(self.inner, "Identity", [own])
            states.append((first, type))
            updates.append((after, type))
        again = self._again(go, iteration, count == "")
        outputs = [helper.make_tensor_value_info(again, BOOL, ())]
        outputs += [helper.make_tensor_value_info(name, type, None) for name, type in updates]
        outputs += [helper.make_tensor_value_info(name, type, None) for name, type, _ in results]
        body = helper.make_graph(self.inner.nodes, self.name("body"), inputs, outputs, self.inner.stored)
        names = [self.name() for _ in (*states, *results)]
        self.outer.nodes.append(
            helper.make_node(
                "Loop", [count, start, *(name for name, _ in states)], names, name=self.name("n_"), body=body
            )
        )
        types = [type for _, type in updates] + [type for _, type, _ in results]
        return [(name, type, None) for name, type in zip(names, types, strict=True)]

    def _state(self, dims: tuple[int, ...], type: int) -> str:
        wild = self.rng.random()
        if wild < 0.5:
            return self.fed(np.ones(dims), type)
        return (
            self.stored(np.ones(dims), type, self.outer)
            if wild < 0.8
            else self.computed(np.ones(dims), type, self.outer, constant=False)
        )

    def _trips(self) -> tuple[str, str]:
        """The trip count and the condition that a loop starts with; empty where left out."""
        rng = self.rng
        way = rng.choice(["stored", "stored", "constant", "fed", "shape", "computed", "absent", "huge"])
        start = rng.choice(["stored", "stored", "constant", "fed", "absent"])
        self.tags.append(f"loop {way}/{start}")
        trips = np.array(rng.randint(1, 3))
        if way == "stored":
            count = self.stored(trips, INT64, self.outer)
        elif way == "constant":
            count = self.constant(trips, INT64, self.outer)
        elif way == "fed":
            count = self.fed(trips, INT64)
        elif way == "shape":
            count = self._from_shape(trips, self.outer)
        elif way == "computed":
            count = self.add(
                self.outer,
                "Add",
                [self.stored(trips, INT64, self.outer), self.stored(np.array(0), INT64, self.outer)],
            )
        elif way == "huge":
            count = self.stored(
                np.array(rng.choice([(1 << 31) - 1, (1 << 63) - 1, 1 << 40])), INT64, self.outer
            )
            self._finite = False
        else:
            count = ""
        true = np.array(True)
        places = {"stored": self.stored, "constant": self.constant}
        if start in places:
            return count, places[start](true, BOOL, self.outer)
        return count, self.fed(true, BOOL) if start == "fed" else ""

    def _again(self, go: str, iteration: str, endless: bool) -> str:
        rng = self.rng
        huge = any("huge" in tag for tag in self.tags)
        way = "less" if endless or huge else rng.choice(["same", "same", "true", "less"])
        if way == "less":
            return self.add(
                self.inner, "Less", [iteration, self.stored(np.array(rng.randint(1, 5)), INT64, self.inner)]
            )
        if way == "true":
            return self.constant(np.array(True), BOOL, self.inner)
        return self.add(self.inner, "Identity", [go])

    def _function(self, results: list[Any]) -> list[Any]:
        made = {output for node in self.inner.nodes for output in node.output}
        reads = dict.fromkeys(
            name for node in self.inner.nodes for name in node.input if name and name not in made
        )
        formal = {name: f"in_{index}" for index, name in enumerate(reads)}
        for node in self.inner.nodes:
            node.input[:] = [formal.get(name, name) for name in node.input]
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
        """An operator or two behind the results, in place."""
        for index, (name, type, dims) in enumerate(results):
            while self.rng.random() < 0.35:
                way = self.rng.choice(["identity", "relu", "cast", "flat", "add", "transpose"])
                if way == "relu" and (
                    type in (FLOAT, FLOAT16) or (type in (INT32, INT64, INT8) and self.opset >= 14)
                ):
                    name = self.add(self.outer, "Relu", [name])
                elif way == "cast" and type in (FLOAT, FLOAT16, INT32, INT64, BOOL, DOUBLE):
                    type = self.rng.choice([FLOAT, FLOAT16, INT32, INT64, DOUBLE, BOOL])
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
        """The shapes of outputs, and of some values in between, as exporters write them."""
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
