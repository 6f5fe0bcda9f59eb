"""Seeds of operators that draw random numbers."""

from __future__ import annotations

import onnx
import pytest

from trtlint.measurement.seeds import fix_seed

FLOAT, INT = onnx.AttributeProto.FLOAT, onnx.AttributeProto.INT


@pytest.mark.parametrize(
    ("call", "seeds"),
    [
        ("RandomNormalLike (x)", [(FLOAT, 1.0)]),
        ("RandomUniformLike <low = 0.5> (x)", [(FLOAT, 1.0)]),
        ("RandomNormalLike <seed = 3.0> (x)", [(FLOAT, 3.0)]),
        ("RandomNormalLike <mean = 2.0, seed = 3.0> (x)", [(FLOAT, 3.0)]),
        ("my.RandomNormalLike (x)", []),
        ("my.RandomNormalLike <seed = 3.0> (x)", [(FLOAT, 3.0)]),
        ("Dropout (x, ratio, training)", [(INT, 1)]),
        ("Dropout <seed = 5> (x, ratio, training)", [(INT, 5)]),
        ("Dropout (x, ratio)", []),
        ("Dropout (x)", []),
        ("my.Dropout (x, ratio, training)", []),
        ("Clip (x, ratio, training)", []),
    ],
)
def test_seeds_that_are_set(call: str, seeds: list[tuple[int, float]]) -> None:
    node = onnx.parser.parse_node(f"y = {call}")
    others = [each.name for each in node.attribute if each.name != "seed"]
    fix_seed(node)
    found = [
        (each.type, onnx.helper.get_attribute_value(each)) for each in node.attribute if each.name == "seed"
    ]
    assert found == seeds
    assert [each.name for each in node.attribute if each.name != "seed"] == others
