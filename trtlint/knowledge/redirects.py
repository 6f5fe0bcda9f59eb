"""Read which rules were renamed or removed, from redirects.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from msgspec import Struct, convert
from msgspec.structs import replace

from trtlint.knowledge import data


class Redirect(Struct, frozen=True):
    """The renaming or removal of one rule.

    Attributes:
        id: the old id of the rule.
        name: the old name of the rule.
        to: the id of the rule that replaces this rule; None if the rule was removed.
        since: the release of trtlint that made the change.
        because: the reason for the change, as a part of a sentence.
    """

    id: str
    name: str
    to: str | None
    since: str
    because: str

    def words(self, old: str) -> str:
        """Return a text for a user who wrote ``old``, such as ``ABC101 is XYZ101 since trtlint 1.2: ...``."""
        became = "was removed in" if self.to is None else f"is {self.to} since"
        return f"{old} {became} trtlint {self.since}: {self.because}"


@cache
def redirects() -> tuple[Redirect, ...]:
    """Return all renamed or removed rules, in the order of the file."""
    return tuple(convert({"to": None, **row}, Redirect) for row in data("redirects"))


def current(id_: str) -> str:
    """Return the current id of a rule.  ``id_`` is the current id or an old id."""
    found = redirects_by_word().get(id_.lower())
    return id_ if found is None or found.to is None else found.to


def first_id(id_: str) -> str:
    """Return the first id that a rule had.

    Fingerprints of findings contain the first id, so that a renaming does not change them.
    """
    return _first_ids().get(id_, id_)


@cache
def redirects_by_word() -> Mapping[str, Redirect]:
    """Return the renamings and removals of rules.

    The keys are the old ids, in lower case, and the old names.

    If a replacement was itself replaced, ``to`` is the newest rule.
    """
    moved = {each.id: each for each in redirects() if each.to != each.id}
    found: dict[str, Redirect] = {}
    for each in redirects():
        end = each.to
        for _ in moved:
            end = moved[end].to if end in moved else end
        last = replace(each, to=end)
        found[each.name] = last
        if each.id in moved:
            found[each.id.lower()] = last
    return found


@cache
def _first_ids() -> Mapping[str, str]:
    """Map the current id of each renamed rule to its oldest id."""
    found: dict[str, str] = {}
    for each in redirects():
        if each.to is not None and each.to != each.id:
            found.setdefault(each.to, found.get(each.id, each.id))
    return found
