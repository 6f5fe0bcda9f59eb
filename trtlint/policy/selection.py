"""Rule selection: ``--select`` and ``--ignore``, in ruff's grammar.

A selector is the id or name of a rule, a prefix of ids (``ACC``, ``ACC1``), a group (``memory``), or ``ALL``.
- If several selectors match a rule, the most specific selector applies.
- If a selector of ``--select`` and a selector of ``--ignore`` are equally specific, ``--ignore`` applies.
- A preview rule runs only with ``--preview``, or if its own id or name is selected.
- The old id or name of a renamed rule selects the rule that replaced it.

See https://docs.astral.sh/ruff/linter/#rule-selection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import NamedTuple, Protocol, TypeVar

from msgspec import Struct

from trtlint.engine.rule import GROUPS
from trtlint.errors import SettingError
from trtlint.knowledge.nearest import nearest
from trtlint.knowledge.redirects import redirects_by_word

EVERYTHING = "ALL"


class SelectableRule(Protocol):
    """The properties of a rule that selectors can match."""

    @property
    def id(self) -> str:
        """Return the id of the rule, such as ``ACC102``."""

    @property
    def name(self) -> str:
        """Return the name of the rule."""

    @property
    def group(self) -> str:
        """Return the group of the rule, or an empty string if the group is unknown."""

    @property
    def status(self) -> str:
        """Return the status of the rule: ``preview``, ``stable`` or ``deprecated``."""


class RuleName(NamedTuple):
    """The id, name, group and status of a rule, which are enough to select the rule."""

    id: str
    name: str
    group: str = ""
    status: str = "stable"

    @classmethod
    def of(cls, rule: SelectableRule) -> RuleName:
        """Return the id, name, group and status of a rule."""
        return cls(rule.id, rule.name, rule.group, rule.status)


_Rule = TypeVar("_Rule", bound=SelectableRule)


class RuleLayer(Struct, frozen=True):
    """The selectors from one source: a configuration, a ``[[models]]`` section, or the command line.

    Attributes:
        select: selectors of the rules to run, in place of the rules that less specific sources select.
            Without selectors, the rules of the less specific sources stay selected.
        extend: selectors of additional rules.
        ignore: selectors of rules to leave out.
        where: prefix of error messages, such as the file and table.
    """

    select: tuple[str, ...] = ()
    extend: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    where: str = ""

    def parts(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the three lists of selectors, each with its key in the configuration file."""
        return ("select", self.select), ("extend-select", self.extend), ("ignore", self.ignore)


def choose(rules: Sequence[_Rule], layers: Iterable[RuleLayer], *, preview: bool = False) -> list[_Rule]:
    """Return the rules that the selectors of all layers select, in the order of ``rules``.

    Args:
        rules: all rules. Without selectors, all of them run, except rules in preview.
        layers: the selectors by source, the least specific source first.  Later sources take precedence.
        preview: if false, a preview rule runs only if its own id or name is selected.

    Raises:
        SettingError: a selector matches no rule.
    """
    running = {rule.id for rule in rules if preview or rule.status != "preview"}
    for layer in layers:
        for key, selectors in layer.parts():
            for selector in selectors:
                require(selector, rules, f"{layer.where}{key}: " if layer.where else "")
        if layer.select:
            running.clear()
        for rule in rules:
            wanted = _best((*layer.select, *layer.extend), rule)
            refused = _best(layer.ignore, rule)
            if wanted > refused and (preview or rule.status != "preview" or wanted >= _exactly(rule)):
                running.add(rule.id)
            elif refused:
                running.discard(rule.id)
    return [rule for rule in rules if rule.id in running]


def require(selector: str, rules: Iterable[SelectableRule], where: str = "") -> None:
    """Raise an error for a selector that matches neither a rule nor a removed rule.

    Raises:
        SettingError: the selector matches no rule.  The message begins with ``where`` and names similar
            rules.
    """
    known = list(rules)
    if selector.lower() not in redirects_by_word() and all(
        _precision(selector, rule) is None for rule in known
    ):
        raise SettingError(where + unknown(selector, known))


def covers(selector: str, rule: SelectableRule) -> bool:
    """Return whether a selector, such as ``ACC1``, matches a rule."""
    return _precision(selector, rule) is not None


def most_specific(selectors: Iterable[str], rule: SelectableRule) -> str | None:
    """Return the most specific selector that matches a rule, or None if no selector matches.

    Of several equally specific selectors, return the last.
    """
    rated = [(precision, selector) for selector in selectors if (precision := _precision(selector, rule))]
    return max(reversed(rated), key=itemgetter(0))[1] if rated else None


def removed(selector: str) -> bool:
    """Return whether a selector is the id or name of a removed rule."""
    became = redirects_by_word().get(selector.lower())
    return became is not None and became.to is None


def outdated(selectors: Iterable[str], rules: Iterable[SelectableRule]) -> list[str]:
    """Return notes about selectors that name deprecated, renamed or removed rules."""
    selectors = list(selectors)
    named = {word: rule for rule in rules for word in (rule.id.lower(), rule.name)} if selectors else {}
    found: dict[str, None] = {}
    for selector in selectors:
        word = selector.lower()
        rule, became = named.get(word), redirects_by_word().get(word)
        if rule is not None and rule.status == "deprecated":
            found[f"{selector} is deprecated and will be removed; see `trtlint rule {rule.id}`"] = None
        elif rule is None and became is not None:
            found[became.words(selector)] = None
    return list(found)


def note_outdated(
    where: str, selectors: Iterable[str], rules: Iterable[SelectableRule], notify: Callable[[str], None]
) -> None:
    """Show a note for each selector that names a deprecated, renamed or removed rule.

    Args:
        where: the option, or the file and key, that contains the selectors.
        selectors: the selectors.
        rules: all rules.
        notify: function that shows a note to the user.
    """
    for sentence in outdated(selectors, rules):
        notify(f"note: {where}: {sentence}")


def unknown(key: str, rules: Iterable[SelectableRule]) -> str:
    """Return the error message about a selector that matches no rule."""
    words = (*(text for rule in rules for text in (rule.id, rule.name)), *GROUPS)
    near = nearest(key, words, count=3)
    hint = f"; did you mean {', '.join(near)}?" if near else "; `trtlint rules` lists the rules"
    return f"no rule has the id, id prefix, name or group {key!r}{hint}"


def split(selectors: Iterable[str]) -> list[str]:
    """Split comma-separated selectors and drop empty selectors."""
    return [part.strip() for text in selectors for part in text.split(",") if part.strip()]


def _best(selectors: Iterable[str], rule: SelectableRule) -> int:
    return max((_precision(selector, rule) or 0 for selector in selectors), default=0)


def _exactly(rule: SelectableRule) -> int:
    """Return the result of :func:`_precision` for a selector that is the id or the name of ``rule``."""
    return len(rule.id) + 2


def _precision(selector: str, rule: SelectableRule) -> int | None:
    """Return a rating of how specific a selector is for a rule, or None if the selector does not match.

    ``ALL`` has the rating 1, and a group has the rating 2. A prefix of ids has a higher rating. The longer
    the prefix, the higher the rating.
    """
    if selector.lower() == rule.name:
        return _exactly(rule)
    became = redirects_by_word().get(selector.lower())
    if became is not None and became.to == rule.id:
        return _exactly(rule)
    if selector.lower() == rule.group:
        return 2
    selector = selector.upper()
    if selector == EVERYTHING:
        return 1
    return len(selector) + 2 if rule.id.startswith(selector) else None
