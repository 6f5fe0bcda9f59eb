"""Tests of the overview bar of a model, cell by cell."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import onnx
import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from tests.report import handmade
from trtlint.engine.finding import Finding, Row, Severity
from trtlint.facts.facts import Facts
from trtlint.model.load import load
from trtlint.report.page import overview_bar as module
from trtlint.report.page.behind import PageData
from trtlint.report.page.card import CardEntry
from trtlint.report.page.overview_bar import strip


@pytest.fixture
def chain(tmp_path: Path) -> Any:
    """Return a function that makes a model of a chain of nodes with these names."""

    def made(*names: str) -> PageData:
        nodes = [
            onnx.helper.make_node("Exp", [f"v{at}"], [f"v{at + 1}"], name=name)
            for at, name in enumerate(names)
        ]
        ends = [
            onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4])
            for name in ("v0", f"v{len(names)}")
        ]
        graph = onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:])
        opsets = [onnx.helper.make_opsetid("", 17)]
        onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "m.onnx")
        return PageData(Facts(load(tmp_path / "m.onnx")))

    return made


def timed(behind: PageData, *times: float) -> PageData:
    """Set the times of the nodes of a model."""
    behind.__dict__["times"] = dict(zip(behind.nodes, times, strict=False))
    return behind


def marked(severity: Severity, *indexes: int | None, label: str = "why", id_: str = "f") -> CardEntry:
    """Return a finding with one site for each node."""
    site = handmade.CLIP.sites[0]
    sites = [replace(site, rows=(Row("n", "Exp", "", "", label, "", index),)) for index in indexes]
    finding = replace(handmade.CLIP, severity=severity, sites=tuple(sites))
    return CardEntry(finding, "", f"{id_}-{severity}", "m.onnx", False)


def drawn(behind: PageData, *found: CardEntry) -> ElementTree.Element:
    """Return the elements of the bar."""
    bar = strip(behind, found, "s1")
    assert bar is not None
    return ElementTree.fromstring(str(bar))


def cells(svg: ElementTree.Element) -> list[tuple[str | None, ...]]:
    """Return the cells with findings: link, left edge and width."""
    found: list[tuple[str | None, ...]] = []
    for link in svg.iter("a"):
        (rect,) = link.iter("rect")
        found.append((link.get("href"), rect.get("x"), rect.get("width")))
    return found


def bands(svg: ElementTree.Element) -> list[tuple[str | None, ...]]:
    """Return the bands below the cells: name, left edge, width and class."""
    return [
        (rect.findtext("title"), rect.get("x"), rect.get("width"), rect.get("class"))
        for rect in svg.findall("rect")
        if rect.find("title") is not None
    ]


def labels(svg: ElementTree.Element) -> list[str | None]:
    """Return the visible names of bands."""
    return [text.text for text in svg.iter("text")]


def test_a_bar(chain: Any, snapshot: SnapshotAssertion) -> None:
    behind = timed(chain("/first/a", "/first/b", "/second/c", "/second/d"), 1.0, 4.0, 0.0, 0.05)
    bar = strip(behind, [marked("warning", 1), marked("error", 2), marked("note", 3)], "s1")
    assert str(bar).replace("><", ">\n<") == snapshot


def test_a_model_without_nodes_has_no_bar() -> None:
    behind: Any = SimpleNamespace(nodes=())
    assert strip(behind, [], "s1") is None


def test_a_bar_without_times_and_modules(chain: Any) -> None:
    svg = drawn(chain("a", "b"))
    assert (svg.get("height"), len(list(svg.iter("rect"))), labels(svg)) == ("16", 1, [])
    assert svg.findtext("desc") == (
        "2 nodes from the inputs on the left to the outputs on the right; 0 findings at 0 places."
    )


def test_the_heights_of_a_bar(chain: Any) -> None:
    assert drawn(chain("/m/a")).get("height") == "38"
    assert drawn(timed(chain("a"), 1.0)).get("height") == "54"
    assert drawn(timed(chain("/m/a"), 1.0)).get("height") == "76"


def test_the_description_counts_places_and_times(chain: Any) -> None:
    svg = drawn(timed(chain("a"), 1.25), marked("note", 0, 0), marked("error", 0))
    assert svg.findtext("desc") == (
        "1 node from the inputs on the left to the outputs on the right; 2 findings at 3 places; "
        "the layers take 1.25 ms."
    )


def test_the_gravest_finding_of_a_cell_is_shown(chain: Any) -> None:
    behind = chain(*"abcd")
    found = [marked("note", 0, 1, 2), marked("error", 1), marked("warning", 1, 2)]
    assert cells(drawn(behind, *found)) == [
        ("#f-note", "0.00%", "25.00%"),
        ("#f-error", "25.00%", "25.00%"),
        ("#f-warning", "50.00%", "25.00%"),
    ]


def test_neighbouring_cells_of_a_finding_are_one(chain: Any) -> None:
    found = [marked("note", 0, 1, 3), marked("note", 2, id_="g")]
    assert cells(drawn(chain(*"abcd"), *found)) == [
        ("#f-note", "0.00%", "50.00%"),
        ("#g-note", "50.00%", "25.00%"),
        ("#f-note", "75.00%", "25.00%"),
    ]


def test_nodes_that_the_model_lacks_are_not_shown(chain: Any) -> None:
    assert cells(drawn(chain(*"ab"), marked("note", None, -1, 2))) == []


def test_only_marked_rows_are_shown_if_there_are_any(chain: Any) -> None:
    site = handmade.CLIP.sites[0]
    rows = (Row("a", "Exp", index=0), Row("b", "Exp", label="why", index=1))
    for chosen, edges in ((rows, [("#x", "50.00%", "50.00%")]), (rows[:1], [("#x", "0.00%", "50.00%")])):
        finding: Finding = replace(handmade.CLIP, sites=(replace(site, rows=chosen),))
        assert cells(drawn(chain(*"ab"), CardEntry(finding, "", "x", "m.onnx", False))) == edges


def test_sites_beyond_the_limit_are_not_shown(chain: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_SITES", 1)
    assert cells(drawn(chain(*"ab"), marked("note", 1, 0))) == [("#f-note", "50.00%", "50.00%")]


def test_a_cell_shows_several_nodes_of_a_large_model(chain: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CELLS", 2)
    behind = timed(chain(*(f"/m{at}/x" for at in range(5))), 1.0, 1.0, 1.0, 2.0, 1.0)
    assert [cells(drawn(behind, marked("note", at)))[0][1] for at in range(5)] == [
        *["0.00%"] * 3,
        *["50.00%"] * 2,
    ]
    svg = drawn(behind)
    # A band is named after the node in the middle of its cell.
    assert [name for name, *_ in bands(svg)] == ["m1", "m3"]
    bars = [(rect.get("x"), rect.get("y"), rect.get("height")) for rect in svg.findall("rect")][:2]
    assert bars == [("0.00%", "0.0", "34.0"), ("50.00%", "0.0", "34.0")]


@pytest.mark.parametrize(("ms", "bars"), [(0.5, 2), (0.5 / 34, 2), (0.49 / 34, 1), (0.0, 1)])
def test_bars_below_half_a_pixel_are_not_drawn(ms: float, bars: int, chain: Any) -> None:
    svg = drawn(timed(chain("a", "b"), 1.0, ms))
    assert len([rect for rect in svg.findall("rect") if rect.get("class") == "h"]) == bars


def test_times_of_zero_have_no_bars(chain: Any) -> None:
    svg = drawn(timed(chain("a", "b"), 0.0, 0.0))
    assert [rect.get("class") for rect in svg.findall("rect")] == ["w"]


@pytest.mark.parametrize(
    ("names", "found"),
    [
        # A module of more than 70 % of the bar is divided.
        (["/a/b/X"] * 7 + ["/c/d/X"] * 3, ["a", "c"]),
        (["/a/b/X"] * 8 + ["/c/d/X"] * 2, ["a.b", "c.d"]),
        (["/a/b/X"] * 4 + ["/a/c/X"] * 4 + ["/c/d/X"] * 2, ["a.b", "a.c", "c.d"]),
        (["/a/b/c/X"] * 5 + ["/a/c/d/X"] * 3 + ["/c/d/e/X"] * 2, ["a.b", "a.c", "c.d"]),
        (["/a/b/c/d/e/X"], ["a.b.c.d"]),
        (["/a/b/X", "/X", "/a/b/X"], ["a", "a"]),
    ],
)
def test_bands_of_modules(names: list[str], found: list[str], chain: Any) -> None:
    assert [name for name, *_ in bands(drawn(chain(*names)))] == found


def test_bands_have_two_colours_in_turn(chain: Any) -> None:
    names = ["/a/X", "/a/Y", "/b/X", "/c/X", "/X"]
    assert bands(drawn(chain(*names))) == [
        ("a", "0.00%", "40.00%", "n0"),
        ("b", "40.00%", "20.00%", "n1"),
        ("c", "60.00%", "20.00%", "n0"),
    ]


@pytest.mark.parametrize(
    ("cells_", "name", "label"),
    [
        # A character takes 0.6 % of the bar: 82 fit into one half, 165 into the whole bar.
        (2, "a" * 82, "a" * 82),
        (2, "a" * 83, None),
        (1, "a" * 165, "a" * 165),
        (1, "a" * 166, None),
    ],
)
def test_names_of_bands_without_room_are_not_written(
    cells_: int, name: str, label: str | None, chain: Any
) -> None:
    svg = drawn(chain(*[f"/{name}/X", "/b/X"][:cells_]))
    assert labels(svg)[:1] == ([label] if label else ["b"][: cells_ - 1])


def test_a_name_without_room_is_written_without_its_folders(
    chain: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "a" * 165
    assert labels(drawn(chain(f"/{long}/b/X"))) == ["b"]
    monkeypatch.setattr(module, "_LONGEST", 10)
    svg = drawn(chain(f"/{long}/b/X"))
    assert (labels(svg), bands(svg)[0][0]) == (["a" * 10], "a" * 10)
