"""Tests of the conversion page, part by part."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest

from trtlint.conversion.result import (
    Conversion,
    ConversionCheck,
    InsertedCast,
    IslandSummary,
    KeptOperator,
    Magnitude,
    TensorOutOfRange,
)
from trtlint.report import document
from trtlint.report.convertpages import page

KEPT = (
    KeptOperator("/a/Exp", "Exp", "its result overflows"),
    KeptOperator("/b/Pow", "Pow", "named by --keep"),
)
FULL: dict[str, Any] = {
    "operators": 1200,
    "narrow": 1198,
    "share": 0.987,
    "kept": KEPT,
    "casts": (InsertedCast("x", "fp16", "input of the model", inside=False),),
    "stored": (TensorOutOfRange("w", "clamped", "3 of 9 numbers"),),
    "islands": (IslandSummary("attention", "/a/MatMul", 5, "fp16"),),
    "rewrites": ("moved a Clip",),
    "proofs": (
        ConversionCheck("checker", "proven", "valid"),
        ConversionCheck("parser", "unproven", "not run"),
    ),
    "advice": "use BF16",
    "command": "trtexec --onnx=out.onnx",
    "notes": ("one note",),
}


def conversion(
    path: str = "m.onnx", output: str = "out.onnx", type_: str = "fp16", **more: Any
) -> Conversion:
    """Return a conversion."""
    return Conversion(path, output, type_, "fp32", **more)


def html(*found: Conversion) -> str:
    """Return the HTML page about conversions."""
    return document.html(page([(each, ()) for each in found]))


def shown(*found: Conversion) -> list[str]:
    """Return the lines of text of a page: the heading, and each paragraph, row or heading below."""
    text = re.sub(r".*</style>|<svg.*?</svg>|<footer>.*", "", html(*found), flags=re.DOTALL)
    text = re.sub(r"</t[dh]>", "|", text)
    lines = re.sub(r"</(?:p|h1|h2|tr|li|pre|figcaption|a)>", "\n", text)
    texts = (re.sub(r"<[^>]+>", "", line).strip() for line in lines.splitlines())
    return [text for text in texts if text][2:]


def chart(*greatest: float, type_: str = "fp16", node: str = "/a") -> ElementTree.Element:
    """Return the chart of the largest magnitudes."""
    ranges = tuple(Magnitude(node, "Exp", number) for number in greatest)
    found = re.search(r"<svg.*?</svg>", html(conversion(type_=type_, ranges=ranges)), re.DOTALL)
    assert found
    return ElementTree.fromstring(found[0])


def test_a_page() -> None:
    assert shown(conversion(**FULL)) == [
        "m.onnx in FP16",
        "1,198 of 1,200 operators in FP16, 98.7% of the FLOPs of matrix products and convolutions",
        "written to out.onnx",
        "Proofs",
        "Proof|Verdict|Result|",
        "checker|proven|valid|",
        "parser|unproven|not run|",
        "Groups that TensorRT fuses (one type each)",
        "Group|First operator|Operators|Type|",
        "attention|/a/MatMul|5|fp16|",
        "Operators in FP32",
        "Operator|Type|Reason|",
        "/a/Exp|Exp|its result overflows|",
        "/b/Pow|Pow|named by --keep|",
        "Casts",
        "Tensor|To|Reason|",
        "x|fp16|input of the model|",
        "Stored tensors beyond the range",
        "Tensor|Result|Reason|",
        "w|clamped|3 of 9 numbers|",
        "Notes",
        "moved a Clip",
        "one note",
        "use BF16",
        "Build command",
        "trtexec --onnx=out.onnx",
    ]


def test_a_model_that_was_not_changed() -> None:
    found = conversion(output="", unchanged="the model is in FP16 already", command="trtexec")
    assert shown(found) == [
        "m.onnx in FP16",
        "nothing to convert: the model is in FP16 already",
        "Build command",
        "trtexec",
    ]
    assert "<title>trtlint convert: m.onnx in FP16</title>" in html(found)


def test_several_models() -> None:
    found = [conversion(f"{name}.onnx", "", "bf16", command="trtexec") for name in "ab"]
    each = ["0 of 0 operators in BF16", "not written", "Build command", "trtexec"]
    assert shown(*found) == ["2 models in BF16", "a.onnx in BF16", *each, "b.onnx in BF16", *each]
    assert "<title>trtlint convert: 2 models in BF16</title>" in html(*found)


@pytest.mark.parametrize(("most", "more"), [(2, []), (1, ["and 1 more"])])
def test_rows_beyond_the_limit(most: int, more: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "ROWS", most)
    lines = shown(conversion(kept=KEPT))
    rows = ["/a/Exp|Exp|its result overflows|", "/b/Pow|Pow|named by --keep|"][:most]
    assert lines[lines.index("Operators in FP32") + 2 :] == [*rows, *more]


def test_a_chart() -> None:
    svg = chart(65520.0, 65519.0, 0.0)
    label = "Largest magnitudes in FP32; the line marks the largest value of FP16"
    assert svg.attrib == {
        "viewBox": "0 0 640 54",
        "role": "img",
        "aria-label": label,
        "fill": "currentColor",
    }
    assert [(text.text, text.attrib) for text in svg.iter("text")] == [
        (words, {"x": "0", "y": y, "font-size": "11"})
        for words, y in (("/a 65,520", "13"), ("/a 65,519", "31"), ("/a 0", "49"))
    ]
    # A magnitude that rounds to infinity is opaque.
    assert [bar.attrib for bar in svg.iter("rect")] == [
        {"x": "260", "y": y, "width": width, "height": "12", "opacity": opacity}
        for y, width, opacity in (("3", "279.2", "1"), ("21", "279.2", "0.45"), ("39", "1.0", "0.45"))
    ]
    (line,) = svg.iter("line")
    assert line.attrib == {"x1": "539.2", "x2": "539.2", "y1": "0", "y2": "54", "stroke": "currentColor"}


@pytest.mark.parametrize(
    ("greatest", "width"),
    [(1e-5, "1.0"), (1e-4, "1.0"), (1e-2, "63.3"), (1.0, "126.7"), (1e8, "380.0"), (1e9, "380.0")],
)
def test_bars_of_a_chart_are_logarithmic(greatest: float, width: str) -> None:
    (bar,) = chart(greatest).iter("rect")
    assert bar.get("width") == width


def test_the_chart_of_bf16_marks_its_largest_value() -> None:
    (line,) = chart(1.0, type_="bf16").iter("line")
    assert line.get("x1") == "640.0"
    assert [bar.get("opacity") for bar in chart(65520.0, 3.4e38, type_="bf16").iter("rect")] == ["0.45", "1"]


@pytest.mark.parametrize(("node", "words"), [("n" * 38, "n" * 38 + " 1"), ("n" * 39, "n" * 39 + "  …")])
def test_long_names_in_a_chart_are_cut(node: str, words: str) -> None:
    (text,) = chart(1.0, node=node).iter("text")
    assert text.text == words


def test_no_ranges_no_chart() -> None:
    assert "<svg" not in html(conversion())
    assert "Largest magnitudes in FP32" in shown(conversion(ranges=(Magnitude("/a", "Exp", 1.0),)))
