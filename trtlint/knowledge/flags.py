"""Read which releases added, deprecated or removed each option of trtexec."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Literal

from msgspec import Struct, convert

from trtlint.knowledge import data
from trtlint.knowledge.nearest import nearest

_SHORTEST = len("--fp8")
"""Length of the shortest option that is compared character by character."""
_TYPE = re.compile(r"--[a-z]+(?:2|4|6|8|16|32|64)", re.IGNORECASE)
"""Pattern of names that end in the bits of a type, such as ``--fp4``."""


class FlagState(Struct, frozen=True):
    """A state of one trtexec option in a range of release lines.

    Attributes:
        name: the state. ``future``: later lines add the option. ``absent``: earlier and later lines have the
            option. ``idle``: the lines accept and ignore the option.
        first: the first release line of the range; empty for ``future``.
        end: the first release line after the range; empty if no known line ends the state.
    """

    name: Literal["future", "absent", "deprecated", "removed", "idle"]
    first: str = ""
    end: str = ""

    @property
    def versions(self) -> str:
        """The range of versions, such as ``>=10.0,<11.0``."""
        edges = (self.first and f">={self.first}", self.end and f"<{self.end}")
        return ",".join(filter(None, edges))

    def includes(self, release: str) -> bool:
        """Return whether a release such as ``10.3.0`` is in the range."""
        line = _line(release)
        return line >= _line(self.first) and not (self.end and line >= _line(self.end))


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

    def states(self) -> Iterator[FlagState]:
        """Yield the states of the option in which a release rejects, ignores or deprecates the option."""
        if self.since:
            yield FlagState("future", end=self.since)
        if self.absent is not None:
            first, last = self.absent
            major, minor = last.split(".")
            yield FlagState("absent", first, f"{major}.{int(minor) + 1}")
        if self.deprecated:
            yield FlagState("deprecated", self.deprecated, self.removed or "")
        if self.removed:
            yield FlagState("removed", self.removed)
        if self.noop:
            yield FlagState("idle", self.noop)


@cache
def flag_histories() -> Mapping[str, FlagHistory]:
    """For the name of each option that a release added, deprecated or removed, return its history."""
    return {row.name: row for row in convert(data("flags")["flags"], list[FlagHistory])}


@cache
def known_flags() -> frozenset[str]:
    """Return the names of all options of all release lines since 8.6."""
    return frozenset(flag_histories()) | {flag for row in data("flags")["always"] for flag in row}


class RejectedFlag(Struct, frozen=True):
    """The reason why a release of trtexec does not know an option.  A text is empty if it is unknown.

    Attributes:
        removed: the release line that removed the option.
        added: the release line that adds the option, later than the release, or adds it again.
        instead: the option to use instead; for a misspelt option, the known option that is most similar.
    """

    removed: str = ""
    added: str = ""
    instead: str = ""


def rejected_flag(name: str, release: str | None) -> RejectedFlag:
    """Return the reason why trtexec does not know an option.

    Args:
        name: the option with its dashes.
        release: the release of TensorRT, such as ``10.3.0``; None if unknown.
    """
    history = flag_histories().get(name)
    if history is None:
        return RejectedFlag(instead=nearest_flag(name) or "")
    for state in history.states():
        if state.name == "removed" and (release is None or state.includes(release)):
            return RejectedFlag(removed=state.first, instead=history.instead)
        if state.name in ("future", "absent") and release is not None and state.includes(release):
            return RejectedFlag(added=state.end)
    return RejectedFlag()


def _line(release: str) -> tuple[int, ...]:
    """Return the release line of a release as numbers, so that release lines can be compared."""
    return tuple(int(part) for part in release.split(".")[:2] if part.isdecimal())


def nearest_flag(name: str) -> str | None:
    """Return the known option that is most similar to a misspelt ``name``, or None if none is similar.

    In a short name, one wrong character leaves little similarity. So a known option that differs in one
    character also counts as similar. This does not apply to a name such as ``--fp4``, because the name may be
    a type of a newer release.

    The result is also None if ``name`` is itself a known option.
    """
    known = sorted(known_flags())
    if name in known:
        return None
    found = nearest(name, known, cutoff=0.85)
    if not found and len(name) >= _SHORTEST and not _TYPE.fullmatch(name):
        found = tuple(flag for flag in known if _differ_once(name.casefold(), flag.casefold()))
    return found[0] if found else None


def _differ_once(one: str, other: str) -> bool:
    """Return whether two names differ in one character, or in the order of two adjacent characters."""
    if len(one) != len(other):
        return False
    places = [index for index, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]
    if len(places) == 2:
        first, second = places
        return second == first + 1 and one[first : second + 1] == other[second] + other[first]
    return len(places) == 1
