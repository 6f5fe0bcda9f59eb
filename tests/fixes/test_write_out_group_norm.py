"""Tests of GroupNormalization as one instance norm per group."""

from __future__ import annotations

import pytest

from tests.fixes.proposing import outcome

PARAMETERS = "[4, 1, 1]"
CHANNELS = "the number of channels is unknown or not a multiple of the number of groups"
SHAPE = "the shape of the tensor is not known"


def written(
    kind: str, dims: str = "2,4,2,2", count: object = 4, opset: int = 21, settings: str = "num_groups = 2"
) -> str:
    """Return the rewrite of a norm, or the reason for none."""
    text = (
        f"({kind}[{dims}] x, {kind}[{count}] s, {kind}[{count}] b) => ({kind}[{dims}] y)"
        f" {{ y = GroupNormalization <epsilon = 0.5, {settings}> (x, s, b) }}"
    )
    return outcome("write-out-group-norm", text, "y", opset)


def norm(parameters: str, x: str = "x", s: str = "s", b: str = "b", result: str = "y") -> str:
    return (
        f"reshape = Reshape ({x}, [0, 2, -1])  instancenormalization = InstanceNormalization <epsilon = 0.5>"
        f" (reshape, [1.0, 1.0], [0.0, 0.0])  shape = Shape ({x})"
        f"  reshape_2 = Reshape (instancenormalization, shape)  reshape_3 = Reshape ({s}, {parameters})"
        f"  reshape_4 = Reshape ({b}, {parameters})  mul = Mul (reshape_2, reshape_3)"
        f"  {result} = Add (mul, reshape_4)"
    )


@pytest.mark.parametrize(
    ("kind", "number", "opset", "settings", "wide"),
    [
        ("float", 1, 21, "num_groups = 2", False),
        ("double", 11, 21, "num_groups = 2", False),
        ("float16", 10, 21, "num_groups = 2", True),
        ("bfloat16", 16, 22, "num_groups = 2", True),
        ("float16", 10, 21, "num_groups = 2, stash_type = 1", True),
        ("float16", 10, 21, "num_groups = 2, stash_type = 10", False),
        ("float16", 10, 20, "num_groups = 2", False),
        # InstanceNormalization accepts BF16 from opset 22 on
        ("bfloat16", 16, 18, "num_groups = 2", True),
        ("bfloat16", 16, 21, "num_groups = 2, stash_type = 16", True),
        ("bfloat16", 16, 22, "num_groups = 2, stash_type = 16", False),
    ],
)
def test_the_type_of_the_computation(kind: str, number: int, opset: int, settings: str, wide: bool) -> None:
    casts = "cast = Cast <to = 1> (x)  cast_2 = Cast <to = 1> (s)  cast_3 = Cast <to = 1> (b)  "
    inner = norm(PARAMETERS, "cast", "cast_2", "cast_3", "add")
    expected = f"{casts}{inner}  y = Cast <to = {number}> (add)" if wide else norm(PARAMETERS)
    assert written(kind, opset=opset, settings=settings) == expected


@pytest.mark.parametrize(
    ("dims", "count", "groups", "expected"),
    [
        ("2,4,3", 4, 2, norm("[4, 1]")),
        ("2,4,N,M", 1, 2, norm("[1, 1, 1]")),
        ("2,4", 4, 2, CHANNELS),
        ("2,C,2,2", 4, 2, CHANNELS),
        ("2,3,2,2", 3, 2, CHANNELS),
        ("2,4,2,2", 2, 2, "scale and bias have one number per group instead of one per channel"),
        ("2,4,2,2", "N", 2, "the type of the data, or the size of the scale, is not known"),
        ("2,4,2,2", 4, 0, SHAPE),
    ],
)
def test_shapes(dims: str, count: object, groups: int, expected: str) -> None:
    assert written("float", dims, count, settings=f"num_groups = {groups}") == expected


def test_other_operators() -> None:
    for text in (
        "(float[2] x) => (float[2] y) { y = Neg (x) }",
        "(float[2] x) => (float[2] y) { y = com.microsoft.GroupNormalization <num_groups = 2> (x, x, x) }",
    ):
        assert (
            outcome("write-out-group-norm", text, "y", 21) == "there is no GroupNormalization at this place"
        )
