"""Tests of windows of pooling and transposed convolutions."""

from __future__ import annotations

import pytest

from tests.graphs import facts_of
from trtlint.facts.of_model.pooling import Pooling
from trtlint.facts.of_model.transposed_convolution import TransposedConvolution


def pooled(size: str, attributes: str) -> Pooling:
    (fact,) = facts_of(
        f"""
        < ir_version: 8, opset_import: ["" : 12] >
        g (float[1,1,{size}] x) => (float[1,1,{",".join("ABC"[: size.count(",") + 1])}] y)
        {{ y = MaxPool <{attributes}> (x) }}
        """
    ).of("pooling")
    assert isinstance(fact, Pooling)
    return fact


@pytest.mark.parametrize(
    ("size", "attributes", "expected"),
    [
        ("5,5", "kernel_shape=[2,2], strides=[2,2], pads=[1,1,1,1], ceil_mode=1", (True, (3, 3), (4, 4))),
        ("5,4", "kernel_shape=[2,2], strides=[2,2], pads=[1,1,1,1], ceil_mode=1", (True, (3, 3), (4, 3))),
        ("5", "kernel_shape=[2], strides=[2], pads=[1,1], ceil_mode=1", (True, (3,), (4,))),
        ("8,8", "kernel_shape=[3,3], strides=[3,3], pads=[1,1,1,1], ceil_mode=1", (True, (3, 3), (4, 4))),
        ("4,4", "kernel_shape=[1,1], strides=[2,2], ceil_mode=1", (True, (2, 2), (3, 3))),
        ("112", "kernel_shape=[3], strides=[2], pads=[1,1], ceil_mode=1", (False, (57,), (57,))),
        ("5,5", "kernel_shape=[2,2], strides=[2,2], pads=[1,1,1,1]", (False, (), ())),
        ("5,5", "kernel_shape=[2,2], strides=[2,2], auto_pad=\"SAME_UPPER\", ceil_mode=1", (False, (), ())),
        ("5,n", "kernel_shape=[2,2], strides=[2,2], pads=[1,1,1,1], ceil_mode=1", (None, (), ())),
    ],
)  # fmt: skip
def test_the_last_window(size: str, attributes: str, expected: tuple[object, ...]) -> None:
    fact = pooled(size, attributes)
    assert (fact.beyond, fact.sizes, fact.rounded) == expected


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("strides=[2,2], output_shape=[6,6]", ((1, 1), True, False)),
        ("strides=[2,2], output_shape=[5,6]", ((2, 1), True, False)),
        ("strides=[2,2], output_shape=[5,5]", ((2, 2), False, False)),
        ("strides=[2,2], output_shape=[8,8]", ((-1, -1), True, True)),
        ("strides=[2,2], output_shape=[6,6], auto_pad=\"SAME_UPPER\"", ((), False, False)),
        ("strides=[2,2], output_padding=[1,1]", ((), False, True)),
        ("strides=[2,2], output_padding=[1,1], pads=[0,0,1,1]", ((), False, False)),
        ("strides=[2,2], output_padding=[0,1], pads=[1,1,1,0]", ((), False, True)),
    ],
)  # fmt: skip
def test_padding_of_transposed_convolutions(attributes: str, expected: tuple[object, ...]) -> None:
    (fact,) = facts_of(
        f"""
        < ir_version: 8, opset_import: ["" : 17] >
        g (float[1,1,3,3] x, float[1,1,3,3] w) => (float[1,1,A,B] y)
        {{ y = ConvTranspose <{attributes}> (x, w) }}
        """
    ).of("transposed_convolution")
    assert isinstance(fact, TransposedConvolution)
    assert (fact.asked, fact.uneven, fact.outgrown) == expected
