"""The most important tensors of a measurement."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from trtlint.measurement.formats import FP16, Range
from trtlint.measurement.measurement import Closer, InternalValue, MeasuredOutput, MeasuredTensor, Measurement
from trtlint.report.measureband import remark, worst_sites


def site(node: str = "n", greatest: float | None = 1.0, fits: Range = "ok", **more: Any) -> MeasuredTensor:
    """Return a tensor with its range."""
    given = {"origin": False, "narrow": True, **more}
    return MeasuredTensor(node, "Exp", f"{node} out", greatest, None, None, fits, **given)


def measurement(*sites: MeasuredTensor) -> Measurement:
    """Return a measurement of these tensors."""
    return Measurement("m.onnx", "", (), "", 2, "fp16", False, False, 0.1, sites, (), (), None, ())


def test_tensors_at_which_an_overflow_starts_are_first() -> None:
    sites = (
        site("low", 1.0),
        site("high", 9.0),
        site("inner", 2.0, inside=(InternalValue("square", 50.0),)),
        site("first", 3.0, origin=True),
        site("second", 4.0, origin=True),
    )
    found = [each.node for each in worst_sites(measurement(*sites))]
    assert found == ["second", "first", "inner", "high", "low"]


@pytest.mark.parametrize(
    "left_out",
    [site(""), site(narrow=False), replace(site(), op="Constant", node="c"), site(greatest=0.0)],
    ids=["no node", "FP32", "constant", "zero"],
)
def test_tensors_that_are_not_shown(left_out: MeasuredTensor) -> None:
    assert worst_sites(measurement(left_out, site("shown", 0.5))) == [site("shown", 0.5)]


def test_an_input_at_which_an_overflow_starts_is_shown() -> None:
    given = site("", 7e4, "overflow", origin=True)
    assert worst_sites(measurement(site("n", 9e4), given)) == [given, site("n", 9e4)]


def test_a_stored_tensor_beyond_the_range_is_shown_if_an_output_is_wrong() -> None:
    stored = replace(site("", 7e4, "overflow"), op="Constant")
    for error, shown in ((1.0, [stored]), (0.0, [])):
        found = replace(measurement(stored), rehearsed=True, outputs=(MeasuredOutput("y", error),))
        assert worst_sites(found) == shown


def test_the_number_of_tensors() -> None:
    sites = tuple(site(f"n{at}", 100.0 - at) for at in range(8))
    found = measurement(*sites)
    assert worst_sites(found) == list(sites[:5])
    assert worst_sites(found, 2) == list(sites[:2])
    assert worst_sites(measurement()) == []


BEYOND = Closer(1.0, 0.125, 0.5)


@pytest.mark.parametrize(
    ("tensor", "words"),
    [
        (site(greatest=FP16.largest / 4), "2.0 powers of two left"),
        (site(greatest=2.0**-30, fits="underflow"), "46.0 powers of two left"),
        (site(greatest=1e6, fits="overflow"), "beyond the range"),
        (site(greatest=1e6, fits="overflow", origin=True), "overflow begins here"),
        (site(greatest=1e6, fits="overflow", closer=BEYOND), "12.50% of the elements overflow"),
        (site(greatest=1e6, fits="overflow", closer=replace(BEYOND, beyond=0.0)), "beyond the range"),
        (
            site(greatest=1e6, fits="overflow", closer=BEYOND, origin=True),
            "12.50% of the elements overflow, overflow begins here",
        ),
        (
            site(greatest=1.0, inside=(InternalValue("sum", 3.0), InternalValue("square", FP16.largest / 8))),
            "square inside, 3.0 powers of two left",
        ),
        (site(greatest=FP16.largest / 2, inside=(InternalValue("sum", 5.0),)), "1.0 powers of two left"),
        (site(greatest=4.0, inside=(InternalValue("sum", 4.0),)), "14.0 powers of two left"),
        (
            site(
                greatest=FP16.largest,
                fits="overflow",
                inside=(InternalValue("sum", 1e6), InternalValue("square", None)),
            ),
            "sum inside, beyond the range",
        ),
        (
            site(greatest=None, fits="overflow", inside=(InternalValue("sum", 0.5),)),
            "sum inside, beyond the range",
        ),
        (site(greatest=None, fits="overflow", inside=(InternalValue("sum", None),)), "beyond the range"),
        (site(greatest=40_000.0), "0.7 powers of two left"),
        (site(greatest=65_519.0), "0.0 powers of two left"),
    ],
)
def test_remarks(tensor: MeasuredTensor, words: str) -> None:
    assert remark(tensor, FP16) == words
