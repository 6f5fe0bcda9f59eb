"""Tests of pictures of findings, element by element."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from syrupy.assertion import SnapshotAssertion

from trtlint.report.page import picture as module
from trtlint.report.page.block import Box, Line, SiteDiagram
from trtlint.report.page.picture import Colour, picture

DIAGRAM = SiteDiagram(
    (
        Box("row", "Mul", "/attn/Mul", "f32[1,8]", "q × 0.35", "scale on Q", "0.2 ms, up to 9"),
        Box("row", "Softmax", "/attn/Softmax"),
        Box("row", "MatMul", "/attn/MatMul", "f32[1,8]"),
        Box("outside", "input", "q", "f32[1,8]"),
        Box("outside", "output", "y", "", "and 2 more"),
    ),
    (
        Line(0, 1, ("Transpose", "Reshape", "Cast", "Add", "Sub")),
        Line(0, 2),
        Line(1, 2, ("Erf",)),
        Line(3, 0),
        Line(2, 4),
    ),
)


def drawn(block: SiteDiagram, colour: Colour = "error") -> ElementTree.Element:
    """Return the elements of a picture."""
    return ElementTree.fromstring(str(picture(block, colour, "The title", "p1")))


def texts(box: Box) -> list[str]:
    """Return the lines of text of a box."""
    return [element.text or "" for element in drawn(SiteDiagram((box,), ())).iter("text")]


def size(box: Box) -> tuple[str | None, str | None]:
    """Return width and height of a box."""
    frame = list(drawn(SiteDiagram((box,), ())).iter("rect"))[1]
    return frame.get("width"), frame.get("height")


def test_a_picture(snapshot: SnapshotAssertion) -> None:
    assert str(picture(DIAGRAM, "error", "The title", "p1")).replace("><", ">\n<") == snapshot


@pytest.mark.parametrize(
    ("colour", "fill", "stroke"),
    [
        ("error", "#fdeceb", "#b3261e"),
        ("warning", "#fff3dc", "#8a5200"),
        ("note", "#e8f1fc", "#1f5fa8"),
        ("good", "#e4f4ea", "#1c6b3c"),
    ],
)
def test_colours_of_a_marked_box(colour: Colour, fill: str, stroke: str) -> None:
    svg = drawn(SiteDiagram((Box("row", "Mul", "/m", label="why"),), ()), colour)
    frame = list(svg.iter("rect"))[1]
    assert (frame.get("fill"), frame.get("stroke")) == (fill, stroke)
    assert [text.get("fill") for text in svg.iter("text")] == ["#1b2130", "#566074", stroke]


@pytest.mark.parametrize(
    ("box", "found"),
    [
        # The narrowest box is 132 pixels wide, and the widest 248.
        (Box("row", "Add", "a"), ("132", "44")),
        (Box("row", "Add", "a" * 16), ("132", "44")),
        (Box("row", "Add", "a" * 17), ("133.1", "44")),
        (Box("row", "Add", "a" * 34), ("246.1", "44")),
        (Box("row", "Add", "a" * 35), ("246.1", "44")),
        (Box("row", "Add", "a", "t" * 60), ("246.1", "59")),
        (Box("row", "A" * 28, "a"), ("246.8", "44")),
        (Box("row", "A" * 29, "a"), ("246.8", "44")),
        (Box("row", "Add", "a", "", "d" * 30), ("206", "59")),
        (Box("row", "Add", "a", "f32[1]", "d", "l", "m"), ("132", "105")),
        # A character of two cells can be wider than the rest of a line.
        (Box("row", "Add", "a", "", "測" * 30), ("248", "59")),
    ],
)
def test_the_size_of_a_box(box: Box, found: tuple[str, str]) -> None:
    assert size(box) == found


@pytest.mark.parametrize(
    ("box", "found"),
    [
        (Box("row", "A" * 28, "n"), ["A" * 28, "n"]),
        (Box("row", "A" * 29, "n"), ["A" * 27 + "…", "n"]),
        (Box("row", "Add", "n", "t" * 34), ["Add", "n", "t" * 34]),
        (Box("row", "Add", "n", "t" * 35), ["Add", "n", "t" * 33 + "…"]),
        (Box("row", "Add", "n", "", "x " * 100), ["Add", "n", *["x " * 17 + "x"] * 3, "x " * 17 + "…"]),
        (Box("row", "Add", "n", "", "d", "l", "m"), ["Add", "n", "d", "m", "l"]),
        (Box("row", "Add", "n", "", "d" * 37), ["Add", "n", "d" * 36, "d"]),
        (Box("row", "Add", "n", label="l" * 34), ["Add", "n", "l" * 33, "l"]),
        (Box("row", "A\x1bdd", "n\x1b", "t\x1b", "d\x1b"), ["A\\x1bdd", "n\\x1b", "t\\x1b", "d\\x1b"]),
    ],
)
def test_texts_of_a_box(box: Box, found: list[str]) -> None:
    assert texts(box) == found


def test_a_text_is_cut_before_it_is_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LONGEST", 5)
    assert texts(Box("row", "Add", "n", "", "12345", "123456")) == ["Add", "n", "12345", "12345"]


@pytest.mark.parametrize(
    ("via", "label"),
    [
        (("Cast",), "Cast"),
        (("Cast", "Add", "Sub"), "Cast · Add · Sub"),
        (("Cast", "Add", "Sub", "Erf"), "Cast · Add · Sub +1"),
        (("Cast", "Add", "Sub", "Erf", "Exp"), "Cast · Add · Sub +2"),
        (("A" * 38,), "A" * 38),
        (("A" * 39,), "A" * 37 + "…"),
    ],
)
def test_hidden_operators_are_named_on_their_line(via: tuple[str, ...], label: str) -> None:
    svg = drawn(SiteDiagram((Box("row", "Add", "a"), Box("row", "Mul", "m")), (Line(0, 1, via),)))
    group = [
        each for each in svg.iter("g") if each.find("rect") is not None and each.find("text") is not None
    ]
    last = group[-1]
    assert [last.findtext("title"), last.findtext("text")] == [" · ".join(via), label]


def test_lines_leave_and_reach_a_box_side_by_side() -> None:
    boxes = tuple(Box("row", "Add", f"n{at}") for at in range(7))
    fan = SiteDiagram(boxes, (*(Line(0, at) for at in range(1, 6)), *(Line(at, 6) for at in range(1, 6))))
    lines = next(drawn(fan).iter("path")).get("d", "")
    starts = re.findall(r"M([\d.]+) ([\d.]+)", lines)
    ends = re.findall(r" ([\d.]+) ([\d.]+)(?= M|$)", lines)
    assert starts[:5] == [(f"{374 + 21.6 * at:.1f}".removesuffix(".0"), "44") for at in range(-2, 3)]
    assert ends[5:] == [(f"{374 + 21.6 * at:.1f}".removesuffix(".0"), "130") for at in range(-2, 3)]


def test_two_lines_of_a_box_are_at_most_26_pixels_apart() -> None:
    pair = SiteDiagram(tuple(Box("row", "Add", f"n{at}") for at in range(3)), (Line(0, 1), Line(0, 2)))
    lines = next(drawn(pair).iter("path")).get("d", "")
    assert re.findall(r"M([\d.]+) ", lines) == ["130", "156"]


@pytest.mark.parametrize(("excess", "cut"), [(0, False), (1, True)])
def test_a_long_description_is_cut(excess: int, cut: bool) -> None:
    name = "n" * (module._LONGEST_DESC + excess - len(" (Add)"))
    said = drawn(SiteDiagram((Box("row", "Add", name),), ())).findtext("desc")
    full = f"{name} (Add)"
    assert said == (full[:1200] + " …" if cut else full)


@pytest.mark.parametrize(
    ("op", "name", "width", "wide"),
    [("A" * 17, "a" * 21, "899.4", None), ("Add", "a" * 25, "900.2", "wide")],
)
def test_a_picture_wider_than_900_pixels_scrolls(op: str, name: str, width: str, wide: str | None) -> None:
    boxes = [Box("row", "Add", "a", "", "測" * 30), Box("row", "Add", "b", "", "測" * 30)]
    boxes += [Box("row", op, "c"), Box("row", "Add", name)]
    svg = drawn(SiteDiagram(tuple(boxes), ()))
    assert [svg.get(each) for each in ("width", "height", "viewBox", "class")] == [
        width,
        "79",
        f"0 0 {width} 79",
        wide,
    ]
