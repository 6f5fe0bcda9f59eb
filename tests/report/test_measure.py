"""Tests of measurement reports as text and Markdown, line by line."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.report.screen import stream
from tests.report.test_measurepages import ADVICE, FOUND, output, site
from trtlint.measurement.formats import BF16, FP16
from trtlint.measurement.measurement import KeptNodes, MeasuredOutput, Measurement
from trtlint.model.load import empty_model
from trtlint.report import document, measure
from trtlint.report.measure import MeasureReport, bar
from trtlint.report.measureadvice import MeasurementAdvice
from trtlint.report.measurepages import page


def figures(found: Measurement, sources: dict[str, str] | None = None, width: int | None = None) -> list[str]:
    """Return the lines about errors and ranges."""
    with stream(width) as file:
        MeasureReport(file).figures(found, sources or {})
    return file.getvalue().splitlines()


def advised(found: Measurement, *advice: MeasurementAdvice, written: str | None = None) -> list[str]:
    """Return the lines of advice."""
    file = io.StringIO()
    MeasureReport(file).advice(found, advice, written)
    return file.getvalue().splitlines()


def part(lines: list[str], first: str, last: str = "") -> list[str]:
    """Return the lines from the one that begins with a text until the next one that equals another text."""
    start = next(at for at, line in enumerate(lines) if line.startswith(first))
    return lines[start : lines.index(last, start)]


def test_figures() -> None:
    assert figures(FOUND, {"second": "net.py:3"}) == [
        "dir/m.onnx: FP16 on 2 batches of calib.npz",
        "",
        "FP16: depends on the build: if kernels accumulate in FP16, the error exceeds the bound; otherwise "
        "it does not",
        "output y: error 0.001 to 0.5, on both sides of the bound of 0.01",
        "output z: error 0.001 to 0.003, under the bound of 0.01",
        "  every operator rounds                        0.001",
        "  only products and model outputs are rounded  0.5",
        "  products accumulate in FP16                  0.02",
        "",
        "  type       rounded       fused  accumulated",
        "  FP16         0.001         0.5         0.02  depends on the build",
        "  BF16         0.001       0.002        0.003  fine",
        "  TF32         0.001        0.02        0.003  depends on the build",
        "  types within tolerance: BF16",
        "",
        "tensors closest to the largest value of FP16, 65,504; each cell of a bar is a power of two:",
        "  first   Exp  1,048,064  !!!!············  overflow begins here",
        "  second  Exp     16,376  ██··············  2.0 powers of two left",
        "      net.py:3",
        "  third   Exp    9.3e-10  ████████████████  46.0 powers of two left",
        "",
    ]


def test_a_command_is_one_line_on_a_narrow_terminal() -> None:
    command = f"trtlint fix {'m' * 80}.onnx --ranges ranges.json"
    with stream(60) as file:
        MeasureReport(file).advice(FOUND, [MeasurementAdvice("run this", command)], None)
    assert f"  {command}\n" in file.getvalue()


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (("a.npz",), "FP16 on 1 batch of a.npz"),
        (("a.npz", "dir/b.npz"), "FP16 on 1 batch of a.npz, dir/b.npz"),
        ((), "FP16 on 1 batch, generated"),
    ],
)
def test_the_inputs_are_named(files: tuple[str, ...], words: str) -> None:
    warning = (
        "warning: the inputs are generated, so the errors prove little; measure with real inputs: "
        "--inputs batch.npz"
    )
    lines = figures(replace(FOUND, files=files, batches=1))
    assert lines[: lines.index("")] == [f"dir/m.onnx: {words}", *([] if files else [warning])]


def test_without_a_simulation_only_ranges_are_shown() -> None:
    lines = figures(replace(FOUND, rehearsed=False))
    assert lines[2].startswith("tensors closest to the largest value of FP16")
    assert figures(replace(FOUND, rehearsed=False, sites=()))[1:] == [""]
    assert "closest" not in "".join(figures(replace(FOUND, type="tf32")))


def test_several_outputs_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = replace(FOUND, types=())
    first, second = figures(bare)[3:5]
    monkeypatch.setattr(measure, "_OUTPUTS", 2)
    assert part(figures(bare), "output")[:2] == [first, second]
    monkeypatch.setattr(measure, "_OUTPUTS", 1)
    assert part(figures(bare), "output")[:2] == [
        first,
        "and 1 more output with smaller errors; --output json:FILE lists all outputs",
    ]


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (output("y", 0.001), "error 0.001, under the bound of 0.01"),
        (output("y", 0.01), "error 0.01, under the bound of 0.01"),
        (output("y", 0.02), "error 0.02, over the bound of 0.01"),
        (output("y", 0.02, 0.3, 0.1), "error 0.02 to 0.3, over the bound of 0.01"),
        (output("y", None), "not finite in FP16"),
        (output("y", None, None, None), "not finite in FP16"),
        (
            MeasuredOutput("y", 0.01, unclamped=0.5),
            "error 0.01, under the bound of 0.01; 0.5 if constants outside the range become infinite",
        ),
        (MeasuredOutput("y", 0.001, unclamped=0.01), "error 0.001, under the bound of 0.01"),
        (MeasuredOutput("y", 0.02, unclamped=0.5), "error 0.02, over the bound of 0.01"),
    ],
)
def test_errors_of_an_output(one: MeasuredOutput, words: str) -> None:
    lines = figures(replace(FOUND, outputs=(one,), types=()))
    assert [line for line in lines if line.startswith("output")] == [f"output y: {words}"]


NOTE = "note: some values are outside the range of FP16, but all outputs are within tolerance"
SMALL = replace(FOUND, outputs=(output("y", 0.001, 0.001, 0.001),))


@pytest.mark.parametrize(
    ("found", "harmless"),
    [
        (SMALL, True),
        (FOUND, False),
        (replace(SMALL, sites=FOUND.sites[1:]), False),
        (replace(SMALL, sites=(replace(FOUND.sites[0], op="Constant"),)), False),
    ],
)
def test_values_outside_the_range_may_be_harmless(found: Measurement, harmless: bool) -> None:
    assert (NOTE in figures(found)) is harmless


def test_names_of_nodes_are_shortened_for_a_terminal() -> None:
    long = replace(FOUND, sites=(site("/model/" + "x/" * 30 + "Exp", 1.0, "ok"), site("n", 0.5, "ok")))
    assert part(figures(long), "tensors closest")[1].split() == [
        *(long.sites[0].node, "Exp", "1", "███████████████·", "16.0", "powers", "of", "two", "left"),
    ]
    name = part(figures(long, width=200), "tensors closest")[1].split()[0]
    assert (len(name), name[-4:], name[:7]) == (48, "/Exp", "/model/")


@pytest.mark.parametrize(
    ("greatest", "drawn"),
    [
        (65504.0, "·" * 16),
        (65504.0 / 1.99, "·" * 16),
        (65504.0 / 2, "█" + "·" * 15),
        (65504.0 / 2**15, "█" * 15 + "·"),
        (65504.0 / 2**16, "█" * 16),
        (65504.0 / 2**20, "█" * 16),
        (65519.0, "·" * 16),
        (65520.0, "!" + "·" * 15),
        (65504.0 * 2, "!" + "·" * 15),
        (65504.0 * 4, "!!" + "·" * 14),
        (65504.0 * 2**20, "!" * 16),
    ],
)
def test_bars(greatest: float, drawn: str) -> None:
    assert bar(greatest, FP16) == drawn


def test_the_bar_of_bf16() -> None:
    assert bar(BF16.largest / 8, BF16) == "███" + "·" * 13


NO_SET = (
    "the search found no set of nodes in FP32 that makes all outputs accurate enough, "
    "with the other nodes in FP16"
)
MISFIT = KeptNodes(tuple(f"n{at}" for at in range(20)), 0.001, 5, True, 30, 0, 0)
LIMITS = ["= note: Two inputs are few.", "= note: Weights are sampled."]


@pytest.mark.parametrize(
    ("kept", "lines"),
    [
        (None, []),
        (KeptNodes(("a",), None, 1, True), [f"keep in FP32: {NO_SET}", ""]),
        (KeptNodes(("a",), 0.1, 1, False), [f"keep in FP32: {NO_SET}", ""]),
        (
            MISFIT,
            ["FP16 is unsuitable for this model: 20 of its 30 nodes would have to stay in FP32", ""],
        ),
        (
            KeptNodes(("a", "b"), 0.00123, 1, True, margin=("b",), complete=False),
            [
                "keep in FP32: 2 nodes, found and verified in 1 run; the worst output error is then 0.0012",
                "  a",
                "  b  (for margin)",
                "note: each node marked (for margin) is optional: if you remove any one of these "
                "nodes from the list, the error stays under the bound",
                "note: the search reached its limit; use --thorough to continue",
                "",
            ],
        ),
        (
            KeptNodes(("a",), 0.5, 2, True),
            [
                "keep in FP32: 1 node, found and verified in 2 runs; the worst output error is then 0.5",
                "  a",
                "",
            ],
        ),
    ],
)
def test_nodes_to_keep(kept: KeptNodes | None, lines: list[str]) -> None:
    assert advised(replace(FOUND, kept=kept)) == [*lines, *LIMITS]


@pytest.mark.parametrize(
    ("most", "more"), [(2, []), (1, ["  and 1 more node; --output json:FILE lists all nodes"])]
)
def test_nodes_beyond_the_limit_are_counted(
    most: int, more: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "_KEPT", most)
    kept = KeptNodes(("a", "b"), 0.5, 2, True)
    assert advised(replace(FOUND, kept=kept))[1:-3] == [*["  a", "  b"][:most], *more]


def test_advice() -> None:
    bare = replace(FOUND, kept=None, limits=())
    assert advised(bare) == []
    assert advised(bare, written="r.json") == ["= written: r.json"]
    assert advised(bare, ADVICE, MeasurementAdvice("use BF16"), written="r.json") == [
        "= help: keep these nodes",
        "  trtexec --onnx=m.onnx",
        "= help: use BF16",
        "",
        "= written: r.json",
    ]


def markdown(found: Measurement, *advice: MeasurementAdvice) -> list[str]:
    """Return the lines of Markdown, without the escapes of characters."""
    text = re.sub(
        r"&#(\d+);", lambda match: chr(int(match[1])), document.markdown(page(found, MODEL, advice))
    )
    return [line for line in text.splitlines() if line]


HEAD = "## dir/m.onnx: FP16: "
MODEL = empty_model(Path("m.onnx"))


def test_markdown() -> None:
    assert markdown(FOUND, ADVICE, MeasurementAdvice("use BF16")) == [
        f"{HEAD}depends on the build: if kernels accumulate in FP16, the error exceeds the bound; otherwise "
        "it does not",
        "Measured on 2 batches of calib.npz",
        "### Error",
        "Largest output error under each assumption about rounding, relative to the largest magnitude of "
        "the output; accepted up to 0.01.",
        "| Rounding | Error | Verdict |",
        "|---|---|---|",
        "| every operator rounds | 0.001 | fine |",
        "| only products and model outputs are rounded | 0.5 | broken |",
        "| products accumulate in FP16 | 0.02 | broken |",
        "| Output | Error |",
        "|---|---|",
        "| `y` | 0.001 to 0.5 |",
        "| `z` | 0.001 to 0.003 |",
        "### Types",
        "types within tolerance: BF16",
        "| Type | Every operator rounds | Fused | FP16 accumulators | Verdict |",
        "|---|---|---|---|---|",
        "| FP16 | 0.001 | 0.5 | 0.02 | depends on the build |",
        "| BF16 | 0.001 | 0.002 | 0.003 | fine |",
        "| TF32 | 0.001 | 0.02 | 0.003 | depends on the build |",
        "### Ranges",
        "Tensors closest to the largest value of FP16, 65,504.",
        "| Node | Operator | Greatest magnitude | Distance |",
        "|---|---|---|---|",
        "| `first` | Exp | 1,048,064 | overflow begins here |",
        "| `second` | Exp | 16,376 | 2.0 powers of two left |",
        "| `third` | Exp | 9.3e-10 | 46.0 powers of two left |",
        "### Keep in FP32",
        "2 nodes; the worst output error is then 0.0012.",
        "* `first`",
        "* `third` (for margin)",
        "Each node marked (for margin) is optional: if you remove any one of these nodes from the list, the "
        "error stays under the bound.",
        "### Advice",
        "Keep these nodes:",
        "```console",
        "trtexec --onnx=m.onnx",
        "```",
        "Use BF16.",
        "### What this does not cover",
        "* Two inputs are few.",
        "* Weights are sampled.",
    ]


@pytest.mark.parametrize(
    ("kept", "lines"),
    [
        (None, []),
        (KeptNodes(("a",), None, 1, True), ["### Keep in FP32", f"T{NO_SET[1:]}."]),
        (KeptNodes(("a",), 0.1, 1, False), ["### Keep in FP32", f"T{NO_SET[1:]}."]),
        (
            MISFIT,
            [
                "### Keep in FP32",
                "FP16 is unsuitable for this model: 20 of its 30 nodes would have to stay in FP32.",
            ],
        ),
        (
            KeptNodes(("a",), 0.5, 1, True, complete=False),
            [
                "### Keep in FP32",
                "1 node; the worst output error is then 0.5.",
                "The search reached its limit; use --thorough to continue.",
                "* `a`",
            ],
        ),
    ],
)
def test_nodes_to_keep_in_markdown(kept: KeptNodes | None, lines: Sequence[str]) -> None:
    bare: dict[str, Any] = {"rehearsed": False, "outputs": (), "types": (), "sites": (), "limits": ()}
    found = markdown(replace(FOUND, kept=kept, **bare))
    expected = [f"{HEAD}outputs were not simulated", "Measured on 2 batches of calib.npz", *lines]
    assert found == expected
