"""Tests of the boxes and lines of a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import onnx
import pytest

from trtlint.engine.finding import Row
from trtlint.facts.facts import Facts
from trtlint.model.load import load
from trtlint.report.page import block as module
from trtlint.report.page.behind import PageData
from trtlint.report.page.block import Box, Line, SiteDiagram, block, words

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
CHAIN = """g (float[4] x) => (float[4] y) {
    [a] a = Exp(x)
    [b] b = Sin(a)
    [c] c = Abs(b)
    [d] d = Cos(c)
    [e] y = Neg(d)
}"""


def behind(folder: Path, graph: str) -> PageData:
    """Return the data about a model."""
    file = folder / "m.onnx"
    onnx.save(onnx.parser.parse_model(HEAD + graph), file)
    return PageData(Facts(load(file)))


def rows(data: PageData, *names: str, label: str = "") -> list[Row]:
    """Return the rows of nodes."""
    found = {node.path: node for node in data.nodes}
    return [
        Row(name, found[name].op, found[name].output.type_text, "", label, "", found[name].index)
        for name in names
    ]


def drawn(folder: Path, graph: str, *names: str) -> SiteDiagram:
    """Return the picture of nodes."""
    data = behind(folder, graph)
    found = block(rows(data, *names), data)
    assert found is not None
    return found


def box(op: str, name: str, type_: str = "f32[4]") -> Box:
    """Return the box of a node of the finding."""
    return Box("row", op, name, type_)


def outside(op: str, name: str, type_: str = "", detail: str = "") -> Box:
    """Return a box at the edge."""
    return Box("outside", op, name, type_, detail)


@pytest.mark.parametrize(
    ("graph", "names", "boxes", "lines"),
    [
        pytest.param(
            CHAIN,
            ["b"],
            [box("Sin", "b"), outside("Exp", "a", "f32[4]"), outside("Abs", "c")],
            [Line(1, 0), Line(0, 2)],
            id="neighbours",
        ),
        pytest.param(
            CHAIN,
            ["a", "e"],
            [box("Exp", "a"), box("Neg", "e"), outside("input", "x", "f32[4]"), outside("output", "y")],
            [Line(2, 0), Line(0, 1, ("Sin", "Abs", "Cos")), Line(1, 3)],
            id="hidden nodes in between",
        ),
        pytest.param(
            CHAIN,
            ["a", "a", "b"],
            [box("Exp", "a"), box("Sin", "b"), outside("input", "x", "f32[4]"), outside("Abs", "c")],
            [Line(2, 0), Line(0, 1), Line(1, 3)],
            id="a node twice",
        ),
        pytest.param(
            """g (float[4] x) => (float[4] y) {
                [a] a = Exp(x)
                [b] b = Sin(a)
                [c] c = Abs(a)
                [d] d = Cos(c)
                [e] y = Add(b, d)
            }""",
            ["a", "e"],
            [box("Exp", "a"), box("Add", "e"), outside("input", "x", "f32[4]"), outside("output", "y")],
            [Line(2, 0), Line(0, 1, ("Sin",)), Line(1, 3)],
            id="the shorter way",
        ),
        pytest.param(
            """g (float[4] x) => (float[4] y) {
                [a] a = Exp(x)
                [b] b = Sin(a)
                [c] c = Abs(a)
                [d] d = Cos(c)
                [e] y = Add(d, b)
            }""",
            ["a", "e"],
            [box("Exp", "a"), box("Add", "e"), outside("input", "x", "f32[4]"), outside("output", "y")],
            [Line(2, 0), Line(0, 1, ("Sin",)), Line(1, 3)],
            id="the shorter way is the second",
        ),
        pytest.param(
            """g (float[4] x) => (float[4] a, float[4] y) <float s = {0.5}> {
                [a] a = Exp(x)
                [b] b = Mul(a, s)
                [c] c = Abs(a)
                [d] y = Sub(b, c)
            }""",
            ["a"],
            [box("Exp", "a"), outside("input", "x", "f32[4]"), outside("Mul", "b", detail="and 2 more")],
            [Line(1, 0), Line(0, 2)],
            id="several readers and an output",
        ),
        pytest.param(
            """g (float[4] x) => (float[4] a, float[4] y) <float s = {0.5}> {
                [a] a = Exp(x)
                [b] y = Mul(a, s)
            }""",
            ["b", "a"],
            [box("Mul", "b"), box("Exp", "a"), outside("input", "x", "f32[4]"), outside("output", "y"),
             outside("output", "a")],
            [Line(1, 0), Line(2, 1), Line(0, 3), Line(1, 4)],
            id="an output that a box reads, and a constant",
        ),
        pytest.param(
            """g (float[4] x) => (float[4] y) {
                [a] y = Mul(x, x)
            }""",
            ["a"],
            [box("Mul", "a"), outside("input", "x", "f32[4]"), outside("output", "y")],
            [Line(1, 0), Line(0, 2)],
            id="an input twice",
        ),
        pytest.param(
            """g (float[4] x) => (float[4] y) {
                [a] a = Exp(x)
                [s] s = Shape(a)
                [r] y = Reshape(a, s)
            }""",
            ["a", "r"],
            [box("Exp", "a"), box("Reshape", "r"), outside("input", "x", "f32[4]"), outside("output", "y")],
            [Line(2, 0), Line(0, 1), Line(1, 3)],
            id="shape arithmetic",
        ),
        pytest.param(
            """g (float[4] x, float[4] low) => (float[4] y) {
                [a] a = Exp(x)
                [b] b = Clip(a, , low)
                [c] y = Neg(b)
            }""",
            ["a", "c"],
            [box("Exp", "a"), box("Neg", "c"), outside("input", "x", "f32[4]"), outside("output", "y")],
            [Line(2, 0), Line(0, 1, ("Clip",)), Line(1, 3)],
            id="an input that is left out",
        ),
        pytest.param(
            """g (float[4] x) => (float[2] a, float[2] b) {
                [a] a, b = Split(x)
            }""",
            ["a"],
            [box("Split", "a", "f32[2]"), outside("input", "x", "f32[4]"),
             outside("output", "a", detail="and 1 more")],
            [Line(1, 0), Line(0, 2)],
            id="two outputs",
        ),
    ],
)  # fmt: skip
def test_pictures(
    graph: str, names: Sequence[str], boxes: Sequence[Box], lines: Sequence[Line], tmp_path: Path
) -> None:
    assert drawn(tmp_path, graph, *names) == SiteDiagram(tuple(boxes), tuple(lines))


def test_a_site_without_nodes_of_the_model_is_not_drawn(tmp_path: Path) -> None:
    data = behind(tmp_path, CHAIN)
    known = rows(data, "a", "b")
    assert block([], data) is None
    assert block([*known, Row("gone", "Exp", "", index=2)], data) is None
    assert block([*known, Row("c", "Abs", "", index=None)], data) is None
    assert block([*known, Row("c", "Abs", "", index=-3)], data) is None
    assert block([*known, Row("c", "Abs", "", index=5)], data) is None


@pytest.mark.parametrize(
    ("rows_", "marked", "names", "left"),
    [(5, 9, "abcde", 0), (4, 9, "abde", 1), (2, 9, "ae", 3), (5, 2, "ab", 3)],
)
def test_rows_beyond_the_limits_are_left_out(
    rows_: int, marked: int, names: str, left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_ROWS", rows_)
    monkeypatch.setattr(module, "MOST_MARKED", marked)
    found = drawn(tmp_path, CHAIN, *"abcde")
    assert ("".join(box.name for box in found.boxes if box.kind == "row"), found.left) == (names, left)


@pytest.mark.parametrize(("most", "via"), [(3, ("Sin", "Abs", "Cos")), (2, None)])
def test_a_way_beyond_the_limit_is_not_a_line(
    most: int, via: tuple[str, ...] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LONGEST_WAY", most)
    found = drawn(tmp_path, CHAIN, "a", "e")
    assert [line.via for line in found.lines if line.via] == ([via] if via else [])
    assert any(box.name == "d" for box in found.boxes) is (via is None)


@pytest.mark.parametrize(("most", "line"), [(5, True), (4, False)])
def test_values_beyond_the_limit_are_not_visited(
    most: int, line: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_MET", most)
    found = drawn(tmp_path, CHAIN, "a", "e")
    assert any(each.via for each in found.lines) is line


FAN = """g (float[4] x) => (float[4] y) {
    [a] a = Exp(x)
    [b] b = Sin(a)
    [c] c = Abs(a)
    [d] d = Cos(a)
    [e] e = Add(b, c)
    [f] y = Add(e, d)
}"""


@pytest.mark.parametrize(("most", "detail"), [(3, "and 2 more"), (2, "and 1 more"), (1, "")])
def test_readers_beyond_the_limit_are_not_counted(
    most: int, detail: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_USES", most)
    assert drawn(tmp_path, FAN, "a").boxes[2] == outside("Sin", "b", detail=detail)


def test_two_hundred_readers_of_a_value_are_counted(tmp_path: Path) -> None:
    reads = "\n".join(f"[n{at}] y{at} = Neg(a)" for at in range(202))
    outputs = ", ".join(f"float[4] y{at}" for at in range(202))
    found = drawn(tmp_path, f"g (float[4] x) => ({outputs}) {{ [a] a = Exp(x)\n{reads} }}", "a")
    assert found.boxes[2] == outside("Neg", "n0", detail="and 199 more")


@pytest.mark.parametrize(("most", "names"), [(2, ["p", "q", "c", "d"]), (1, ["p", "c"]), (0, [])])
def test_boxes_at_the_edge_are_limited(
    most: int, names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_OUTSIDE", most)
    graph = """g (float[4] p, float[4] q) => (float[4] y, float[4] z) {
        [a] a = Exp(p)
        [b] b = Sin(q)
        [c] y = Abs(a)
        [d] z = Cos(b)
    }"""
    found = drawn(tmp_path, graph, "a", "b")
    assert [box.name for box in found.boxes[2:]] == names
    assert len(found.lines) == len(names)


def test_measured_numbers_of_boxes_are_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PageData, "measured", lambda self, node: f"{node.path} ms")
    data = behind(tmp_path, CHAIN)
    first, second = rows(data, "b", "c", label="why")
    repeated = Row(second.node, second.op, second.type, "c ms", "", "", second.index)
    found = block([first, repeated], data)
    assert found is not None
    assert found.boxes == (
        Box("row", "Sin", "b", "f32[4]", "", "why", "b ms"),
        Box("row", "Abs", "c", "f32[4]", "c ms"),
        Box("outside", "Exp", "a", "f32[4]", "", "", "a ms"),
        Box("outside", "Cos", "d"),
    )


def test_words_of_a_picture() -> None:
    boxes = (
        Box("row", "Sin", "b", "f32[4]", "the role", "why", "2 ms"),
        Box("outside", "Exp", "a", "f32[4]"),
        Box("row", "Abs", "c"),
    )
    assert words(SiteDiagram(boxes, ())) == "b (Sin, f32[4], the role, 2 ms), marked: why; c (Abs)"
    assert words(SiteDiagram((), ())) == ""
