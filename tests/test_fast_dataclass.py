"""Dataclasses that cost little are what the dataclasses of Python are."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass, field, fields, replace

import pytest

from trtlint import fast_dataclass


@dataclass(frozen=True, slots=True)
class Original:
    """What Python makes."""

    a: int
    b: tuple[str, ...] = ()
    c: dict[str, int] = field(default_factory=dict, compare=False)
    d: str = field(default="", repr=False)


@fast_dataclass.fast_dataclass(frozen=True, slots=True)
class Lean:
    """The same."""

    a: int
    b: tuple[str, ...] = ()
    c: dict[str, int] = field(default_factory=dict, compare=False)
    d: str = field(default="", repr=False)


@fast_dataclass.fast_dataclass(frozen=True, slots=True)
class Longer(Lean):
    """With a field more."""

    e: float = 1.0


@fast_dataclass.fast_dataclass(frozen=True, slots=True)
class Other:
    """With a field of the same name."""

    a: int


@fast_dataclass.fast_dataclass(frozen=True, slots=True, eq=False)
class Each:
    """Each is equal to itself only."""

    a: int


@fast_dataclass.fast_dataclass(slots=True)
class Open:
    """One that changes."""

    a: int


def test_they_have_the_same_fields_and_show_them_alike() -> None:
    assert [each.name for each in fields(Lean)] == [each.name for each in fields(Original)]
    assert repr(Lean(1, ("x",))) == repr(Original(1, ("x",))).replace("Original", "Lean")
    assert not hasattr(Lean(1), "__dict__")


def test_they_are_equal_by_what_counts() -> None:
    assert Lean(1, c={"x": 1}) == Lean(1)
    assert hash(Lean(1, c={"x": 1})) == hash(Lean(1))
    assert Lean(1, d="x") != Lean(1)
    assert Lean(1) != Longer(1)
    assert Lean(1).__eq__(1) is NotImplemented
    assert Other(1) != Lean(1)
    assert {Other(1), Other(1)} == {Other(1)}


def test_one_may_be_equal_to_itself_only() -> None:
    each = Each(1)
    assert each == each
    assert each != Each(1)
    assert len({Each(1), Each(1)}) == 2


def test_one_that_changes_has_no_hash() -> None:
    one = Open(1)
    one.a = 2
    assert one == Open(2)
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_they_are_copied_replaced_and_pickled() -> None:
    longer = Longer(1, ("x",), {"y": 2}, "z", 3.0)
    assert replace(longer, a=2) == Longer(2, ("x",), {"y": 2}, "z", 3.0)
    assert copy.deepcopy(longer) == longer
    assert pickle.loads(pickle.dumps(longer)).c == {"y": 2}


def test_a_circle_is_shown() -> None:
    circle: list[object] = []
    one = Lean(1, c=circle)  # type: ignore[arg-type]
    circle.append(one)
    assert repr(one) == "Lean(a=1, b=(), c=[...])"
