"""Rules that were renamed or removed: the file redirects.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from trtlint.knowledge import data
from trtlint.lean import dataclass


@dataclass(frozen=True, slots=True)
class Redirect:
    """What became of a rule.

    Attributes:
        id: the id that it had.
        name: the name that it had.
        to: the id of the rule that says it now, None where none does.
        since: the release of trtlint that changed it.
        because: half a sentence, why.
    """

    id: str
    name: str
    to: str | None
    since: str
    because: str

    def words(self, said: str) -> str:
        """What to tell whoever wrote the old id or name: ``ABC101 is XYZ101 since trtlint 1.2: ...``."""
        became = "was removed in" if self.to is None else f"is {self.to} since"
        return f"{said} {became} trtlint {self.since}: {self.because}"


@cache
def redirects() -> tuple[Redirect, ...]:
    """All of them, in the order of the file."""
    return tuple(
        Redirect(row["id"], row["name"], row.get("to"), row["since"], row["because"])
        for row in data("redirects")
    )


def redirect(word: str) -> Redirect | None:
    """What became of the rule that had this id or name, None where nothing is known of one."""
    return _by_word().get(word.lower())


def current(id_: str) -> str:
    """The id that a rule has now, given the one that it had; an id that never changed as it is."""
    found = redirect(id_)
    return id_ if found is None or found.to is None else found.to


def first_id(id_: str) -> str:
    """The id under which a rule became known: fingerprints hold it, so that they outlive a new one."""
    return _first_ids().get(id_, id_)


@cache
def _by_word() -> Mapping[str, Redirect]:
    """By old ids and old names in lower case, each with where it leads in the end."""
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
    """By the id that a rule has, the first one that it had."""
    found: dict[str, str] = {}
    for each in redirects():
        if each.to is not None and each.to != each.id:
            found.setdefault(each.to, found.get(each.id, each.id))
    return found
