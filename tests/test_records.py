"""Records behave as frozen dataclasses of the standard library do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, field, fields, replace

import pytest

from trtlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    name: str
    rows: tuple[int, ...] = ()
    note: str = field(default="", compare=False, repr=False)

    @property
    def length(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class Marked(Place):
    label: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Alone:
    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Standard:
    name: str
    rows: tuple[int, ...] = ()
    note: str = field(default="", compare=False, repr=False)


def test_fields_are_set_once() -> None:
    place = Place("a", (1,))
    for name in ("name", "rows", "length"):
        with pytest.raises(FrozenInstanceError, match=name):
            setattr(place, name, "b")
        with pytest.raises(FrozenInstanceError, match=name):
            delattr(place, name)
    with pytest.raises(AttributeError):
        place.other = 1  # type: ignore[attr-defined]
    assert place == Place("a", (1,))


def test_equal_and_hashed_by_class_and_compared_fields() -> None:
    assert Place("a", (1,), "x") == Place("a", (1,), "y")
    assert hash(Place("a", (1,), "x")) == hash(Place("a", (1,), "y"))
    assert Place("a") != Place("b")
    assert Place("a") != Marked("a")
    assert Place("a") != Standard("a")
    assert len({Place("a"), Place("a"), Marked("a"), Marked("a", label="l")}) == 3
    assert Alone("a") != Alone("a")


def test_shown_as_the_standard_library_does() -> None:
    place = Place("a", (1,), "not shown")
    assert repr(place) == repr(Standard("a", (1,), "not shown")).replace("Standard", "Place")
    assert repr(Marked("a", label="l")) == "Marked(name='a', rows=(), label='l')"


def test_the_standard_library_takes_them() -> None:
    marked = Marked("a", (1,), "n", "l")
    assert replace(marked, name="b") == Marked("b", (1,), "n", "l")
    assert [each.name for each in fields(marked)] == ["name", "rows", "note", "label"]
    assert dataclasses.astuple(marked) == ("a", (1,), "n", "l")
    for other in (copy.copy(marked), copy.deepcopy(marked), pickle.loads(pickle.dumps(marked))):
        assert other == marked
        assert other.note == "n"
