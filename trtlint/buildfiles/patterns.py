"""Read the table of patterns for log lines, and look up messages in it.

The entries are data, in ``patterns.yaml`` beside this module.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct, convert, field

from trtlint.knowledge import parsed

SEARCHED = 1500
"""The search for a regular expression covers at most this number of characters of a message.

The limit is necessary, because some expressions take cubic time. Patterns for whole messages have no limit.
"""
_BEFORE = 500
"""Number of searched characters that come before the text that made the message a candidate."""
KEY = 6
"""Length, in bytes, of the beginning of a message that selects the entries to try.

No ``starts`` literal is shorter.
"""


Outcome = Literal[
    "", "cause", "unusable", "refused", "skipped", "failed", "died", "passed", "anew", "harmless"
]
"""Outcome of a build, a load or a run: see :mod:`trtlint.buildfiles.diagnosis`."""

Tells = Literal[
    "",
    "hint",
    "input",
    "island_time",
    "layer",
    "memory",
    "memory_wanted",
    "parsed",
    "unexplained",
    "unparsed",
]
"""Role of a line in the facts about a build.

- empty: none
- ``hint``: a possible reason for a failure
- ``input``: an input of the network
- ``island_time``: the seconds of a Myelin island
- ``layer``: the node of a layer
- ``memory``: allocated bytes
- ``memory_wanted``: bytes that a tactic requests
- ``parsed``: a parsed model
- ``unexplained``: an unknown error
- ``unparsed``: a model that failed to parse
"""

_compiled = cache(re.compile)
_BEGINNING = re.compile(r"\b\w{3}")
"""Pattern of the first three characters of a word. The index finds a text by the beginning of one of its
words.
"""


class LogPattern(Struct, frozen=True, eq=False, forbid_unknown_fields=True):
    """One kind of message that a build prints: an entry of the pattern table.

    - ``name`` is the key of the records. ``phase`` is the phase of the build. ``severity`` has the letters of
      the severities with which the message is printed (``V I W E F``).
    - A message is a candidate if it begins with one of ``starts``. At severity W and above, it is also a
      candidate if it contains one of ``contains``.
    - ``regex`` is searched in each candidate. The record stores the named groups of the match.
    - ``meaning`` explains the message, and ``source`` is a public URL that shows such a line.
    - At most ``keep`` records are stored. Later records are only counted.
    - If ``decisive`` is true, the beginning of a line identifies this entry. ``regex`` is not searched.
    - If ``context`` is true, the message names the node or layer that the next warnings are about.

    The header of ``patterns.yaml`` explains the remaining fields.
    """

    name: str
    phase: str
    severity: str
    regex: str
    meaning: str
    source: str
    starts: tuple[str, ...] = ()
    contains: tuple[str, ...] = ()
    keep: int = 100
    decisive: bool = True
    context: bool = False
    bare: bool = False
    last: bool = False
    running: bool = False
    says: Outcome = ""
    names: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    announced: str = ""
    near: Mapping[str, int] = field(default_factory=dict)
    caused: bool = False
    causes: bool = False
    island: bool = False
    everywhere: bool = False
    specific: bool = False
    whole: bool = False
    of_model: tuple[str, ...] = ()
    tells: Tells = ""
    settles: str = ""
    duration: str = ""

    @property
    def compiled(self) -> re.Pattern[str]:
        """The compiled regular expression.

        It is compiled on first use, because compiling the expressions of all entries takes longer than
        reading a small log.
        """
        return _compiled(self.regex)

    def search(self, message: str, at: int = 0) -> re.Match[str] | None:
        """Search a message for the regular expression.

        ``at`` is the position where the message contains one of the texts in ``contains``. In a long message,
        only the text around ``at`` is searched.
        """
        if self.whole or len(message) <= SEARCHED:
            return self.compiled.search(message)
        begin = max(0, at - _BEFORE)
        return self.compiled.search(message, begin, begin + SEARCHED)


Quiet: TypeAlias = "Mapping[bytes, Sequence[tuple[bytes, LogPattern, bool]]]"
"""For the first bytes of a message, the entries that may match.

