"""The bar of the parts of a model that an execution provider runs."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from tests.report.test_partition import partition, report
from trtlint.report.page import parts as module
from trtlint.report.page.markup import clipped
from trtlint.report.page.parts import parts_of
from trtlint.report.partition import lines_of_targets

COLOURS = ("#2f6fb0", "#4f9a52", "#8a5fb5", "#c98a1b", "#2f9aa0", "#b0527f")
LEFT = "#c0392b"


def rects(html: object) -> list[tuple[str, ...]]:
    """Return the segments of the bar: left edge, width and colour."""
    found = re.findall(r'<rect x="([^"]*)" y="0" width="([^"]*)" height="22" fill="([^"]*)"', str(html))
    return [tuple(each) for each in found]


def behind(*paths: str) -> Any:
    """Return the data about a model with these nodes."""
    return SimpleNamespace(nodes=tuple(SimpleNamespace(path=path) for path in paths))


def test_segments_without_the_model_have_the_order_of_the_parts() -> None:
    data = partition(("a", "b", "c"), ("d", "e"), left=["f", "g", "h"])
    assert rects(parts_of([report(data)], None)) == [
        ("0.0", "375.0", COLOURS[0]),
        ("375.0", "250.0", COLOURS[1]),
        ("625.0", "375.0", LEFT),
    ]


def test_segments_of_a_model_have_the_order_of_its_nodes() -> None:
    data = partition(("a", "b"), ("d",), left=["c"])
    nodes = behind("a", "unknown", "c", "b", "d")
    assert rects(parts_of([report(data)], nodes)) == [
        ("0.0", "250.0", COLOURS[0]),
        ("250.0", "250.0", LEFT),
        ("500.0", "250.0", COLOURS[0]),
        ("750.0", "250.0", COLOURS[1]),
    ]
    assert rects(parts_of([report(data)], behind("unknown"))) == []


def test_edges_are_rounded_to_hundredths() -> None:
    data = partition(("a",), ("b",), left=["c"])
    assert rects(parts_of([report(data)], None)) == [
        ("0.0", "333.33", COLOURS[0]),
        ("333.33", "333.33", COLOURS[1]),
        ("666.67", "333.33", LEFT),
    ]


def test_the_limits_of_the_bar_and_of_a_line() -> None:
    data = partition(*([f"n{at}"] for at in range(2001)), failure="x" * 500)
    html = str(parts_of([report(data)], None))
    assert len(rects(html)) == 2000
    line = next(lines_of_targets([report(data)]))
    assert re.findall("<li>(.*?)</li>", html)[0] == clipped(line, 400)


def test_colours_repeat() -> None:
    data = partition(*([f"n{at}"] for at in range(8)), left=[])
    found = rects(parts_of([report(data)], None))
    assert [colour for *_, colour in found] == [*COLOURS, *COLOURS[:2]]
    assert [edge for edge, *_ in found[:3]] == ["0.0", "125.0", "250.0"]


@pytest.mark.parametrize(("most", "count"), [(2, 2), (3, 3), (4, 3)])
def test_segments_beyond_the_limit_are_left_out(
    most: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_SEGMENTS", most)
    data = partition(("a",), ("b",), left=["c", "d"])
    found = rects(parts_of([report(data)], None))
    assert [width for _, width, _ in found] == ["250.0", "250.0", "500.0"][:count]


def test_the_first_partition_is_drawn_and_all_are_described() -> None:
    first, second = partition(("a",), left=[]), partition(("a",), left=["b"])
    reports = [report(None, "A"), report(first, "B"), report(second, "C")]
    html = str(parts_of(reports, None))
    assert rects(html) == [("0.0", "1000.0", COLOURS[0])]
    assert re.findall("<li>(.*?)</li>", html) == [line.strip() for line in lines_of_targets(reports)]
    assert html.startswith('<figure class="strip-box"><svg viewBox="0 0 1000 22" role="img"')
    assert (
        "<figcaption>Nodes in graph order: one colour for each part, red for nodes on another provider"
        in html
    )


def test_no_bar_without_a_partition() -> None:
    assert parts_of([], None) is None
    assert parts_of([report(None)], None) is None
