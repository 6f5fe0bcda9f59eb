"""Tests of facts about the input shapes of a command."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import asdict

from tests.graphs import model_of
from trtlint.buildcommand import find_commands
from trtlint.facts.facts import Facts
from trtlint.facts.of_command.input_shape import InputShape

MODEL = model_of("""
< ir_version: 8, opset_import: ["" : 17] >
g (float[N,2] x, float[N,N] z, float[3,4] fixed, float scalar, float[] open) => (float[] y) { y = Add (x, z) }
""")
INPUTS = ("x", "z", "fixed", "scalar", "open")


def facts(options: str) -> list[InputShape]:
    (command,) = find_commands(f"trtexec --onnx=a.onnx {options}")
    found = Facts(MODEL, command=command).of("input_shape")
    return [fact for fact in found if isinstance(fact, InputShape)]


def of(name: str, options: str) -> dict[str, Any]:
    (fact,) = (fact for fact in facts(options) if fact.name == name)
    assert fact.place == f"input {name}"
    known = asdict(fact)
    assert (known.pop("node"), known.pop("chain"), known.pop("inputs")) == (None, (), INPUTS)
    return known


UNSET: dict[str, Any] = {
    "name": "x",
    "is_input": True,
    "declared": "Nx2",
    "dynamic": True,
    "given": (),
    "option": "",
    "profile": None,
    "rank_fits": None,
    "fits": None,
    "ordered": True,
    "smallest": None,
    "spread": None,
    "clash": "",
    "complete": True,
    "unset": "x:Nx2,z:NxN,...",
}
GIVEN = {
    **UNSET,
    "given": ("1x2", "4x2", "8x6"),
    "option": "--minShapes",
    "profile": 0,
    "rank_fits": True,
    "fits": False,
    "smallest": 1,
    "spread": 3.0,
    "unset": "",
}


def test_inputs_without_shapes() -> None:
    assert of("x", "") == UNSET
    assert of("fixed", "") == {**UNSET, "name": "fixed", "declared": "3x4", "dynamic": False}
    assert of("scalar", "") == {**UNSET, "name": "scalar", "declared": "scalar", "dynamic": False}
    assert of("open", "") == {**UNSET, "name": "open", "declared": None, "dynamic": True}


@pytest.mark.parametrize(
    ("options", "unset"),
    [
        ("--optShapes=x:1x2", "z:NxN,open:?"),
        ("--optShapes=x:1x2,z:1x1", "open:?"),
        ("--optShapes=x:1x2,z:1x1,open:1", ""),
    ],
)
def test_dynamic_inputs_without_a_shape_are_named(options: str, unset: str) -> None:
    assert of("fixed", options)["unset"] == unset


def test_inputs_with_shapes() -> None:
    three = "--minShapes=x:1x2 --optShapes=x:4x2 --maxShapes=x:8x6"
    assert of("x", three) == GIVEN
    assert of("nobody", three.replace("x:", "nobody:")) == {
        **GIVEN,
        "name": "nobody",
        "is_input": False,
        "declared": None,
        "dynamic": None,
        "rank_fits": None,
        "fits": None,
    }
    assert [fact.name for fact in facts("--optShapes=nobody:1,x:1x2")] == [*INPUTS, "nobody"]


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        (("1x2", "1x2", "1x2"), (("1x2",), True, True, True, 1, 1.0)),
        (("1x2", "4x2", "8x2"), (("1x2", "4x2", "8x2"), True, True, True, 1, 1.0)),
        (("4x2", "1x2", "8x2"), (("4x2", "1x2", "8x2"), True, True, False, 1, 1.0)),
        (("1x2", "8x2", "4x2"), (("1x2", "8x2", "4x2"), True, True, False, 1, 1.0)),
        (("1x2x5", "1x2", "1x2"), (("1x2x5", "1x2"), False, None, True, 1, None)),
        (("0x0", "1x2", "8x2"), (("0x0", "1x2", "8x2"), True, False, True, 0, None)),
        (("1x2", "1x2", "9x3"), (("1x2", "9x3"), True, False, True, 1, 1.5)),
    ],
)
def test_shapes_that_fit(shapes: tuple[str, str, str], expected: tuple[object, ...]) -> None:
    low, best, high = shapes
    found = of("x", f"--minShapes=x:{low} --optShapes=x:{best} --maxShapes=x:{high}")
    names = ("given", "rank_fits", "fits", "ordered", "smallest", "spread")
    assert tuple(found[name] for name in names) == expected


def test_the_spread_of_one_shape_and_of_a_scalar() -> None:
    assert of("x", "--minShapes=x:1x2")["spread"] is None
    assert of("scalar", "--optShapes=scalar:scalar")["given"] == ("scalar",)


def clashes(*shapes: str) -> list[str]:
    """Return the clashes of x and z at minimum, optimum and maximum shapes."""
    options = zip(("--minShapes", "--optShapes", "--maxShapes"), shapes, strict=False)
    found = facts(" ".join(f"{option}={shape}" for option, shape in options if shape))
    return [fact.clash for fact in found if fact.name in ("x", "z")]


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        (("", "x:4x2,z:4x4"), ["", ""]),
        (("", "x:4x2,z:5x5"), ["", "N is 5 in z and 4 in x"]),
        (("", "x:4x2,z:4x5"), ["", "N is 5 in one dimension of z and 4 in another dimension"]),
        (("", "x:4x2,z:5x4"), ["", "N is 5 in z and 4 in x"]),
        (("", "z:4x5"), ["", "N is 5 in one dimension of z and 4 in another dimension"]),
        (("x:1x2,z:1x1", "", "x:4x2,z:9x9"), ["", ""]),
        (("x:1x2,z:4x4", "", "x:4x2,z:9x9"), ["", ""]),
        (("x:1x2,z:5x5", "", "x:4x2,z:9x9"), ["", "N is from 5 to 9 in z and from 1 to 4 in x"]),
        (("x:5x2,z:1x1", "", "x:9x2,z:4x4"), ["", "N is from 1 to 4 in z and from 5 to 9 in x"]),
        (("x:1x2,z:5x5", "x:5x2,z:5x5", "x:9x2,z:9x9"), ["", ""]),
        (("", "x:4x2,z:4"), ["", ""]),
        (("", "x:4x2"), ["", ""]),
    ],
)
def test_sizes_of_one_name_that_differ(shapes: tuple[str, ...], expected: list[str]) -> None:
    assert clashes(*shapes) == expected


def test_profiles_have_sizes_of_their_own() -> None:
    found = facts("--profile=0 --optShapes=x:4x2,z:4x4 --profile=1 --optShapes=x:5x2,z:5x6")
    assert [(fact.name, fact.profile, fact.clash) for fact in found if fact.profile is not None] == [
        ("x", 0, ""),
        ("x", 1, ""),
        ("z", 0, ""),
        ("z", 1, "N is 6 in one dimension of z and 5 in another dimension"),
    ]
