"""Loop and Scan operators: body, trip count, condition and loop-carried values."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import helper

from benchmarks.probes.building import Building
from benchmarks.probes.calls import BOOL, FLOAT, FLOAT16, INT32, INT64


class Loops(Building):
    """Moves drawn nodes into the body of a Loop or Scan."""

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
            first = self._state(dims, type)
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

    def _scan(self, results: list[Any]) -> list[Any]:
        rng = self.rng
        dims = tuple(rng.choice([1, 2, 3]) for _ in range(rng.randint(1, 2)))
        type = rng.choice([FLOAT, FLOAT, FLOAT16, INT64, INT32])
        length = rng.choice([1, 3, 4])
        state, element = self.name("s"), self.name("e")
        inputs = [helper.make_tensor_value_info(name, type, dims) for name in (state, element)]
        total = self.add(self.inner, "Add", [state, element])
        same = self.add(self.inner, "Identity", [total])
        given = [(same, type), (total, type), *((name, type) for name, type, _ in results)]
        outputs = [helper.make_tensor_value_info(name, type, None) for name, type in given]
        body = helper.make_graph(self.inner.nodes, self.name("body"), inputs, outputs, self.inner.stored)
        attributes: dict[str, Any] = {"num_scan_inputs": 1, "body": body}
        if rng.random() < 0.3:
            attributes["scan_input_directions"] = [rng.choice([0, 1])]
        if rng.random() < 0.2:
            attributes["scan_output_directions"] = [rng.choice([0, 1])] * (len(given) - 1)
        names = [self.name() for _ in given]
        read = [self._state(dims, type), self._state((length, *dims), type)]
        self.outer.nodes.append(helper.make_node("Scan", read, names, name=self.name("n_"), **attributes))
        return [(name, type, None) for name, (_, type) in zip(names, given, strict=True)]

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
        """Return the trip count and the first condition of a loop; an omitted input is empty."""
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
