"""Tests of element types derived from operator definitions."""

from __future__ import annotations

import onnx
import pytest

from tests.graphs import model_of
from trtlint.model.protos import DTYPES
from trtlint.model.retype import _BY_ATTRIBUTE, contradictions
from trtlint.model.schemas import schema_at

TYPES = {
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "i8": "int8",
    "f16": "float16",
    "f32": "float",
    "f64": "double",
}


def typed(body: str, declared: str, inputs: str, opset: int = 21) -> tuple[str | None, list[str]]:
    """Return the type of ``y`` and the declarations that contradict the operator definitions."""
    model = model_of(
        f'< ir_version: 10, opset_import: ["" : {opset}] > g ({inputs}) => (float[A] z)'
        f" < {TYPES[declared]}[B] y > {{ {body}  z = Cast <to = 1> (y) }}"
    )
    (cast,) = model.graph.by_op("Cast")
    value = cast.input(0)
    assert value is not None
    return value.dtype, [value.name for value, _ in contradictions(model.graph)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y = Multinomial (x)", "i32"),
        ("y = Multinomial <dtype = 7> (x)", "i64"),
        ("y = RandomNormal <shape = [2, 3]> ()", "f32"),
        ("y = RandomUniform <shape = [2, 3], dtype = 11> ()", "f64"),
        ("y = RandomNormalLike (x)", "f16"),
        ("y = RandomUniformLike <dtype = 1> (x)", "f32"),
        ("y = EyeLike (x)", "f16"),
        ("y = Bernoulli <dtype = 7> (x)", "i64"),
        ("y = HannWindow (n)", "f32"),
        ("y = HammingWindow <output_datatype = 10> (n)", "f16"),
        ("y = BlackmanWindow <output_datatype = 11> (n)", "f64"),
        ("y = QuantizeLinear (x, s)", "u8"),
        ("y = QuantizeLinear (x, s, p)", "i8"),
        ("y = QuantizeLinear <output_dtype = 3> (x, s)", "i8"),
        ("y = DequantizeLinear (p, s)", "f16"),
        ("y = Shape (x)", "i64"),
        ("y = ConstantOfShape (m)", "f32"),
    ],
)
def test_the_type_of_a_result(body: str, expected: str) -> None:
    """A wrong declaration is reported and ignored."""
    inputs = "float16[2,3] x, float16 s, int8 p, int64 n, int64[1] m"
    assert typed(body, expected, inputs) == (expected, [])
    wrong = "i32" if expected != "i32" else "i64"
    if not body.endswith("(m)"):  # TensorRT takes the type of a tensor, which is declared nowhere else
        assert typed(body, wrong, inputs) == (expected, ["y"])


def test_defaults_are_those_of_onnx() -> None:
    """An attribute with an ONNX default has the same default type in the table."""
    seen = set()
    for op, told in _BY_ATTRIBUTE.items():
        if not told.attribute or told.ports:
            continue
        attribute = schema_at(op, 23).attributes[told.attribute]
        number = (
            onnx.helper.get_attribute_value(attribute.default_value) if attribute.default_value.name else 0
        )
        if number:
            assert told.default == DTYPES[number], op
            seen.add(op)
    assert {"Multinomial", "RandomNormal", "HannWindow"} <= seen
