"""Tests of the inputs and outputs that can have a low-precision type."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from trtlint.measurement.formats import BF16, FORMATS, FP16, TF32, Format
from trtlint.measurement.ports import narrow_ports, port_at


@pytest.mark.parametrize(
    ("op", "opset", "inputs", "outputs"),
    [
        ("Add", 7, [True, True], [True]),
        ("Resize", 13, [True, True, False, False], [True]),
        ("Concat", 13, [True, True, True, True], [True]),
        ("Gather", 13, [True, False], [True]),
        ("Shape", 13, [True], [False]),
        ("Split", 13, [True, False], [True, True, True]),
        ("Nothing", 13, [True, True], [True]),
    ],
)
def test_ports_in_a_narrow_type(op: str, opset: int, inputs: list[bool], outputs: list[bool]) -> None:
    for format_ in (FP16, BF16):
        found = narrow_ports(op, "", opset, format_)
        assert [port_at(found[0], port) for port in range(len(inputs))] == inputs
        assert [port_at(found[1], port) for port in range(len(outputs))] == outputs


def test_statistics_of_a_norm_are_not_in_fp16() -> None:
    """ONNX allows FP32 and BF16 for them."""
    for format_, allowed in ((FP16, False), (TF32, False), (BF16, True)):
        _, outputs = narrow_ports("LayerNormalization", "", 17, format_)
        assert outputs == (True, allowed, allowed)


def test_operators_of_other_domains_have_any_type() -> None:
    assert narrow_ports("Resize", "own", 13, FP16) == ((True,), (True,))


@pytest.mark.parametrize(
    ("ports", "port", "found"),
    [([], 0, False), ([True], 0, True), ([True, False], 0, True), ([True, False], 5, False)],
)
def test_the_last_port_is_for_all_others(ports: list[bool], port: int, found: bool) -> None:
    assert port_at(ports, port) is found


@pytest.mark.parametrize(("format_", "dtype"), [(FP16, np.float16), (BF16, ml_dtypes.bfloat16)])
def test_limits_of_a_format(format_: Format, dtype: type) -> None:
    def rounded(number: np.float32) -> float:
        with np.errstate(over="ignore"):
            return float(np.array(number).astype(dtype).astype(np.float32))

    infinite, zero = np.float32(format_.infinite_from), np.float32(format_.zero_below)
    assert rounded(infinite) == np.inf
    assert rounded(np.nextafter(infinite, np.float32(0))) == format_.largest
    assert rounded(zero) == 0
    assert rounded(np.nextafter(zero, np.float32(1))) > 0
    assert rounded(np.float32(1 + 2.0 ** (1 - format_.bits))) > 1
    assert rounded(np.float32(1 + 2.0**-format_.bits)) == 1
    assert FORMATS[format_.name] is format_
    assert format_.operands_only is False


def test_tf32_has_the_range_of_fp32() -> None:
    """Its largest number has 10 bits of mantissa."""
    bits = np.array(TF32.largest, np.float32).view(np.uint32)
    assert hex(int(bits)) == "0x7f7fe000"
    assert (TF32.infinite_from, TF32.zero_below, TF32.bits) == (np.inf, 0.0, 11)
    assert TF32.operands_only
