"""Short names for long symbolic dimensions in tensor types, explained in a legend."""

from __future__ import annotations

import re
from collections.abc import Sequence

LONGEST = 30
"""Largest number of characters of a dimension that is shown without a short name."""
_LONGEST_LEGEND = 160
"""Largest number of characters of a dimension in the legend."""
_SYMBOL = re.compile(r"[A-Za-z]")


def shortened(types: Sequence[str]) -> tuple[list[str], list[str]]:
    """Replace long symbolic dimensions by short names. Return the types and the lines of the legend.

    >>> shortened(["f32[b,4,(((((((height - 1)//2)) + 1 - 1)//2)) + 1)]"])
    (['f32[b,4,h1]'], ['h1 = (((((((height - 1)//2)) + 1 - 1)//2)) + 1)'])
    """
    names: dict[str, str] = {}
    shown = []
    for text in types:
        head, bracket, rest = text.partition("[")
        if not bracket or len(rest) <= LONGEST or not rest.endswith("]"):
            shown.append(text)
            continue
        sizes = [_name(size, names) if len(size) > LONGEST else size for size in _split(rest[:-1])]
        shown.append(f"{head}[{','.join(sizes)}]")
    return shown, [f"{name} = {_cut(size)}" for size, name in names.items()]


def _name(size: str, names: dict[str, str]) -> str:
    symbol = _SYMBOL.search(size)
    letter = symbol[0].lower() if symbol else "n"
    return names.setdefault(size, f"{letter}{len(names) + 1}")


def _cut(size: str) -> str:
    return size if len(size) <= _LONGEST_LEGEND else f"{size[:_LONGEST_LEGEND]} ..."


def _split(text: str) -> list[str]:
    """Split a text at its commas, except inside parentheses."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]
