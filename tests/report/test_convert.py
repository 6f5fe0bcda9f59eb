"""The text report of a conversion, line by line."""

from __future__ import annotations

import io
from typing import Any

import pytest

from trtlint.conversion.result import (
    Conversion,
    ConversionCheck,
    InsertedCast,
    KeptOperator,
    TensorOutOfRange,
)
from trtlint.report.convert import ConvertReport

PROVEN = ConversionCheck("checker", "proven", "valid")
UNPROVEN = ConversionCheck("parser", "unproven", "not run")
FAILED = ConversionCheck("builder", "failed", "the build stopped")
BASE = {"operators": 1200, "narrow": 1198, "proofs": (PROVEN,), "command": "trtexec --onnx=out.onnx"}
HEAD = "dir/m.onnx: 1,198 of 1,200 operators in FP16"
END = ["written: out.onnx", "build it with", "  trtexec --onnx=out.onnx"]


def shown(**more: Any) -> list[str]:
    """Return the lines of the report."""
    out = io.StringIO()
    given: dict[str, Any] = {"output": "out.onnx", **BASE, **more}
    ConvertReport(out).add(Conversion(path="dir/m.onnx", type="fp16", io="fp32", **given))
    return out.getvalue().splitlines()


def middle(**more: Any) -> list[str]:
    """Return the lines between the counts of Casts and the checks."""
    lines = shown(**more)
    return lines[lines.index("") + 1 : lines.index("checker: proven: valid") - 1]


def kept(count: int, reason: str = "overflows") -> tuple[KeptOperator, ...]:
    """Return operators in FP32 with the same reason."""
    return tuple(KeptOperator(f"/{at}", "Exp", reason) for at in range(count))


def casts(count: int) -> tuple[InsertedCast, ...]:
    """Return Casts inside the model."""
    return tuple(InsertedCast(f"t{at}", "fp32", "its reader is kept", inside=True) for at in range(count))


def test_a_whole_report() -> None:
    assert shown(
        share=0.98765,
        kept=kept(1),
        casts=(InsertedCast("x", "fp16", "input of the model", inside=False), *casts(1)),
        stored=(
            TensorOutOfRange("w", "clamped", "3 of 9 numbers"),
            TensorOutOfRange("v", "vanishing", "2 of 9 numbers"),
        ),
        rewrites=("moved a Clip", "split a Pow"),
        opset=(13, 17),
        size=(2000, 1050),
        proofs=(PROVEN, UNPROVEN),
        notes=("one note", "another"),
        advice="use BF16",
    ) == [
        f"{HEAD}, 98.8% of the FLOPs of matrix products and convolutions",
        "",
        "FP32: 1 operator: overflows: /0",
        "Casts: 2 (1 inside the model)",
        "  t0 to FP32: its reader is kept",
        "stored: w (clamped): 3 of 9 numbers",
        "stored: v (few digits): 2 of 9 numbers",
        "rewrite: moved a Clip",
        "rewrite: split a Pow",
        "opset: 13 raised to 17",
        "size: 2,000 bytes before, 1,050 after",
        "",
        "checker: proven: valid",
        "parser: unproven: not run",
        "note: one note",
        "note: another",
        "= help: use BF16",
        "",
        "written: out.onnx, not proven",
        *END[1:],
    ]


def test_the_shortest_report() -> None:
    assert shown() == [HEAD, "", "Casts: 0 (0 inside the model)", "", "checker: proven: valid", "", *END]
    assert shown(output="")[-3:] == ["", *END[1:]]


def test_a_model_without_changes() -> None:
    assert shown(unchanged="all operators compute in FP16") == [
        "dir/m.onnx: nothing to convert: all operators compute in FP16"
    ]


def test_a_failed_check() -> None:
    assert shown(proofs=(PROVEN, FAILED, UNPROVEN))[4:] == [
        "checker: proven: valid",
        "builder: failed: the build stopped",
        "parser: unproven: not run",
        "",
        "no model was written, because a check failed",
    ]


@pytest.mark.parametrize(
    ("more", "lines"),
    [
        ({"share": 0.0}, []),
        ({"opset": (17, 17), "size": (5, 0)}, []),
        ({"opset": (0, 17)}, ["opset: 0 raised to 17"]),
        ({"size": (0, 1)}, ["size: 0 bytes before, 1 after"]),
        ({"stored": (TensorOutOfRange("w", "kept", "large"),)}, ["stored: w (FP32): large"]),
        ({"stored": (TensorOutOfRange("w", "other", "large"),)}, ["stored: w (other): large"]),
    ],
)
def test_optional_lines(more: dict[str, Any], lines: list[str]) -> None:
    assert middle(**more) == ["Casts: 0 (0 inside the model)", *lines]


def test_no_share_of_products() -> None:
    assert shown(share=0.0)[0] == f"{HEAD}, 0.0% of the FLOPs of matrix products and convolutions"


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (2, "2 operators: overflows: /0, /1"),
        (3, "3 operators: overflows: /0, /1, /2"),
        (4, "4 operators: overflows: /0, /1, /2 and 1 more"),
        (6, "6 operators: overflows: /0, /1, /2 and 3 more"),
    ],
)
def test_operators_with_the_same_reason_share_a_line(count: int, words: str) -> None:
    assert middle(kept=kept(count)) == [f"FP32: {words}", "Casts: 0 (0 inside the model)"]


def test_the_most_frequent_reason_is_first() -> None:
    assert middle(kept=(*kept(1, "rare"), *kept(2, "frequent")))[:2] == [
        "FP32: 2 operators: frequent: /0, /1",
        "FP32: 1 operator: rare: /0",
    ]


@pytest.mark.parametrize("more", [0, 1, 2])
def test_lists_end_after_eight_entries(more: int) -> None:
    count = 8 + more
    found = middle(
        kept=tuple(KeptOperator("/a", "Exp", f"reason {at}") for at in range(count)),
        casts=casts(count),
        stored=tuple(TensorOutOfRange(f"w{at}", "kept", "large") for at in range(count)),
    )
    cut = bool(more)
    assert found == [
        *(f"FP32: 1 operator: reason {at}: /a" for at in range(8)),
        *[f"  and {more} more reason{'s' * (more != 1)}; --format json lists all reasons"] * cut,
        f"Casts: {count} ({count} inside the model)",
        *(f"  t{at} to FP32: its reader is kept" for at in range(8)),
        *[f"  and {more} more"] * cut,
        *(f"stored: w{at} (FP32): large" for at in range(8)),
        *[f"  and {more} more stored tensor{'s' * (more != 1)}"] * cut,
    ]
