"""Texts that make a regular expression backtrack: repeats of its parts, then a mismatch."""

from __future__ import annotations

import importlib
import pkgutil
import re
import time
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Any

import trtlint

_parser: Any = importlib.import_module("re._parser" if hasattr(re, "_parser") else "sre_parse")
_FILLERS = ("a", "A", "1", " ", ".", "(", "[", "\n", "x ", "1 ", "1. ")


def atoms(pattern: re.Pattern[Any]) -> list[str]:
    """Return a text for each part of an expression, with one copy of every repeat."""
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    return [found for found in _texts(_parser.parse(text)) if found]


def _texts(parts: Any) -> Iterator[str]:
    for op, value in parts:
        name = str(op)
        if name == "LITERAL":
            yield chr(value)
        elif name in ("NOT_LITERAL", "ANY"):
            yield "a"
        elif name == "IN":
            yield _member(value)
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            yield from _texts(value[2])
        elif name == "SUBPATTERN":
            yield from _texts(value[3])
        elif name == "ATOMIC_GROUP":
            yield from _texts(value)
        elif name == "BRANCH":
            for branch in value[1]:
                yield from _texts(branch)
        elif name == "GROUPREF_EXISTS":
            yield from _texts(value[1])


def _member(items: Any) -> str:
    """Return a character of a set."""
    classes = {"CATEGORY_DIGIT": "1", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a", "CATEGORY_NOT_SPACE": "a"}
    if str(items[0][0]) == "NEGATE":
        return next(char for char in "a1 .\x01" if all(char != _member([item]) for item in items[1:]))
    name, value = str(items[0][0]), items[0][1]
    if name == "LITERAL":
        return chr(value)
    return chr(value[0]) if name == "RANGE" else classes.get(str(value), "a")


def attacks(pattern: re.Pattern[Any], length: int) -> Iterator[str]:
    """Return texts of about this many characters."""
    parts = atoms(pattern)
    words = _joined(parts)
    pumps = dict.fromkeys((*_FILLERS, *words, "".join(words)))
    pumps.update(dict.fromkeys(a + b for a, b in pairwise(words)))
    heads = ["".join(words[:count]) for count in range(len(words))]
    for head in dict.fromkeys(heads):
        for pump in pumps:
            yield head + pump * (length // len(pump)) + "\x01"


def _joined(parts: list[str]) -> list[str]:
    """Join consecutive letters into one word, because they form one literal."""
    words: list[str] = []
    for part in parts:
        if words and part.isalpha() and words[-1].isalpha():
            words[-1] += part
        else:
            words.append(part)
    return words


def slowest(pattern: re.Pattern[Any], length: int, enough: float, most: int = 400) -> tuple[float, str]:
    """Return the longest search time in these texts, in seconds, and the start of that text.

    A search beyond the limit is timed again, because another process may have slowed it down.
    """
    worst, where = 0.0, ""
    for text in islice(attacks(pattern, length), most):
        took = _seconds(pattern, text)
        if took > enough:
            took = min(took, _seconds(pattern, text), _seconds(pattern, text))
        if took > worst:
            worst, where = took, text[:80]
        if worst > enough:
            break
    return worst, where


def _seconds(pattern: re.Pattern[Any], text: str) -> float:
    began = time.process_time()
    pattern.search(text.encode("utf-8") if isinstance(pattern.pattern, bytes) else text)
    return time.process_time() - began


def patterns() -> Iterator[tuple[str, re.Pattern[Any]]]:
    """Return every compiled module-level expression of trtlint by name."""
    for info in pkgutil.walk_packages(trtlint.__path__, "trtlint."):
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                yield f"{info.name}.{name}", value
