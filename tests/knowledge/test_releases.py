"""Tests of release properties, and of release ranges in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from packaging.version import Version

from trtlint.knowledge import ranges, tables
from trtlint.knowledge.ranges import covers_all, in_words, known, matching
from trtlint.knowledge.releases import Product, Release
from trtlint.knowledge.source_lines import release_of
from trtlint.knowledge.tables import TableEntry, written


def release(version: str, product: Product = "tensorrt") -> Release:
    return Release(product, version)


@pytest.mark.parametrize(
    ("version", "minor", "typing", "inspector"),
    [
        ("8.6.1", "8.6", "weak", "bindings"),
        ("9.0.0", "9.0", "choice", "bindings"),
        ("10.13.3", "10.13", "choice", "bindings"),
        ("11.0.0", "11.0", "strong", "io-tensors"),
        ("12.1.0", "12.1", "strong", "io-tensors"),
    ],
)
def test_what_a_version_means(version: str, minor: str, typing: str, inspector: str) -> None:
    found = release(version)
    assert (found.number, found.minor) == (Version(version), minor)
    assert (found.typing, found.inspector) == (typing, inspector)
    rtx = release(version, "tensorrt-rtx")
    assert (rtx.minor, rtx.typing, rtx.inspector) == (minor, "strong", None)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Return a product with six releases in four lines."""
    functions = (known, matching, in_words)
    listed = [release(number) for number in ("1.0.0", "1.1.0", "1.1.2", "1.1.3", "1.2.0", "2.0.0")]
    monkeypatch.setattr(ranges, "releases", lambda product: listed)
    for function in functions:
        function.cache_clear()
    yield
    for function in functions:
        function.cache_clear()


@pytest.mark.parametrize(
    ("specifier", "words"),
    [
        ("", "every TensorRT"),
        (">=1.0", "TensorRT 1.0 and newer"),
        ("<3", "TensorRT up to 2.0"),
        (">=1.1", "TensorRT 1.1 and newer"),
        (">=1.1.2", "TensorRT 1.1.2 and newer"),
        ("<1.2", "TensorRT up to 1.1"),
        ("<=1.1.2", "TensorRT up to 1.1.2"),
        ("==1.1.*", "TensorRT 1.1"),
        (">=1.1.2,<1.2", "TensorRT 1.1.2 to 1.1.3"),
        (">=1.1,<=1.1.2", "TensorRT 1.1.0 to 1.1.2"),
        ("==1.1.2", "TensorRT 1.1.2"),
        (">=1.1,<2", "TensorRT 1.1 to 1.2"),
        (">=1.1.3,<2", "TensorRT 1.1.3 to 1.2"),
        ("!=1.1.2", "TensorRT up to 1.1.0, 1.1.3 and newer"),
        (">=1.0,!=1.1.2,<3", "TensorRT 1.0 to 1.1.0, 1.1.3 to 2.0"),
        ("!=1.1.2,!=1.2.0", "TensorRT up to 1.1.0, 1.1.3, 2.0 and newer"),
        (">=3", "TensorRT >=3"),
        ("==2.0.0", "TensorRT 2.0"),
        ("==1.0.0", "TensorRT 1.0"),
    ],
)
@pytest.mark.usefixtures("few")
def test_ranges_in_words(specifier: str, words: str) -> None:
    assert in_words("tensorrt", specifier) == words


@pytest.mark.usefixtures("few")
def test_releases_in_a_range() -> None:
    assert [str(version) for version in matching("tensorrt", ">=1.1.2,<2")] == ["1.1.2", "1.1.3", "1.2.0"]
    assert covers_all("tensorrt", "")
    assert covers_all("tensorrt", ">=1,<3")
    assert not covers_all("tensorrt", ">1.0.0")
    assert not covers_all("tensorrt", "<2.0.0")


COSTS = "[optimizer.cpp::computeCosts::3728] Error Code 10"


@pytest.mark.parametrize(
    ("message", "releases"),
    [
        (COSTS, {"tensorrt": "8.5"}),
        ("[optimizer.cpp::a::b::computeCosts::3869]", {"tensorrt": "8.6.1"}),
        ("[optimizer.cpp::computeCosts::1]", {"tensorrt": ""}),
        ("[optimizer.cpp::other::3728]", {}),
        ("at /a/codeGenerator.cpp:1783)", {"tensorrt": "10.16", "tensorrt-rtx": "1.4.0"}),
        ("at /a/codeGenerator.cpp:2)", {}),
        ("words", {}),
        ("x" * (1500 - len("[optimizer.cpp::computeCosts::3728]")) + COSTS, {"tensorrt": "8.5"}),
        ("x" * (1501 - len("[optimizer.cpp::computeCosts::3728]")) + COSTS, {}),
    ],
)
def test_the_release_of_a_source_line(message: str, releases: dict[str, str]) -> None:
    """The first 1500 characters of a message count."""
    assert release_of(message) == releases


def test_entries_of_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = (
        "- op: Conv\n  a: 1\n\n# note\n",
        "- op: [Add, Sub , Mul]\n  b: |\n    - op: no\n",
        "- op: Neg",
    )
    asked: list[Any] = []

    def text(name: str) -> str:
        asked.append(name)
        return f"# head\n\n{first}{second}{third}"

    monkeypatch.setattr(tables, "text", text)
    assert written("some") == (
        TableEntry(3, ("Conv",), first),
        TableEntry(7, ("Add", "Sub", "Mul"), second),
        TableEntry(10, ("Neg",), third),
    )
    assert asked == ["some"]