Each entry has the full beginning, the pattern, and True if the beginning alone identifies the pattern.
"""


def _alone(literal: bytes, pattern: LogPattern, starts: Iterable[tuple[bytes, LogPattern]]) -> bool:
    """Return whether a line that begins with ``literal`` surely matches this entry and no other entry."""
    return pattern.decisive and not any(
        other is not pattern and (text.startswith(literal) or literal.startswith(text))
        for text, other in starts
    )


class Table:
    """The pattern table: its entries, indexed by the beginnings of messages and by contained texts."""

    def __init__(self, patterns: tuple[LogPattern, ...]) -> None:

        self.patterns = patterns
        starts: dict[bytes, list[tuple[bytes, LogPattern]]] = {}
        for pattern in patterns:
            for literal in map(str.encode, pattern.starts):
                if len(literal) < KEY:
                    raise ValueError(f"{pattern.name}: {literal!r} is shorter than {KEY} bytes")
                starts.setdefault(literal[:KEY], []).append((literal, pattern))
        self.by_key = {
            key: [(literal, pattern, _alone(literal, pattern, found)) for literal, pattern in found]
            for key, found in starts.items()
        }
        # Polygraphy prints TensorRT's information messages as verbose.
        self.quiet: Quiet = {
            key: entries
            for key, found in self.by_key.items()
            if (
                entries := [
                    entry for entry in found if not entry[1].severity or {*entry[1].severity} & {"V", "I"}
                ]
            )
        }
        self._known: dict[str, tuple[tuple[LogPattern, dict[str, str]], ...]] = {}
        self._inside = tuple((text, pattern) for pattern in patterns for text in pattern.contains)
        self._bare = tuple(
            (text, pattern)
            for pattern in patterns
            if pattern.bare
            for text in (*pattern.starts, *pattern.contains)
        )
        self._texts_inside = Literals(text for text, _ in self._inside)
        self._texts_bare = Literals(text for text, _ in self._bare)
        self.by_name = {pattern.name: pattern for pattern in patterns}

    def named(self, name: str) -> LogPattern | None:
        """Return the entry with this name, or None for ``other``."""
        return self.by_name.get(name)

    def bare(self, line: str) -> Iterator[tuple[LogPattern, dict[str, str]]]:
        """Yield every entry that matches a line without a log prefix, each with its regex groups.

        The entries are in the order of the table.
        """
        seen: set[str] = set()
        for place, at in self._texts_bare.inside(line):
            pattern = self._bare[place][1]
            if pattern.tells == "hint" and seen:
                continue
            yield from _match(pattern, line, at, seen)

    def loud(self, message: str, severity: str) -> tuple[tuple[LogPattern, dict[str, str]], ...]:
        """Return every entry that matches a message of severity W or above, each with its regex groups.

        Entries found by the beginning of the message come first. An entry with ``bare``, or with an outcome
        other than ``skipped``, matches only messages of the severities in the entry.
        """
        # Builders repeat warnings word for word, some of them thousands of times.
        found = self._known.get(message)
        if found is None:
            found = tuple(self._loud(message))
            if len(message) < 1000:
                if len(self._known) >= 500:
                    self._known.clear()
                self._known[message] = found
        return tuple((pattern, named) for pattern, named in found if _is_printed(pattern, severity))

    def _loud(self, message: str) -> Iterator[tuple[LogPattern, dict[str, str]]]:
        seen: set[str] = set()
        for literal, pattern, _ in self.by_key.get(message[:KEY].encode(errors="replace")[:KEY], ()):
            if message.startswith(literal.decode()):
                yield from _match(pattern, message, 0, seen)
        for place, at in self._texts_inside.inside(message):
            yield from _match(self._inside[place][1], message, at, seen)


def _is_printed(pattern: LogPattern, severity: str) -> bool:
    """Return whether an entry of the pattern table accepts messages of this severity."""
    if pattern.says == "skipped" or not (pattern.says or pattern.bare):
        return True
    return severity in pattern.severity


def _match(
    pattern: LogPattern, message: str, at: int, seen: set[str]
) -> Iterator[tuple[LogPattern, dict[str, str]]]:
    if pattern.name in seen:
        return
    found = pattern.search(message, at)
    if found:
        seen.add(pattern.name)
        yield pattern, groups(found)


def groups(found: re.Match[str]) -> dict[str, str]:
    """Return the texts of the named groups in a match, without groups that took no part in the match."""
    return {name: text for name, text in found.groupdict().items() if text is not None}


@cache
def pattern_names() -> tuple[str, ...]:
    """Return the names of all entries, in the order of ``patterns.yaml``, without parsing the YAML."""
    text = Path(__file__).with_name("patterns.yaml").read_text("utf-8")
    return (*re.findall(r"^- name: (\w+)$", text, re.MULTILINE), "other")


@cache
def table() -> Table:
    """Return the table of all patterns.  Further calls return the same object."""
    text = Path(__file__).with_name("patterns.yaml").read_text("utf-8")
    return Table(convert(parsed(text), tuple[LogPattern, ...]))


class Literals:
    """A set of fixed texts, with an index that quickly finds which of the texts a message contains.

    The index uses the first characters of one word of each text. A message is split into words once, in
    linear time. A text is searched in the message only if a word of the message has the same first
    characters. A text without a suitable word is always searched.

    Args:
        texts: the texts, possibly with repeats.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._places: dict[str, list[int]] = {}
        for place, text in enumerate(texts):
            self._places.setdefault(text, []).append(place)
        keys = {text: _beginnings(text) for text in self._places}
        common = Counter(key for found in keys.values() for key in found)
        self._always: list[str] = []
        self._by_key: dict[str, list[str]] = {}
        for text, found in keys.items():
            if found:
                rarest = min(found, key=lambda key: (common[key], key))
                self._by_key.setdefault(rarest, []).append(text)
            else:
                self._always.append(text)

    def candidates(self, message: str) -> list[str]:
        """Return the texts that a message may contain, each once."""
        found = [*self._always]
        for key in self._by_key.keys() & set(_BEGINNING.findall(message)):
            found += self._by_key[key]
        return found

    def inside(self, message: str) -> list[tuple[int, int]]:
        """Return the texts that a message contains, and their positions.

        Returns:
            Pairs of two numbers: the index of the text in ``texts``, and the position of the text in the
            message. The pairs are sorted.
        """
        found: list[tuple[int, int]] = []
        for text in self.candidates(message):
            at = message.find(text)
            if at >= 0:
                found += [(place, at) for place in self._places[text]]
        return sorted(found)


def _beginnings(text: str) -> list[str]:
    return [match[0] for match in _BEGINNING.finditer(text) if match.start()]
