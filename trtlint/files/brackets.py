"""Measure how deeply brackets are nested in a text.

A recursive parser cannot read a text with very deep brackets.
"""

from __future__ import annotations


def deepest(text: str, opening: str, closing: str) -> tuple[int, int]:
    """Return the largest nesting depth, and the first line that reaches this depth.

    Line numbers begin at 1.  Brackets in strings and comments are not ignored.

    Args:
        text: the text.
        opening: the opening brackets, one character each.
        closing: the closing brackets, one character each.
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
