"""Tests of optimization profiles on command lines."""

from __future__ import annotations

import pytest

from trtlint.buildcommand import find_commands
from trtlint.buildcommand.shapes import Shapes, shapes_of


def shapes(options: str) -> Shapes:
    (command,) = find_commands(f"trtexec --onnx=a.onnx {options}")
    return shapes_of(command)


def test_three_bounds_of_two_inputs() -> None:
    found = shapes("--minShapes=x:1x3,y:1 --optShapes=x:4x3,y:2 --maxShapes=x:8x3,y:9")
    assert [(s.name, s.profile, s.min, s.opt, s.max) for s in found.specs] == [
        ("x", 0, (1, 3), (4, 3), (8, 3)),
        ("y", 0, (1,), (2,), (9,)),
    ]
    assert found.complete
    assert found.unreadable == ()


def test_profiles() -> None:
    found = shapes("--profile=0 --optShapes=x:1 --profile=1 --optShapes=x:8")
    assert [(s.profile, s.opt) for s in found.specs] == [(0, (1,)), (1, (8,))]


def test_shapes_alone_are_a_profile_of_one_shape() -> None:
    (found,) = shapes("--shapes=x:8x2").specs
    assert (found.min, found.opt, found.max, found.options) == ((8, 2), (8, 2), (8, 2), ("--shapes",))


def test_beside_a_profile_shapes_say_only_what_is_run() -> None:
    (found,) = shapes("--optShapes=x:8x2 --shapes=x:4x2").specs
    assert (found.min, found.opt) == (None, (8, 2))


@pytest.mark.parametrize("text", ["x:scalar", "x:"])
def test_scalars(text: str) -> None:
    (found,) = shapes(f"--optShapes={text}").specs
    assert (found.name, found.opt) == ("x", ())


def test_quoted_names_with_colons() -> None:
    (found,) = shapes("""--optShapes="'input:0':1x3" """).specs
    assert (found.name, found.opt) == ("input:0", (1, 3))


def test_what_is_no_shape_is_told_apart() -> None:
    found = shapes("--optShapes=x:1x-1,y:axb,z")
    assert found.specs == ()
    assert found.unreadable == ("--optShapes=x:1x-1", "--optShapes=y:axb", "--optShapes=z")


def test_numbers_beyond_64_bits_are_unreadable() -> None:
    found = shapes(f"--optShapes=x:1x{'9' * 5000} --profile={'9' * 5000} --maxShapes=y:{'9' * 20}")
    assert found.specs == ()
    assert len(found.unreadable) == 2


def test_variables_make_it_incomplete() -> None:
    assert not shapes("--optShapes=$SHAPES").complete
    assert not shapes("$MORE").complete


@pytest.mark.parametrize(
    ("pattern", "name", "means"),
    [("x*", "x_1", True), ("x*", "y", False), ("x[0]", "x[0]", True), ("x?", "xy", False)],
)
def test_a_star_is_the_only_wildcard(pattern: str, name: str, means: bool) -> None:
    (found,) = shapes(f"--optShapes='{pattern}:1'").specs
    assert found.means(name) is means
