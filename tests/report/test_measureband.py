"""Tests of sentences about measurement errors."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from trtlint.measurement.band import Band, BuildBand, TypeBand
from trtlint.measurement.measurement import MeasuredOutput, Measurement
from trtlint.report.measureband import (
    TypeLine,
    band_words,
    bearing,
    output_words,
    type_lines,
    verdict_words,
    way_lines,
    worst_outputs,
)

GOOD, EDGE, BAD = 0.001, 0.01, 0.02
BUILD = BuildBand("layers.json", 1234, 2000, GOOD, BAD)


def output(name: str, *errors: float | None, finite: bool = True, trivial: str = "") -> MeasuredOutput:
    """Return an output with its error for each rounding scheme, or with one error."""
    band = Band(*errors) if len(errors) == 3 else None
    return MeasuredOutput(name, errors[0], finite=finite, band=band, trivial=trivial)


def measurement(*outputs: MeasuredOutput, type_: str = "fp16", **more: Any) -> Measurement:
    """Return a measurement."""
    return Measurement("m.onnx", "", (), "", 1, type_, False, True, EDGE, (), outputs, (), None, (), **more)


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        ([], "not finite"),
        ([None, None], "not finite"),
        ([0.00037, 0.41234], "0.00037 to 0.41"),
        ([0.41234, 0.00037, 0.1], "0.00037 to 0.41"),
        ([0.1, None], "0.1 to not finite"),
        ([0.1234, 0.1231], "0.12"),
        ([0.0], "0"),
    ],
)
def test_spans_of_errors(errors: list[float | None], words: str) -> None:
    assert band_words(errors) == words


def test_the_worst_outputs() -> None:
    found = measurement(
        output("small", 0.1),
        output("infinite", None),
        output("nan in FP32", 0.9, finite=False),
        output("large", 0.01, 0.5, 0.02),
        output("smallest", 0.05),
    )
    for most, names in (
        (1, ["infinite"]),
        (2, ["infinite", "large"]),
        (3, ["small", "infinite", "large"]),
        (4, ["small", "infinite", "large", "smallest"]),
        (9, ["small", "infinite", "nan in FP32", "large", "smallest"]),
    ):
        assert [each.name for each in worst_outputs(found, most)] == names


WAYS = ("every operator rounds", "only products and model outputs are rounded")


def test_the_error_of_each_rounding_model() -> None:
    lines = way_lines(measurement(output("a", EDGE, GOOD, None), output("b", GOOD, GOOD, BAD)))
    assert [(line.name, line.error, line.verdict) for line in lines] == [
        (WAYS[0], "0.01", "fine"),
        (WAYS[1], "0.001", "fine"),
        ("products accumulate in FP16", "not finite", "broken"),
    ]


def test_the_error_of_a_build() -> None:
    lines = way_lines(measurement(output("a", BAD, GOOD, BAD), build=BUILD))
    assert [(line.name, line.error, line.verdict) for line in lines[3:]] == [
        ("fused as in the 1,234 layers of layers.json", "0.001", "fine"),
        ("fused as in these layers, and products accumulate in FP16", "0.02", "broken"),
    ]
    lines = way_lines(measurement(output("a", BAD, GOOD, BAD), type_="bf16", build=BUILD))
    assert [line.name for line in lines] == [*WAYS, "fused as in the 1,234 layers of layers.json"]
    assert way_lines(measurement(output("a", BAD, GOOD, BAD), type_="tf32")) == []
    assert way_lines(measurement(output("a", BAD))) == []


@pytest.mark.parametrize(
    ("errors", "build", "words"),
    [
        ((GOOD, GOOD, GOOD), None, "fine"),
        ((GOOD,), None, "fine"),
        ((BAD, BAD, None), None, "broken"),
        ((GOOD, BAD, GOOD), BuildBand("a.json", 1, 1, GOOD, GOOD), "fine in a.json"),
        ((GOOD, BAD, GOOD), BuildBand("a.json", 1, 1, None, BAD), "broken in a.json"),
        (
            (GOOD, GOOD, GOOD),
            BUILD,
            "depends on the build: the result depends on whether products accumulate in FP16; "
            "layers.json does not show this",
        ),
        (
            (GOOD, GOOD, BAD),
            None,
            "depends on the build: if kernels accumulate in FP16, the error exceeds the bound; "
            "otherwise it does not",
        ),
        (
            (BAD, GOOD, BAD),
            None,
            "depends on the build: within tolerance only if the builder fuses all operators that are between "
            "two products",
        ),
        (
            (GOOD, BAD, GOOD),
            None,
            "depends on the build: the error exceeds the bound with fused kernels, but not without fusion",
        ),
    ],
)
def test_the_verdict(errors: tuple[float | None, ...], build: BuildBand | None, words: str) -> None:
    assert verdict_words(measurement(output("a", *errors), build=build)) == words


def test_no_verdict() -> None:
    infinite = measurement(output("a", GOOD, finite=False))
    assert verdict_words(infinite) == "not proven: no output can be compared"
    assert verdict_words(replace(infinite, rehearsed=False)) == ""
    trivial = measurement(output("a", GOOD, trivial="always 0"))
    assert verdict_words(trivial) == "not proven: output a is always 0"
    one, other = measurement(output("a", GOOD), output("b", BAD)), measurement(output("b", None))
    assert (verdict_words(one), verdict_words(other)) == ("depends on the build", "broken")


def test_words_about_an_output() -> None:
    found = measurement()
    assert output_words(output("a", GOOD, BAD, None), found) == "0.001 to not finite"
    assert output_words(output("a", GOOD, finite=False), found) == "infinity or NaN already in FP32"
    assert output_words(output("a", GOOD, trivial="always 0"), found) == "always 0, which proves nothing"
    assert output_words(output("a", BAD, trivial="always 0"), found) == "0.02"


def test_all_types() -> None:
    others = (TypeBand("bf16", Band(GOOD, BAD, GOOD)), TypeBand("tf32", Band(GOOD, GOOD, GOOD)))
    lines = type_lines(measurement(output("a", BAD, None, BAD), types=others))
    assert lines == [
        TypeLine("FP16", ("0.02", "not finite", "0.02"), "broken"),
        TypeLine("BF16", ("0.001", "0.02", "0.001"), "depends"),
        TypeLine("TF32", ("0.001", "0.001", "0.001"), "fine"),
    ]
    assert bearing(lines) == "types within tolerance: TF32"
    assert bearing([*lines, *lines]) == "types within tolerance: TF32, TF32"
    assert bearing(lines[:2]) == "none of these types is within tolerance"
    assert type_lines(measurement(output("a", BAD, None, BAD))) == []
    assert type_lines(measurement(output("a", BAD), types=others)) == []
