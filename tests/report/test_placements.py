"""Tests of the table of nodes and layers, line by line."""

from __future__ import annotations

import re
from typing import Any

from tests.graphs import model_of
from trtlint.facts.of_build.placement import Placement
from trtlint.report.layout import shorten_middle
from trtlint.report.placements import table

NODES = model_of(f"""< ir_version: 8, opset_import: ["" : 17, "my" : 1] > g (float[4] x) => (float[4] y)
    {{ a = Relu (x) b = Neg (a) c = Abs (b) d = Exp (c) e = Sin (d) y = my.{"O" * 50} (e) }}""").graph.nodes
HEADS = ("node", "operator", "layer", "precision", "format", "ms")


def placement(at: int, *layers: str, **more: Any) -> Placement:
    """Return the placement of a node."""
    given: dict[str, Any] = {
        "shape": False,
        "absorbed": False,
        "precision": None,
        "format": None,
        "others": 0,
        "ms": None,
        "share": None,
    }
    return Placement(node=NODES[at], chain=(), layers=layers, **{**given, **more})


def test_each_node_is_a_line() -> None:
    found = list(
        table(
            [
                placement(0, "conv", precision="f16", format="Linear", ms=1.23456),
                placement(1, "first", "second", "third", precision="f32", ms=12),
                placement(2, "copy", absorbed=True),
                placement(3, shape=True),
                placement(4),
            ]
        )
    )
    assert [re.split("  +", line) for line in found[:-1]] == [
        ["node", "operator", "layer", "precision", "format", "ms"],
        ["Relu_0", "Relu", "conv", "f16", "Linear", "1.235"],
        ["Neg_1", "Neg", "third +2", "f32", "12"],
        ["Abs_2", "Abs", "(in) copy"],
        ["Exp_3", "Exp", "shape"],
        ["Sin_4", "Sin", "-"],
    ]
    assert [found[0].index(head) for head in HEADS] == [0, 8, 18, 29, 40, 48]
    assert found[-1].startswith("times are for the whole layer; '(in)' marks ")


def test_columns_have_a_greatest_width() -> None:
    wide = placement(5, "l" * 60, "m" * 60, precision="p" * 60, format="f" * 60, ms=1.2346e-100)
    head, line, _ = table([wide])
    assert [head.index(name) for name in HEADS] == [0, 42, 64, 122, 133, 179]
    assert line.split("  ") == [
        f"{'O' * 20}…{'O' * 17}_5",
        f"{'O' * 10}…{'O' * 9}",
        f"{'m' * 26}…{'m' * 26} +1",
        "pppp…pppp",
        f"{'f' * 22}…{'f' * 21}",
        "1.235e-100",
    ]
    head, line, _ = table([placement(4, "l" * 60)])
    assert re.split("  +", line)[2] == f"{'l' * 28}…{'l' * 27}"


def test_no_nodes_no_table() -> None:
    assert list(table([])) == []


def test_texts_are_cut_in_the_middle() -> None:
    assert [shorten_middle("abcdefgh", width) for width in (9, 8, 7, 6, 3)] == [
        "abcdefgh",
        "abcdefgh",
        "abc…fgh",
        "abc…gh",
        "a…h",
    ]


def test_wide_characters_take_two_cells() -> None:
    head, line, _ = table([placement(0, "卷积+激活", precision="f16")])
    assert line == "Relu_0  Relu      卷积+激活  f16"
    assert head == "node    operator  layer      precision  format  ms"
