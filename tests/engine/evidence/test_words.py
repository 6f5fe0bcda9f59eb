"""Tests of short texts about layers and times."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from trtlint.engine.evidence.words import (
    bounded,
    in_percent,
    layer_in_words,
    quoted,
    quoted_without_place,
    shortened,
)


@pytest.mark.parametrize(
    ("precision", "ms", "share", "words"),
    [
        ("f16", 0.5, 0.25, "layer conv (f16), 25 % (0.5 ms)"),
        (None, 0.5, 0.25, "layer conv, 25 % (0.5 ms)"),
        ("f16", None, 0.25, "layer conv (f16)"),
        ("f16", 0.5, None, "layer conv (f16)"),
    ],
)
def test_a_layer(precision: str | None, ms: float | None, share: float | None, words: str) -> None:
    layer: Any = SimpleNamespace(name="conv", precision=precision, ms=ms, share=share)
    assert layer_in_words(layer) == words


@pytest.mark.parametrize(
    ("share", "words"), [(1.0, "100 %"), (0.095, "10 %"), (0.0949, "9.5 %"), (0.012, "1.2 %"), (0.0, "0.0 %")]
)
def test_a_share(share: float, words: str) -> None:
    assert in_percent(share) == words


def test_long_lists_end_with_a_number() -> None:
    assert bounded(["a", "b", "a"], 2) == ("a", "b")
    assert bounded(["a", "b", "c"], 2) == ("a", "b (+1 more)")
    assert bounded(["a", "b", "c", "d"], 2) == ("a", "b (+2 more)")
    assert bounded("abc", 3) == ("a", "b", "c")


@pytest.mark.parametrize(
    ("message", "groups", "words"),
    [
        ("short", {}, "log:1: short"),
        ("two\n  lines", {"why": "w"}, "log:1: two lines"),
        ("x" * 200, {"why": "w"}, f"log:1: {shortened('x' * 200)}"),
        ("x" * 200 + "\ny", {}, f"log:1: {shortened('x' * 200)}"),
        ("x" * 200 + "\ny", {"why": "w"}, "log:1: the reason"),
    ],
)
def test_a_quoted_message(message: str, groups: dict[str, str], words: str) -> None:
    """A reason on a later line replaces a long message."""
    fact: Any = SimpleNamespace(message=message, groups=groups, at="log:1", reason="the reason")
    assert quoted(fact) == words
    assert quoted_without_place(fact) == f"{words} (the log does not name the nodes of this message)"


def test_long_texts_are_cut() -> None:
    whole = next(length for length in range(1, 10_000) if shortened("x" * (length + 1)).endswith("..."))
    assert shortened("x" * whole) == "x" * whole
    assert shortened("x" * (whole + 1)) == "x" * (whole - 3) + "..."
