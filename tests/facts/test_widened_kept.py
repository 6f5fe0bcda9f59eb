"""Tests that no rule flags products that a conversion kept in FP32."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from tests.inprocess import printed
from trtlint.conversion.result import KEY
from trtlint.facts.of_model.widened_product import CONVERTED

WIDENED = """
< ir_version: 8, opset_import: ["" : 17] >
block (float16[1,64] x) => (float16[1,64] y)
< float[64,64] w = {}, float16[64,64] v = {}, float[64] s = {}, float[64] b = {} >
{
  h = MatMul (x, v)
  f = Cast <to = 1> (h)
  n = LayerNormalization (f, s, b)
  [head] p = MatMul (n, w)
  c = Cast <to = 10> (p)
  y = MatMul (c, v)
}
"""
TOO_DEEP = "[" * 100_000


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (json.dumps({"kept": [["head", "a Cast would cost more"]]}), False),
        (json.dumps({"kept": [["other", "r"]]}), True),
        (json.dumps({"kept": [3]}), True),
        (json.dumps([]), True),
        ("{", True),
        (TOO_DEEP, True),
        ("", True),
    ],
)
def test_products_that_a_conversion_kept_are_not_reported(text: str, found: bool, tmp_path: Path) -> None:
    model = onnx.parser.parse_model(WIDENED)
    if text:
        model.metadata_props.add(key=KEY, value=text)
    onnx.save(model, tmp_path / "m.onnx")
    out = printed(tmp_path, "m.onnx", "--isolated", "--trt", "11.4", "--select", "PERF121").out
    assert ("warning[PERF121]" in out) is found


def test_the_key_is_that_of_a_conversion() -> None:
    assert CONVERTED == KEY
