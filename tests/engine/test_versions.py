"""Tests of version ranges in words."""

from __future__ import annotations

import pytest

from trtlint.knowledge.ranges import covers_all, in_words
from trtlint.knowledge.releases import Product, releases


@pytest.mark.parametrize(
    ("product", "specifier", "words"),
    [
        ("tensorrt", ">=10.7,<10.8", "TensorRT 10.7"),
        ("tensorrt", ">=10.12,<10.14", "TensorRT 10.12 to 10.13"),
        ("tensorrt", ">=10.0", "TensorRT 10.0 and newer"),
        ("tensorrt", "<11", "TensorRT up to 10.16"),
        ("tensorrt", "", "every TensorRT"),
        ("tensorrt", ">=8.6", "TensorRT 8.6 and newer"),
        ("tensorrt", "==10.7.*", "TensorRT 10.7"),
        ("tensorrt", ">=10.7,<10.9,!=10.8.*", "TensorRT 10.7"),
        ("tensorrt", ">=10.6,<10.9,!=10.7.*", "TensorRT 10.6, 10.8"),
        ("tensorrt", ">=10.13.2,<10.14", "TensorRT 10.13.2 to 10.13.3"),
        ("tensorrt", ">=97", "TensorRT >=97"),
        ("tensorrt-rtx", ">=1.4,<1.6", "TensorRT-RTX 1.4 to 1.5"),
    ],
)
def test_in_words(product: Product, specifier: str, words: str) -> None:
    assert in_words(product, specifier) == words


def test_covers_all() -> None:
    assert covers_all("tensorrt", "")
    assert covers_all("tensorrt", f">={releases('tensorrt')[0].version}")
    assert not covers_all("tensorrt", "<11")
