"""Read which releases added, deprecated or removed each option of trtexec."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from msgspec import Struct, convert

from trtlint.knowledge import data
from trtlint.knowledge.nearest import nearest


class FlagHistory(Struct, frozen=True, rename={"name": "flag"}):
    """The history of one trtexec option, from flags.yaml.  Release lines are texts such as ``10.7``.

    Attributes:
        name: the option with its dashes, such as ``--fp16``.
        group: the kind of setting: ``precision``, ``calibration``, ``layer-precision``, ``shapes``,
            ``benchmark`` or empty.
        since: the release line that added the option; None if unknown, because the oldest known line already
            has it.
        deprecated: the first release line that deprecates the option; None if no line deprecates it.
        removed: the first release line without the option; None if no line removed it.
        absent: for an option that was removed and came back, the first and the last release line without the
            option; None for any other option.
        noop: the first release line that ignores the option; None if no line ignores it.
        instead: the option to use instead; empty if unknown.
    """

    name: str
    group: str = ""
    since: str | None = None
    deprecated: str | None = None
    removed: str | None = None
    absent: tuple[str, str] | None = None
    noop: str | None = None
    instead: str = ""


@cache
def flag_histories() -> Mapping[str, FlagHistory]:
    """For the name of each option that a release added, deprecated or removed, return its history."""
    return {row.name: row for row in convert(data("flags")["flags"], list[FlagHistory])}


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
