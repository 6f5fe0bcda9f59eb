"""Tests of rule-language types derived from annotations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal, cast

import pytest
from msgspec import Struct, defstruct

from trtlint.language.fieldtypes import (
    ANYTHING,
    NUMBER,
    TEXT,
    TRUTH,
    Kind,
    Kinds,
    OneOf,
    choices,
    constant,
    has,
    items_fit,
    kinds_of,
    members,
    words,
)
from trtlint.model.graph import Node, Value

Named = Annotated[str, OneOf(lambda: ("a", "b"))]


class Inner(Struct, frozen=True):
    size: int


class Record(Struct, frozen=True):
    """A record with a field of each form."""

    name: Named
    inner: Inner | None
    _hidden: int = 0

    @property
    def known(self) -> Named:
        """Return a text."""
        return self.name

    open = property(lambda _: None)

    @property
    def _secret(self) -> int:
        return 0

    def method(self) -> int:
        """Return a number."""
        return self._hidden


@pytest.mark.parametrize(
    ("annotation", "kinds"),
    [
        (bool, TRUTH),
        (int, NUMBER),
        (float, NUMBER),
        (int | float, NUMBER),
        (str | None, TEXT),
        (None, ()),
        (object, ANYTHING),
        (Any, ANYTHING),
        (bytes, ANYTHING),
        ("text", ANYTHING),
        (["unhashable"], ANYTHING),
        (Named, (Kind("text", frozenset({"a", "b"})),)),
        (Annotated[int, "note"], NUMBER),
        (ClassVar[str], TEXT),
        (
            Literal["a", 1, True],
            (Kind("truth", frozenset({True})), Kind("text", frozenset("a")), Kind("number", frozenset({1}))),
        ),
        (tuple[int, ...], (Kind("tuple", items=NUMBER),)),
        (tuple[int, str], (Kind("tuple", items=(*NUMBER, *TEXT)),)),
        (tuple[int, int], (Kind("tuple", items=NUMBER),)),
        (frozenset[str], (Kind("tuple", items=TEXT),)),
        (Iterable[bool], (Kind("tuple", items=TRUTH),)),
        (Mapping[str, int], (Kind("mapping", items=NUMBER, keys=TEXT),)),
        (Inner, (Kind("record", cls=Inner),)),
        (Node, (Kind("record", cls=Node),)),
        (Value | int, (Kind("record", cls=Value), *NUMBER)),
    ],
)  # fmt: skip
def test_types_of_annotations(annotation: Any, kinds: Kinds) -> None:
    assert kinds_of(annotation) == kinds


def test_types_of_fields_and_properties() -> None:
    text = (Kind("text", frozenset({"a", "b"})),)
    assert members(Record) == {
        "name": text,
        "inner": (Kind("record", cls=Inner),),
        "known": text,
        "open": ANYTHING,
    }
    assert members(Node)["op"] == TEXT
    assert members(Value)["producer"] == (Kind("record", cls=Node),)
    assert members(bytes) == {}


def test_a_field_of_an_unknown_type_is_an_error() -> None:
    wrong = defstruct("Wrong", [("field", cast("type", "Nowhere"))])
    with pytest.raises(TypeError, match="an annotation of Wrong cannot be resolved: name 'Nowhere'"):
        members(wrong)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, Kind("truth", frozenset({True}))),
        (1, Kind("number", frozenset({1}))),
        ("a", Kind("text", frozenset({"a"}))),
    ],
)
def test_types_of_literals(value: bool | int | str, kind: Kind) -> None:
    assert constant(value) == (kind,)


def test_types_in_words() -> None:
    assert (
        words((*TRUTH, *NUMBER, *TEXT, *ANYTHING))
        == "true or false or a number or a text or of no declared type"
    )
    assert words(
        (Kind("record", cls=Inner), Kind("tuple"), Kind("mapping"), Kind("tuple", items=NUMBER))
    ) == ("a Inner or a tuple or a mapping")
    assert words(()) == ""


def test_the_names_of_types() -> None:
    assert [has(kinds, "number") for kinds in (NUMBER, (*TEXT, *NUMBER), ANYTHING, TEXT, ())] == [
        True, True, True, False, False,
    ]  # fmt: skip


def test_elements_that_fit() -> None:
    numbers, texts, either = (Kind("tuple", items=items) for items in (NUMBER, TEXT, (*NUMBER, *TEXT)))
    whole = Kind("tuple")
    fits = [
        (one, other) for one in (numbers, texts, either, whole) for other in (numbers, texts, either, whole)
        if items_fit(one, other)
    ]  # fmt: skip
    assert fits == [
        (numbers, numbers), (numbers, either), (numbers, whole),
        (texts, texts), (texts, either), (texts, whole),
        (either, numbers), (either, texts), (either, either), (either, whole),
        (whole, whole),
    ]  # fmt: skip


def test_all_values_that_a_type_allows() -> None:
    some, more = Kind("text", frozenset({"a"})), Kind("text", frozenset({"b"}))
    assert choices((some, *NUMBER, more), "text") == {"a", "b"}
    assert choices((some, *TEXT), "text") is None
    assert choices((*TEXT, some), "text") is None
    assert choices(NUMBER, "text") == frozenset()
