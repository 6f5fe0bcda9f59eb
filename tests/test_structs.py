"""Tests of structs: frozen fields, equality and hashes."""

from __future__ import annotations

import copy
import pickle
from typing import ClassVar

import pytest
from msgspec.structs import replace

from trtlint.remote.addresses import parse
from trtlint.structs import PartlyCompared
from trtlint.target.target import Target


class Small(PartlyCompared, frozen=True):
    _ignored: ClassVar = frozenset({"later"})

    name: str
    count: int = 0
    later: tuple[str, ...] = ()


class Longer(Small, frozen=True):
    more: str = ""


def test_a_frozen_struct_refuses_assignment() -> None:
    for struct in (Target(version="10.7"), Small("a")):
        with pytest.raises(AttributeError, match="immutable type"):
            struct.version = "10.8"  # type: ignore[misc, union-attr]
    assert hash(Target(version="10.7")) == hash(Target(version="10.7"))


def test_equality_ignores_some_fields() -> None:
    assert Small("a", 1, ("x",)) == Small("a", 1)
    assert hash(Small("a", 1, ("x",))) == hash(Small("a", 1))
    assert repr(Small("a", 1, ("x",))) == "Small(name='a', count=1)"
    assert Small("a", 1) != Small("a", 2)
    assert Small("a", 1) != Longer("a", 1)
    assert Small("a") != "a"


def test_ignored_fields_are_copied_and_pickled() -> None:
    small = Longer("a", 1, ("x",), "y")
    for same in (copy.deepcopy(small), pickle.loads(pickle.dumps(small)), replace(small, count=1)):
        assert (same.later, same) == (("x",), small)


def test_an_address_does_not_show_its_secrets() -> None:
    address = parse("https://example.com/model.onnx?key=SECRET")
    assert "SECRET" in address.url
    assert "SECRET" not in repr(address) + str(address) + repr((address,))
