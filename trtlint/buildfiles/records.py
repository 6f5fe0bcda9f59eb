"""What reading a log gives: records, and the log as a whole."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Literal

from trtlint.buildfiles.layers import EngineTensor, Layer
from trtlint.buildfiles.patterns import Tells, table
from trtlint.buildfiles.profile import Profile
from trtlint.buildfiles.settings import BuildSettings
from trtlint.lean import dataclass

Severity = Literal["V", "I", "W", "E", "F"]


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that the log says.

    ``pattern`` is the name of the entry of the pattern table, ``line`` the number of the first line from 1,
    ``severity`` the letter as printed (None for a line without prefix), ``message`` the text without prefix
    and with its continuation lines, cut at 4,000 characters; ``groups`` what the entry takes from it.
    ``context`` is the node or layer that the build had last announced to parse or to time, for warnings and
    errors, which may name none. ``common`` is whether its prefix is one that any program may print.
    Warnings and errors that no entry knows have the pattern ``other``.
    """

    pattern: str
    line: int
    severity: Severity | None
    message: str
    groups: Mapping[str, str] = field(default_factory=dict)
    context: str | None = None
    common: bool = False

    def number(self, group: str) -> float | None:
        """The number that a group holds; None where it is left out, is none, or has no end."""
        try:
            value = float(self.groups.get(group, ""))
        except ValueError:
            return None
        return value if math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class LayerDump:
    """The layers that a log prints at the end of a build, from line ``line`` on."""

    line: int
    layers: tuple[Layer, ...]
    tensors: tuple[EngineTensor, ...] = ()


@dataclass(frozen=True, slots=True)
class Log:
    """A whole log, read.

    ``records`` and ``counts`` are by pattern name: the first records of each, and how many lines there were.
    ``severities`` counts the lines printed as W, E and F. ``options`` are the ``=== ... Options ===``
    blocks of trtexec as printed. ``notes`` say what could not be read.
    """

    lines: int
    size: int
    settings: BuildSettings
    records: Mapping[str, tuple[Record, ...]]
    counts: Mapping[str, int]
    severities: Mapping[str, int]
    options: Mapping[str, Mapping[str, str]]
    dumps: tuple[LayerDump, ...]
    profiles: tuple[Profile, ...]
    notes: tuple[str, ...]

    @property
    def is_log(self) -> bool:
        """Whether anything in it looks like the output of a TensorRT build."""
        return bool(self.records or self.options or self.dumps or self.settings.tool)

    def first(self, pattern: str) -> Record | None:
        """The first record of a pattern."""
        found = self.records.get(pattern)
        return found[0] if found else None

    def telling(self, tells: Tells) -> Iterator[Record]:
        """The records that the table of patterns takes for something, pattern by pattern."""
        for pattern in table().patterns:
            if pattern.tells == tells:
                yield from self.records.get(pattern.name, ())

    def seconds(self) -> dict[str, float]:
        """Durations that the build prints, in seconds: ``parse``, ``graph``, ``engine``, ``build``.

        A log of several builds gives the sum of each.
        """
        total: dict[str, float] = {}
        for pattern in table().patterns:
            if not (name := pattern.duration):
                continue
            found = (record.number("seconds") for record in self.records.get(pattern.name, ()))
            values = [value for value in found if value is not None]
            if values:
                total[name] = sum(values)
        return total
