"""Depth of nested brackets, to refuse texts that a recursive parser cannot read."""

from __future__ import annotations


def depth(text: str, opening: str, closing: str) -> int:
    """Return the largest depth of open brackets, including brackets in strings and comments.

    Args:
        text: the text.
        opening: the opening brackets, one character each.
        closing: the closing brackets, one character each.
    """
    deepest = now = 0
    for char in text:
        if char in opening:
            now += 1
            deepest = max(deepest, now)
        elif char in closing:
            now = max(0, now - 1)
    return deepest
