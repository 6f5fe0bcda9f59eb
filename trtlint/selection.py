"""Which rules to run: ``--select`` and ``--ignore``, in ruff's grammar.

A selector is a rule's id, its name, the beginning of ids (``ACC``, ``ACC1``), or ``ALL``.  The most
specific selector that covers a rule decides; between equals, ``--ignore`` does.
See https://docs.astral.sh/ruff/linter/#rule-selection.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Protocol, TypeVar

EVERYTHING = "ALL"


class SelectionError(ValueError):
    """A selector that covers no rule; the text names the nearest ones."""


class Selectable(Protocol):
    """What selection needs to know of a rule."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...


_Rule = TypeVar("_Rule", bound=Selectable)


def choose(rules: Sequence[_Rule], select: Iterable[str] = (), ignore: Iterable[str] = ()) -> list[_Rule]:
    """The rules to run, in their order.

    Args:
        rules: all rules.
        select: selectors, or several joined with commas; all rules if there are none.
        ignore: selectors of what to leave out.

    Raises:
        SelectionError: a selector covers no rule.
    """
    selected = split(select) or [EVERYTHING]
    ignored = split(ignore)
    for selector in (*selected, *ignored):
        if not any(_precision(selector, rule) is not None for rule in rules):
            raise SelectionError(unknown(selector, rules))
    return [rule for rule in rules if _best(selected, rule) > _best(ignored, rule)]


def unknown(key: str, rules: Iterable[Selectable]) -> str:
    """What to say of a selector that covers no rule."""
    known = {text.lower(): text for rule in rules for text in (rule.id, rule.name)}
    near = [known[text] for text in get_close_matches(key.lower(), known, n=3, cutoff=0.5)]
    hint = f"; did you mean {', '.join(near)}?" if near else "; `trtlint rules` lists them"
    return f"no rule has the id, id prefix or name {key!r}{hint}"


def split(selectors: Iterable[str]) -> list[str]:
    """Selectors with those joined with commas apart, empty ones left out."""
    return [part.strip() for text in selectors for part in text.split(",") if part.strip()]


def _best(selectors: Iterable[str], rule: Selectable) -> int:
    return max((_precision(selector, rule) or 0 for selector in selectors), default=0)


def _precision(selector: str, rule: Selectable) -> int | None:
    """How narrowly a selector covers a rule, 1 being the least; None if it does not."""
    if selector.lower() == rule.name:
        return len(rule.id) + 1
    selector = selector.upper()
    if selector == EVERYTHING:
        return 1
    return len(selector) + 1 if rule.id.startswith(selector) else None
