"""Tests of the measurement page, part by part."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import onnx
import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from tests.report.test_html import body
from trtlint.measurement.band import Band, TypeBand
from trtlint.measurement.formats import BF16, FP16, Range
from trtlint.measurement.measurement import (
    KeptNodes,
    MeasuredOutput,
    MeasuredTensor,
    Measurement,
)
from trtlint.model.load import Model, load
from trtlint.report import document, measurepages
from trtlint.report.measureadvice import MeasurementAdvice
from trtlint.report.measurepages import page
from trtlint.report.page import block

CHAIN = """
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[1,4] x) => (float[1,4] y) {
        [first] a = Exp(x)
        [second] b = Sin(a)
        [third] c = Abs(b)
        [last] y = Neg(c)
    }
"""
ADVICE = MeasurementAdvice("keep these nodes", "trtexec --onnx=m.onnx")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """Return a chain of four operators."""
    file = tmp_path_factory.mktemp("chain") / "m.onnx"
    onnx.save(onnx.parser.parse_model(CHAIN), file)
    return load(file)


def site(node: str, greatest: float, fits: Range, **more: Any) -> MeasuredTensor:
    """Return a tensor with its range."""
    given = {"origin": False, "narrow": True, **more}
    return MeasuredTensor(node, "Exp", f"{node} out", greatest, None, None, fits, **given)


def output(name: str, *errors: float | None) -> MeasuredOutput:
    """Return an output with its error for each rounding scheme."""
    return MeasuredOutput(name, errors[0], band=Band(*errors) if len(errors) == 3 else None)


FOUND = Measurement(
    path="dir/m.onnx",
    digest="",
    files=("calib.npz",),
    inputs="",
    batches=2,
    type="fp16",
    typed=False,
    rehearsed=True,
    bound=0.01,
    sites=(
        site("first", 65504.0 * 16, "overflow", origin=True),
        site("second", 65504.0 / 4, "ok"),
        site("third", 2.0**-30, "underflow"),
    ),
    outputs=(output("y", 0.001, 0.5, 0.02), output("z", 0.001, 0.002, 0.003)),
    first=(),
    kept=KeptNodes(("first", "third"), 0.0012, 5, True, 40, 2, 0, ("third",)),
    limits=("Two inputs are few.", "Weights are sampled."),
    types=(TypeBand("bf16", Band(0.001, 0.002, 0.003)), TypeBand("tf32", Band(0.001, 0.02, 0.003))),
)


def shown(found: Measurement, model: Model, *advice: MeasurementAdvice) -> list[str]:
    """Return the lines of text of a page: its heading, and each paragraph, row, entry or caption."""
    html = document.html(page(found, model, advice))
    html = re.sub(r".*</style>|<svg.*?</svg>|<footer>.*", "", html, flags=re.DOTALL)
    html = re.sub(r"</t[dh]>", "|", html)
    lines = re.sub(r"</(?:p|h1|h2|tr|li|pre|figcaption|a)>", "\n", html).replace("<body>", "")
    texts = (re.sub(r"<[^>]+>", "", line).strip() for line in lines.splitlines())
    return [text for text in texts if text]


def section(found: Measurement, model: Model, title: str, *advice: MeasurementAdvice) -> list[str]:
    """Return the lines of text of a section; none if the page lacks the section."""
    titles = ["Error", "Types", "Ranges", "Keep in FP32", "Advice", "What this does not cover"]
    lines = shown(found, model, *advice)
    if title not in lines:
        return []
    rest = lines[lines.index(title) + 1 :]
    return rest[: next((at for at, line in enumerate(rest) if line in titles), len(rest))]


def test_a_page(model: Model, snapshot: SnapshotAssertion) -> None:
    assert body(document.html(page(FOUND, model, [ADVICE]))) == snapshot


@pytest.mark.parametrize("files", [("calib.npz",), ()])
def test_generated_inputs_prove_little(files: tuple[str, ...], model: Model) -> None:
    head = shown(replace(FOUND, files=files), model)
    head = head[: head.index("Error")]
    note = (
        "The inputs are generated, so the errors prove little; measure with real inputs: --inputs batch.npz"
    )
    assert head[-1] == ("Measured on 2 batches of calib.npz" if files else note)


def test_without_a_simulation(model: Model) -> None:
    found = replace(FOUND, rehearsed=False, outputs=(), kept=None, types=(), limits=())
    lines = shown(found, model)
    assert lines[1:4] == [
        "trtlint measure",
        "dir/m.onnx: FP16: outputs were not simulated",
        "Measured on 2 batches of calib.npz",
    ]
    assert lines[4] == "Ranges"
    assert not {"Error", "Types", "Keep in FP32", "Advice", "What this does not cover"} & set(lines)


@pytest.mark.parametrize(
    "kept", [None, KeptNodes(("first",), None, 1, True), KeptNodes(("first",), 0.1, 1, False)]
)
def test_no_set_of_nodes_to_keep(kept: KeptNodes | None, model: Model) -> None:
    words = (
        "The search found no set of nodes in FP32 that makes all outputs accurate enough, "
        "with the other nodes in FP16."
    )
    assert section(replace(FOUND, kept=kept), model, "Keep in FP32", ADVICE) == ([words] if kept else [])


def test_a_type_that_does_not_fit(model: Model) -> None:
    nodes = tuple(f"n{at}" for at in range(20))
    kept = KeptNodes(nodes, 0.001, 5, True, 30, 4, 3)
    assert section(replace(FOUND, kept=kept), model, "Keep in FP32", MeasurementAdvice("use BF16")) == [
        "FP16 is unsuitable for this model: 20 of its 30 nodes, and 3 of its 4 matrix products and "
        "convolutions, would have to stay in FP32.",
    ]
    found = replace(FOUND, kept=kept)
    assert section(found, model, "Advice", MeasurementAdvice("use BF16")) == ["Use BF16."]


@pytest.mark.parametrize(
    ("kept", "lines"),
    [
        (
            KeptNodes(("first",), 0.0012, 5, True),
            ["1 node; the worst output error is then 0.0012.", "first"],
        ),
        (
            KeptNodes(("first", "last"), 0.0012, 5, True, margin=("last",), complete=False),
            [
                "2 nodes; the worst output error is then 0.0012.",
                "The search reached its limit; use --thorough to continue.",
                "first",
                "last (for margin)",
                "Each node marked (for margin) is optional: if you remove any one of these nodes from the "
                "list, the error stays under the bound.",
            ],
        ),
    ],
)
def test_nodes_to_keep(kept: KeptNodes, lines: list[str], model: Model) -> None:
    caption = "The nodes to keep in FP32, with their producers and readers"
    advice = (ADVICE, MeasurementAdvice("or else use BF16"))
    found = replace(FOUND, kept=kept)
    assert section(found, model, "Keep in FP32", *advice) == [*lines, caption]
    assert section(found, model, "Advice", *advice) == [
        "Keep these nodes:",
        "trtexec --onnx=m.onnx",
        "Or else use BF16.",
    ]


def test_nodes_that_the_model_lacks_are_not_drawn(model: Model) -> None:
    found = replace(FOUND, kept=KeptNodes(("gone",), 0.0012, 5, True))
    assert section(found, model, "Keep in FP32") == ["1 node; the worst output error is then 0.0012.", "gone"]


@pytest.mark.parametrize(("most", "more"), [(2, []), (1, ["and 1 more"])])
def test_nodes_beyond_the_limit_are_counted(
    most: int, more: list[str], model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document, "ROWS", most)
    lines = section(replace(FOUND, kept=KeptNodes(("first", "last"), 0.1, 5, True)), model, "Keep in FP32")
    assert lines[1:-1] == [*["first", "last"][:most], *more]


def test_the_limits_of_lists(model: Model) -> None:
    nodes = tuple(f"n{at}" for at in range(401))
    outputs = tuple(output(f"y{at}", 0.001) for at in range(401))
    sites = tuple(site(f"n{at}", 1.0 + at, "ok") for at in range(25))
    found = replace(FOUND, kept=KeptNodes(nodes, 0.1, 5, True, 2000), outputs=outputs, sites=sites)
    assert section(found, model, "Keep in FP32")[1:] == [*nodes[:400], "and 1 more"]
    assert section(found, model, "Error")[-1] == "and 1 more output with smaller errors"
    assert len(section(found, model, "Ranges")) == 3 + 24
    exact = replace(found, kept=KeptNodes(nodes[:400], 0.1, 5, True, 2000), outputs=outputs[:400])
    assert section(exact, model, "Keep in FP32")[1:] == [*nodes[:400]]
    assert "more" not in section(exact, model, "Error")[-1]


def test_nodes_that_are_not_drawn_are_counted(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block, "MOST_MARKED", 1)
    found = replace(FOUND, kept=KeptNodes(("first", "last"), 0.1, 5, True))
    assert section(found, model, "Keep in FP32")[-1] == (
        "The nodes to keep in FP32, with their producers and readers; not drawn: 1 more node"
    )


@pytest.mark.parametrize(
    ("most", "last"), [(2, "z|0.001 to 0.003|"), (1, "and 1 more output with smaller errors")]
)
def test_outputs_beyond_the_limit_are_counted(
    most: int, last: str, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measurepages, "_OUTPUTS", most)
    assert section(FOUND, model, "Error")[-1] == last


def test_no_errors_of_outputs_that_were_not_simulated(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurepages, "_OUTPUTS", 1)
    assert section(replace(FOUND, rehearsed=False), model, "Error") == []


def test_ranges_of_tf32_are_not_shown(model: Model) -> None:
    assert section(replace(FOUND, type="tf32"), model, "Ranges") == []
    assert section(replace(FOUND, sites=()), model, "Ranges") == []


def test_only_the_tensors_nearest_to_the_limit(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurepages, "_SITES", 2)
    assert section(FOUND, model, "Ranges")[2:] == [
        "Node|Operator|Greatest magnitude|Distance|",
        "first|Exp|1,048,064|overflow begins here|",
        "second|Exp|16,376|2.0 powers of two left|",
    ]


@pytest.mark.parametrize(
    ("powers", "fits", "bar"),
    [
        # Left edge, width and colour. A power of two is 7 pixels wide, and the middle is at 112.
        (0.0, "ok", ("112", "1", "#1c6b3c")),
        (0.125, "overflow", ("112", "1", "#b3261e")),
        (3.0, "overflow", ("112", "21", "#b3261e")),
        (16.0, "overflow", ("112", "112", "#b3261e")),
        (17.0, "overflow", ("112", "112", "#b3261e")),
        (-0.125, "ok", ("111", "1", "#1c6b3c")),
        (-3.0, "ok", ("91", "21", "#1c6b3c")),
        (-17.0, "underflow", ("0", "112", "#8a5200")),
    ],
)
def test_bars_of_ranges(powers: float, fits: Range, bar: tuple[str, str, str]) -> None:
    svg = ElementTree.fromstring(str(measurepages._bar(site("n", 65504.0 * 2**powers, fits), FP16)))
    ground, drawn, middle = svg.iter("rect")
    assert (drawn.get("x"), drawn.get("width"), drawn.get("fill")) == bar
    assert (ground.attrib, middle.attrib) == (
        {"x": "0", "width": "224.0", "fill": "#c3cad6", "fill-opacity": "0.3", "height": "12.0", "y": "0"},
        {"x": "111.5", "width": "1", "fill": "#6b7588", "height": "12.0", "y": "0"},
    )
    assert svg.attrib == {"role": "img", "width": "224.0", "height": "12.0", "viewBox": "0 0 224 12"}


def test_the_limit_of_a_bar_is_that_of_the_type() -> None:
    svg = str(measurepages._bar(site("n", BF16.largest / 8, "ok"), BF16))
    assert "<title>3.0 powers of two left</title>" in svg
