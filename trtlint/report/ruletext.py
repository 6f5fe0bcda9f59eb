"""Text about a rule: affected versions, summary, and the sections of its documentation."""

from __future__ import annotations

import re

from trtlint.engine.rule import Rule
from trtlint.knowledge.ranges import in_words
from trtlint.knowledge.releases import PRODUCTS

_HEADING = re.compile(r"^## +(.+?)\s*$", re.MULTILINE)
_EXAMPLES = ("Fires", "Stays silent", "Fixed")
"""Sections of a rule's documentation that contain example models."""
_FIX = "How to fix"
_SHORTEST = 20
"""Smallest number of characters outside of ``{...}`` in advice that :func:`sections` lists."""
_SENTENCE = re.compile(r"(.+?[.:;])(\s|$)", re.DOTALL)


def applies(rule: Rule) -> str:
    """Return the versions that a rule affects, as text."""
    ranges = [(product, rule.applies[product]) for product in PRODUCTS if product in rule.applies]
    return ", ".join(in_words(product, specifier) for product, specifier in ranges)


def summary(rule: Rule) -> str:
    """Return the summary of a rule, or the first sentence of its documentation."""
    return rule.summary or _first_sentence(rule)


def sections(rule: Rule) -> tuple[str, str, str]:
    """Return the documentation of a rule in three parts: fix of the problem, remaining text, and examples.

    If the documentation has no section about the fix, the first part lists the advice of the rule.
    """
    parts: dict[str, list[str]] = {_FIX: [], "": [], "examples": []}
    starts = [match.start() for match in _HEADING.finditer(rule.body)]
    for start, end in zip([0, *starts], [*starts, len(rule.body)], strict=True):
        text = rule.body[start:end].strip()
        heading = _HEADING.match(text)
        title = "" if heading is None else heading[1]
        kind = _FIX if title == _FIX else "examples" if title in _EXAMPLES else ""
        parts[kind] += [text] if text else []
    first, others, examples = ("\n\n".join(texts) for texts in parts.values())
    return first or _advice(rule), others, examples


def _advice(rule: Rule) -> str:
    lines = []
    for advice in rule.advice:
        ranges = ", ".join(in_words(product, specifier) for product, specifier in advice.applies.items())
        pieces = advice.do.pieces
        if sum(len(piece) for piece in pieces if isinstance(piece, str)) < _SHORTEST:
            continue
        text = "".join(piece if isinstance(piece, str) else f"`{piece.text}`" for piece in pieces)
        text = text.removeprefix("Or ")
        text = text[:1].upper() + text[1:]
        lines.append(f"- {ranges}: {text}" if ranges else f"- {text}")
    head = "A finding shows only the advice that fits the model:"
    return "\n".join([f"## {_FIX}", "", head, "", *lines]) if lines else ""


def _first_sentence(rule: Rule) -> str:
    for paragraph in rule.body.split("\n\n"):
        lines = [line for line in paragraph.strip().splitlines() if not line.startswith("#")]
        text = " ".join(" ".join(lines).split())
        if text:
            match = _SENTENCE.match(text)
            return f"{(match[1] if match else text).rstrip('.:;')}."
    return ""
