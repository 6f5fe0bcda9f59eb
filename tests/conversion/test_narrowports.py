"""Tests of the 16-bit inputs and outputs of an operator."""

from __future__ import annotations

import pytest

from trtlint.conversion.narrowports import ports


@pytest.mark.parametrize(
    ("op", "opset", "inputs", "outputs", "free"),
    [
        ("Relu", 17, "n", "n", set()),
        ("Add", 17, "nn", "n", set()),
        ("Where", 17, "-nn", "n", set()),
        ("Gather", 17, "n-", "n", set()),
        ("Concat", 17, "n", "n", set()),
        ("Resize", 19, "n---", "n", set()),
        ("Resize", 10, "n-", "n", set()),
        ("Upsample", 9, "n-", "n", set()),
        ("Dropout", 13, "n--", "n-", set()),
        ("BatchNormalization", 14, "nnnnn", "nnn", set()),
        ("BatchNormalization", 15, "n----", "nnn", set()),
        ("LayerNormalization", 17, "nnn", "n--", set()),
        ("QuantizeLinear", 13, "---", "-", set()),
        ("QuantizeLinear", 19, "nn-", "-", set()),
        ("DequantizeLinear", 13, "---", "-", set()),
        ("DequantizeLinear", 19, "-n-", "n", set()),
        ("Shape", 17, "-", "-", {0}),
        ("Size", 17, "-", "-", {0}),
        ("Cast", 17, "-", "n", {0}),
        ("CastLike", 17, "-n", "n", {0}),
        ("ConstantOfShape", 17, "-", "n", {0}),
        ("EyeLike", 17, "-", "n", {0}),
        ("Range", 17, "---", "-", set()),
        ("NonZero", 17, "n", "-", set()),
    ],
)
def test_ports(op: str, opset: int, inputs: str, outputs: str, free: set[int]) -> None:
    found = ports(op, opset, "fp16")
    assert found is not None
    words = ["".join("n" if each else "-" for each in side) for side in (found.inputs, found.outputs)]
    assert (*words, set(found.free)) == (inputs, outputs, free)
    assert [found.reads_narrow(port) for port in range(9)][len(inputs) :] == [inputs[-1] == "n"] * (
        9 - len(inputs)
    )
    assert found.writes_narrow(0) is (outputs[0] == "n")


def test_an_operator_that_the_opset_lacks_has_no_ports() -> None:
    assert ports("LayerNormalization", 16, "fp16") is None
    assert ports("Fancy", 17, "fp16") is None


def test_bf16_needs_an_operator_that_takes_it() -> None:
    found = [ports("Relu", 12, "bf16"), ports("Relu", 13, "bf16"), ports("Relu", 12, "fp16")]
    assert [each and each.inputs for each in found] == [(False,), (True,), (True,)]
