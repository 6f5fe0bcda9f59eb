"""The options of trtexec, and which release brought, deprecated or removed each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from trtlint.knowledge import data
from trtlint.knowledge.nearest import nearest
from trtlint.lean import dataclass

Line = tuple[int, int]
"""A release line as numbers that compare: (10, 7) is 10.7."""


@dataclass(frozen=True, slots=True)
class FlagHistory:
    """What is known of one option of trtexec, from the file flags.yaml.

    Attributes:
        name: with its dashes, ``--fp16``.
        group: ``precision``, ``calibration``, ``layer-precision``, ``shapes``, ``benchmark`` or empty.
        since: the first release line that has it, None where it is as old as the releases known here.
        deprecated: the first release line that advises against it, None where none does.
        removed: the first release line without it, None where all later ones have it.
        absent: first and last of the release lines in between that lack it, None where none does.
        noop: the first release line where it does nothing, None where there is none.
        instead: what to write instead, empty where there is nothing to say.
        sources: public pages.
    """

    name: str
    group: str
    since: Line | None
    deprecated: Line | None
    removed: Line | None
    absent: tuple[Line, Line] | None
    noop: Line | None
    instead: str
    sources: tuple[str, ...]


@cache
def flag_histories() -> Mapping[str, FlagHistory]:
    """The options that some release line brought, deprecated or removed, by name."""
    content = data("flags")
    found = {}
    for row in content["flags"]:
        absent = row.get("absent")
        found[row["flag"]] = FlagHistory(
            row["flag"],
            row.get("group", ""),
            _line(row.get("since")),
            _line(row.get("deprecated")),
            _line(row.get("removed")),
            None if absent is None else (_as_line(absent[0]), _as_line(absent[1])),
            _line(row.get("noop")),
            row.get("instead", ""),
            tuple(content["pages"][key] for key in row["sources"]),
        )
    return found


@cache
def known_flags() -> frozenset[str]:
    """Every option that some release line from 8.6 on has."""
    return frozenset(flag_histories()) | {flag for row in data("flags")["always"] for flag in row}


def nearest_flag(name: str) -> str | None:
    """The option that a misspelt one probably means, None where none is near enough to say so."""
    if name in known_flags():
        return None
    return next(iter(nearest(name, sorted(known_flags()), cutoff=0.85)), None)


def _line(text: str | None) -> Line | None:
    return None if text is None else _as_line(text)


def _as_line(text: str) -> Line:
    major, minor = text.split(".")
    return int(major), int(minor)
