"""Input shapes that options and build commands give for a dry build."""

from __future__ import annotations

import pytest
from onnx import TensorProto, helper

from trtlint.buildcommand import read_commands
from trtlint.dry_build.given import command_shapes, fixed_shapes, wrong_shape
from trtlint.dry_build.shapes import ShapeRange
from trtlint.model.elements import Value

ONE, TWO, FOUR = (1, 3), (2, 3), (4, 3)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", []),
        ("--minShapes=x:1x3", [("x", (ONE, ONE, ONE))]),
        ("--optShapes=x:2x3", [("x", (TWO, TWO, TWO))]),
        ("--maxShapes=x:4x3", [("x", (FOUR, FOUR, FOUR))]),
        ("--minShapes=x:1x3 --optShapes=x:2x3", [("x", (ONE, TWO, TWO))]),
        ("--minShapes=x:1x3 --maxShapes=x:4x3", [("x", (ONE, FOUR, FOUR))]),
        ("--optShapes=x:2x3 --maxShapes=x:4x3", [("x", (TWO, TWO, FOUR))]),
        (
            "--minShapes=x:1x3,y:1 --optShapes=x:2x3,y:2 --maxShapes=x:4x3,y:3",
            [("x", (ONE, TWO, FOUR)), ("y", ((1,), (2,), (3,)))],
        ),
        (
            "--profile=1 --optShapes=x:2x3 --profile=0 --optShapes=x:4x3,z:1",
            [("x", (TWO, TWO, TWO))],
        ),
    ],
)
def test_shapes_of_the_first_profile(options: str, expected: list[tuple[str, object]]) -> None:
    (command,) = read_commands(f"trtexec --onnx=m.onnx {options}")
    assert [(each.name, each.shapes) for each in command_shapes(command)] == expected


def test_no_command_gives_no_shapes() -> None:
    assert list(command_shapes(None)) == []


def test_a_shape_by_name_is_its_own_range() -> None:
    assert list(fixed_shapes([("x", ONE), ("y", ())])) == [
        ShapeRange("x", (ONE, ONE, ONE)),
        ShapeRange("y", ((), (), ())),
    ]
    assert list(fixed_shapes([])) == []


def _value(name: str, kind: int, shape: list[object] | None) -> Value:
    value = Value(name)
    value.set_type(helper.make_tensor_type_proto(kind, shape))  # type: ignore[arg-type]
    return value


INPUTS = [
    _value("x", TensorProto.FLOAT, ["N", 3]),
    _value("sizes", TensorProto.INT64, [4]),
    _value("free", TensorProto.FLOAT, None),
    _value("minus", TensorProto.FLOAT, [-1, 3]),
]


@pytest.mark.parametrize(
    ("name", "shape", "wrong"),
    [
        ("x", (2, 3), ""),
        ("sizes", (2, 3), ""),
        ("free", (2,), ""),
        ("minus", (5, 3), ""),
        ("x", (2, 4), "x:2x4: the model expects f32[N,3] for the input 'x'"),
        ("x", (3,), "x:3: the model expects f32[N,3] for the input 'x'"),
        ("y", (2, 3), "y:2x3: the model has no input 'y'; its inputs: x, sizes, free, minus"),
    ],
)
def test_shapes_that_do_not_fit_the_model(name: str, shape: tuple[int, ...], wrong: str) -> None:
    assert wrong_shape(fixed_shapes([(name, shape)]), INPUTS) == wrong


def test_a_name_of_another_model() -> None:
    (given,) = fixed_shapes([("y", (2, 3))])
    assert not wrong_shape([given], INPUTS, named=False)
    assert wrong_shape([given], []) == "y:2x3: the model has no input 'y'; its inputs: none"
