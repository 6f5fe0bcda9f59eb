"""Which rules to run: ``--select`` and ``--ignore``, in ruff's grammar.

A selector is a rule's id, its name, the beginning of ids (``ACC``, ``ACC1``), or ``ALL``.  The most
specific selector that covers a rule decides; between equals, ``--ignore`` does.
See https://docs.astral.sh/ruff/linter/#rule-selection.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from trtlint.knowledge.nearest import nearest

EVERYTHING = "ALL"


class SelectionError(ValueError):
    """A selector that covers no rule; the text names the nearest ones."""


class Selectable(Protocol):
    """What selection needs to know of a rule."""

    @property
    def id(self) -> str:
        """The id."""

    @property
    def name(self) -> str:
        """The name."""


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
    return choose_by_layers(rules, [Layer(tuple(split(select)), ignore=tuple(split(ignore)))])


@dataclass(frozen=True, slots=True)
class Layer:
    """What one place says of the rules to run: a configuration, one of its sections, the command line.

    Attributes:
        select: selectors of the only rules to run, whatever outer layers say; none for no change.
        extend: selectors of rules to run as well.
        ignore: selectors of rules to leave out.
        where: what an error begins with, such as the file and table.
    """

    select: tuple[str, ...] = ()
    extend: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    where: str = ""


def choose_by_layers(rules: Sequence[_Rule], layers: Iterable[Layer]) -> list[_Rule]:
    """The rules to run, in their order, where several places have a say.

    Args:
        rules: all rules, which run unless a layer says otherwise.
        layers: from the outermost to the one that has the last word.

    Raises:
        SelectionError: a selector covers no rule.
    """
    running = {rule.id for rule in rules}
    for layer in layers:
        for key, selectors in (
            ("select", layer.select),
            ("extend-select", layer.extend),
            ("ignore", layer.ignore),
        ):
            for selector in selectors:
                require(selector, rules, f"{layer.where}{key}: " if layer.where else "")
        if layer.select:
            running.clear()
        for rule in rules:
            wanted = _best((*layer.select, *layer.extend), rule)
            refused = _best(layer.ignore, rule)
            if wanted > refused:
                running.add(rule.id)
            elif refused:
                running.discard(rule.id)
    return [rule for rule in rules if rule.id in running]


def require(selector: str, rules: Iterable[Selectable], where: str = "") -> None:
    """Refuse a selector that covers no rule.

    Raises:
        SelectionError: the text begins with ``where`` and names the nearest rules.
    """
    known = list(rules)
    if not any(_precision(selector, rule.id, rule.name) is not None for rule in known):
        raise SelectionError(where + unknown(selector, known))


def covers(selector: str, id_: str, name: str) -> bool:
    """Whether a selector covers the rule of this id and name."""
    return _precision(selector, id_, name) is not None


def most_specific(selectors: Iterable[str], id_: str, name: str) -> str | None:
    """The selector that covers a rule most narrowly, the last of equals; None if none does."""
    found, best = None, 0
    for selector in selectors:
        precision = _precision(selector, id_, name) or 0
        if precision and precision >= best:
            found, best = selector, precision
    return found


def unknown(key: str, rules: Iterable[Selectable]) -> str:
    """What to say of a selector that covers no rule."""
    near = nearest(key, (text for rule in rules for text in (rule.id, rule.name)), count=3)
    hint = f"; did you mean {', '.join(near)}?" if near else "; `trtlint rules` lists them"
    return f"no rule has the id, id prefix or name {key!r}{hint}"


def split(selectors: Iterable[str]) -> list[str]:
    """Selectors with those joined with commas apart, empty ones left out."""
    return [part.strip() for text in selectors for part in text.split(",") if part.strip()]


def _best(selectors: Iterable[str], rule: Selectable) -> int:
    return max((_precision(selector, rule.id, rule.name) or 0 for selector in selectors), default=0)


def _precision(selector: str, id_: str, name: str) -> int | None:
    """How narrowly a selector covers a rule, 1 being the least; None if it does not."""
    if selector.lower() == name:
        return len(id_) + 1
    selector = selector.upper()
    if selector == EVERYTHING:
        return 1
    return len(selector) + 1 if id_.startswith(selector) else None
