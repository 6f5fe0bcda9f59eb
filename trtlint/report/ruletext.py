"""Texts from rules: versions and summary."""

from __future__ import annotations

import re

from trtlint.engine.rule import Rule
from trtlint.knowledge.ranges import in_words
from trtlint.knowledge.releases import PRODUCTS

_SENTENCE = re.compile(r"(.+?[.:;])(\s|$)", re.DOTALL)


def applies(rule: Rule) -> str:
    """Return the versions that a rule affects, as text."""
    ranges = [(product, rule.applies[product]) for product in PRODUCTS if product in rule.applies]
    return ", ".join(in_words(product, specifier) for product, specifier in ranges)


def summary(rule: Rule) -> str:
    """Return the summary of a rule, or the first sentence of its documentation."""
    return rule.summary or _first_sentence(rule)


def _first_sentence(rule: Rule) -> str:
    for paragraph in rule.body.split("\n\n"):
        lines = [line for line in paragraph.strip().splitlines() if not line.startswith("#")]
        text = " ".join(" ".join(lines).split())
        if text:
            match = _SENTENCE.match(text)
            return f"{(match[1] if match else text).rstrip('.:;')}."
    return ""
