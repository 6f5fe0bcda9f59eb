"""Tests of layer order, of the branches that need layers, and of tensor lifetimes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.network.test_run import Loop, Maker, run
from trtlint.network.layers import Layer, Network, NotComputedError
from trtlint.network.schedule import Block, schedule, tensors_of


def shown(network: Network, block: Block | None = None) -> list[Any]:
    """Return for each step the results, operands, branches, deletable tensors and loop steps."""
    found = schedule(network) if block is None else block
    names = [tensor.name for tensor in network.tensors]
    rows: list[Any] = []
    for step, guard, last in zip(found.steps, found.guards, found.last, strict=True):
        row: list[Any] = [
            " ".join(names[tensor] for tensor in step.gives),
            " ".join(names[tensor] for tensor in step.needs),
            " ".join(f"{group}{'+' if taken else '-'}" for group, taken in sorted(guard)),
            " ".join(names[tensor] for tensor in last),
        ]
        rows.append(row if step.loop is None else [*row, shown(network, step.loop)])
    return rows


def conditional() -> tuple[Maker, int]:
    """Return a network with a conditional whose condition is computed."""
    maker = Maker()
    x = maker.input("x")
    then = maker.layer("UNARY", [x], "then", op="NEG")
    both = maker.layer("UNARY", [x], "both", op="ABS")
    late = maker.layer("ELEMENTWISE", [both, x], "late", op="SUM")
    more = maker.layer("ELEMENTWISE", [both, then], "more", op="SUM")
    c = maker.layer("UNARY", [x], "c", op="ISNAN")
    maker.layer("CONDITION", [c], group=4)
    y = maker.layer("CONDITIONAL_OUTPUT", [more, late], "y", group=4)
    return maker, y


def test_branches_wait_for_their_condition() -> None:
    maker, y = conditional()
    assert shown(maker.network(y)) == [
        ["both", "x", "", ""],
        ["c", "x", "", ""],
        ["then", "x", "4+", ""],
        ["late", "both x", "4-", ""],
        ["more", "both then", "4+", "both then"],
        ["", "c", "", ""],
        ["y", "more late c", "", "more late c"],
    ]


def test_tensors_of_branches_that_are_needed_elsewhere() -> None:
    maker, y = conditional()
    z = maker.layer("UNARY", [maker.layers[0].outputs[0]], "z", op="NEG")
    guards = {row[0]: row[2] for row in shown(maker.network(y, z))}
    assert guards == {"then": "", "both": "", "late": "4-", "more": "4+", "c": "", "": "", "y": "", "z": ""}
    more = maker.layers[3].outputs[0]
    guards = {row[0]: row[2] for row in shown(maker.network(y, more))}
    assert (guards["more"], guards["then"], guards["late"]) == ("", "", "4-")


def test_conditionals_inside_branches() -> None:
    maker, y = conditional()
    x, d = 0, maker.layer("UNARY", [0], "d", op="ISINF")
    maker.layer("CONDITION", [d], group=5)
    deep = maker.layer("UNARY", [x], "deep", op="NEG")
    z = maker.layer("CONDITIONAL_OUTPUT", [y, deep], "z", group=5)
    guards = {row[0]: row[2] for row in shown(maker.network(z))}
    assert guards == {
        "then": "4+ 5+",
        "both": "5+",
        "late": "4- 5+",
        "more": "4+ 5+",
        "c": "",
        "": "",
        "y": "5+",
        "d": "",
        "deep": "5-",
        "z": "",
    }


def nested() -> tuple[Maker, int]:
    """Return a loop in a loop. Both run ``n`` times, and the inner one adds ``w``."""
    maker = Maker()
    x, n, w = maker.input("x"), maker.input("n", "INT32"), maker.input("w")
    state, inner = maker.tensor("state"), maker.tensor("inner")
    maker.layer("TRIP_LIMIT", [n], group=0, kind="COUNT")
    v = maker.layer("UNARY", [w], "v", op="ABS")
    maker.layer("TRIP_LIMIT", [n], group=1, kind="COUNT")
    grown = maker.layer("ELEMENTWISE", [inner, v], "grown", op="SUM")
    count = len(maker.layers)
    maker.layers.append(Layer(count, "", "RECURRENCE", (state, grown), (inner,), ("FLOAT",), {}, 1))
    last = maker.layer("LOOP_OUTPUT", [inner], "last", group=1, kind="LAST_VALUE")
    twice = maker.layer("UNARY", [last], "twice", op="NEG")
    count = len(maker.layers)
    maker.layers.append(Layer(count, "", "RECURRENCE", (x, twice), (state,), ("FLOAT",), {}, 0))
    every = maker.layer("LOOP_OUTPUT", [state], "every", group=0, kind="LAST_VALUE")
    return maker, maker.layer("UNARY", [every], "y", op="NEG")


def test_a_loop_in_a_loop() -> None:
    maker, y = nested()
    network = maker.network(y)
    assert shown(network) == [
        ["v", "w", "", ""],
        [
            "every",
            "n v x",
            "",
            "v",
            [
                ["state", "", "", ""],
                [
                    "last",
                    "n v state",
                    "",
                    "",
                    [["inner", "", "", ""], ["grown", "inner v", "", ""]],
                ],
                ["twice", "last", "", "last"],
            ],
        ],
        ["y", "every", "", "every"],
    ]
    found = run(network, x=np.array([1], np.float32), n=np.array(2, np.int32), w=np.array([-3], np.float32))
    assert np.asarray(found["y"]).tolist() == [-1]


def test_loops_beside_each_other() -> None:
    first = Loop(COUNT="n")
    y = first.output("LAST_VALUE", first.state)
    maker = first.maker
    state = maker.tensor("second")
    maker.layer("TRIP_LIMIT", [first.n], group=7, kind="COUNT")
    grown = maker.layer("ELEMENTWISE", [state, y], "more", op="SUM")
    count = len(maker.layers)
    maker.layers.append(Layer(count, "", "RECURRENCE", (first.x, grown), (state,), ("FLOAT",), {}, 7))
    z = maker.layer("LOOP_OUTPUT", [state], "z", group=7, kind="LAST_VALUE")
    rows = shown(maker.network(z))
    assert [[row[0], row[1], row[3]] for row in rows] == [
        ["LAST_VALUE 5", "n x", ""],
        ["z", "n LAST_VALUE 5 x", "LAST_VALUE 5"],
    ]
    assert first.run(z) == [[13, 26]]


def test_a_conditional_in_a_loop() -> None:
    loop = Loop(COUNT="n")
    maker = loop.maker
    maker.layer("CONDITION", [loop.go], group=9)
    then = maker.layer("UNARY", [loop.grown], "then", op="NEG")
    other = maker.layer("UNARY", [loop.state], "other", op="ABS")
    chosen = maker.layer("CONDITIONAL_OUTPUT", [then, other], "chosen", group=9)
    y = loop.output("CONCATENATE", chosen)
    outer = shown(maker.network(y))
    inner = outer[0][-1]
    assert [row[0] for row in outer] == ["CONCATENATE 8", ""]
    assert {row[0]: (row[2], row[3]) for row in inner} == {
        "grown": ("", ""),
        "state": ("", ""),
        "then": ("9+", ""),
        "other": ("9-", "state"),
        "chosen": ("", "then other"),
    }
    assert loop.run(y) == [[[-2, -4], [-3, -6], [-4, -8]]]
    assert loop.run(y, go=np.array(False)) == [[[1, 2], [2, 4], [3, 6]]]


def test_layers_in_a_circle_have_no_order() -> None:
    maker = Maker()
    later = maker.tensor("later")
    y = maker.layer("UNARY", [later], "y", op="NEG")
    maker.layers.append(Layer(1, "", "UNARY", (y,), (later,), ("FLOAT",), {"op": "NEG"}))
    with pytest.raises(
        NotComputedError, match=r"^the layers of the network depend on each other in a cycle$"
    ):
        schedule(maker.network(y))


@pytest.mark.parametrize(
    ("settings", "tensors"),
    [
        ({}, (1, 2)),
        ({"mask": 5}, (1, 2, 5)),
        ({"normalization_quantize_scale": 6, "mask": 5}, (1, 2, 5, 6)),
        ({"mask": None, "other": 7}, (1, 2)),
    ],
)
def test_tensors_that_a_layer_reads(settings: dict[str, Any], tensors: tuple[int, ...]) -> None:
    assert tensors_of(Layer(0, "", "ATTENTION_INPUT", (1, None, 2), (3,), ("FLOAT",), settings)) == tensors
