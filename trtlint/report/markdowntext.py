"""GitHub Markdown in which all text is escaped.

Names in a model are arbitrary text. trtlint escapes the names, so they cannot become markup, HTML, mentions
or links: https://github.github.com/gfm/
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from trtlint.report.escape import clean

_MARKS = frozenset("\\`*_[]<>#|~@&:$!")
"""Characters that have a meaning in GitHub Markdown."""
_WWW = re.compile(r"(?i)(?<=www)\.")
_TICKS = re.compile(r"`+")


def text(plain: str) -> str:
    """Escape plain text for Markdown."""
    escaped = "".join(f"&#{ord(char)};" if char in _MARKS else char for char in clean(plain))
    # GitHub finds mentions and references in the rendered text, unless it contains a zero-width space.
    escaped = escaped.replace("&#64;", "&#64;&#8203;").replace("&#35;", "&#35;&#8203;")
    return _WWW.sub("&#46;", escaped)


def code(plain: str) -> str:
    """Format a name as a code span for a table cell. Return an empty string for an empty name."""
    cleaned = clean(plain)
    if not cleaned.strip():
        return ""
    fence = _fence(cleaned, 1)
    pad = " " if cleaned.startswith("`") or cleaned.endswith("`") else ""
    # A bar ends a table cell, even in a code span, so escape the bar. GitHub removes the backslash.
    return f"{fence}{pad}{cleaned}{pad}{fence}".replace("|", "\\|")


def fenced(content: str, language: str) -> Iterator[str]:
    """Yield the lines of a fenced code block. The fence is longer than any fence in the content."""
    shown = "\n".join(clean(line) for line in content.splitlines())
    fence = _fence(shown, 3)
    yield from (f"{fence}{language}", shown, fence)


def _fence(content: str, shortest: int) -> str:
    longest = max((len(run) for run in _TICKS.findall(content)), default=0)
    return "`" * max(longest + 1, shortest)
