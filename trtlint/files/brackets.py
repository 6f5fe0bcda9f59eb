"""Measure how deeply brackets are nested in a text.

A recursive parser cannot read a text with very deep brackets.
"""

from __future__ import annotations


def depth(text: str, opening: str, closing: str) -> int:
    """Return the largest depth of open brackets, including brackets in strings and comments.

    Args:
        text: the text.
        opening: the opening brackets, one character each.
        closing: the closing brackets, one character each.
    """
    return deepest(text, opening, closing)[0]


def deepest(text: str, opening: str, closing: str) -> tuple[int, int]:
    """Return the largest depth of open brackets, and the first line with this depth, from 1.

    The arguments are those of :func:`depth`.
    """
    most = now = 0
    line = at = 1
    for char in text:
        if char in opening:
            now += 1
            if now > most:
                most, at = now, line
        elif char in closing:
            now = max(0, now - 1)
        elif char == "\n":
            line += 1
    return most, at
