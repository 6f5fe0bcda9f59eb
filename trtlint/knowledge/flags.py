"""Read which releases added, deprecated or removed each option of trtexec."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from msgspec import Struct

from trtlint.knowledge import data
from trtlint.knowledge.nearest import nearest

Line = tuple[int, int]
"""A release line as numbers that can be compared: (10, 7) is 10.7."""


class FlagHistory(Struct, frozen=True):
    """The history of one trtexec option, from flags.yaml.

    Attributes:
        name: the option with its dashes, such as ``--fp16``.
        group: the kind of setting: ``precision``, ``calibration``, ``layer-precision``, ``shapes``,
            ``benchmark`` or empty.
        since: the first release line that has the option; None if the oldest known line has the option.
        deprecated: the first release line that deprecates the option; None if no line deprecates it.
        removed: the first release line without the option; None if no line removed it.
        absent: the first and the last release line without the option, if later lines have the option again;
            otherwise None.
        noop: the first release line that ignores the option; None if no line ignores it.
        instead: the option to use instead; empty if unknown.
        sources: URLs of the public sources.
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
    """Return the histories of the options that a release added, deprecated or removed, by option name."""
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
    """Return the names of all options of all release lines since 8.6."""
    return frozenset(flag_histories()) | {flag for row in data("flags")["always"] for flag in row}


def nearest_flag(name: str) -> str | None:
    """Return the known option that is most similar to a misspelt ``name``, or None if none is similar.

    The result is also None if ``name`` is itself a known option.
    """
    if name in known_flags():
        return None
    return next(iter(nearest(name, sorted(known_flags()), cutoff=0.85)), None)


def _line(text: str | None) -> Line | None:
    return None if text is None else _as_line(text)


def _as_line(text: str) -> Line:
    major, minor = text.split(".")
    return int(major), int(minor)
