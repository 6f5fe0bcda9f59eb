"""Read the layer times that ``--exportProfile`` and ``--dumpProfile`` (in a log) write.

The formats come from https://github.com/NVIDIA/TensorRT/blob/main/samples/common/sampleReporting.cpp.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from trtlint.buildfiles.errors import BuildFileError

_NUMBER = r"(-?[\d.]+(?:e[+-]?\d+)?)"
# From TensorRT 8.6 on, the layer's name comes last. In older releases, it comes first, and has padding.
_LAST = re.compile(rf"^\s*{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}\s{{2,3}}(\S.*)$")
_NUMBERS = re.compile(rf"{_NUMBER}(?:\s+{_NUMBER}){{2,3}}")
_HEADING = re.compile(r"^=== Profile \(\d{1,11} iterations ?\) ===")
_LONGEST_ROW = 20_000
_LARGEST = 1e12
"""Largest time in milliseconds, about 30 years.  The limit keeps the sum of all times in a profile finite."""


class LayerTime(Struct, frozen=True):
    """The average time of one layer in milliseconds, and its share in the time of all layers (0 to 1)."""

    name: str
    average: float
    share: float


class Profile(Struct, frozen=True):
    """Layer times in engine order."""

    layers: tuple[LayerTime, ...]


class TableReader:
    """Collects the rows of one ``=== Profile ===`` table in a log, one message at a time."""

    def __init__(self) -> None:
        self._rows: list[LayerTime] = []
        self.done = False

    @classmethod
    def begin(cls, message: str) -> TableReader | None:
        """Return a reader for the table with the heading ``message``, or None for any other message."""
        return cls() if _HEADING.match(message) else None

    def feed(self, message: str) -> None:
        """Read one row of the table. The row ``Total`` or a blank message ends the table."""
        if not message.strip():
            self.done = bool(self._rows)
            return
        row = self._row(message) if len(message) < _LONGEST_ROW else None
        if row is None:
            return
        if row.name == "Total":
            self.done = True
        else:
            self._rows.append(row)

    def _row(self, message: str) -> LayerTime | None:
        last = _LAST.match(message)
        try:
            if last:
                _, average, _, share = (_bounded(float(last[i])) for i in range(1, 5))
                return LayerTime(last[5].rstrip(), average, share / 100)
            for count in (4, 3):  # the median may be missing
                words = message.rsplit(None, count)
                if len(words) == count + 1 and _NUMBERS.fullmatch(" ".join(words[1:])):
                    _, average, *_, share = map(_bounded, map(float, words[1:]))
                    return LayerTime(words[0].strip(), average, share / 100)
        except ValueError:  # two points in a number
            pass
        return None

    def profile(self) -> Profile:
        """The rows that were read so far, as a profile."""
        return Profile(tuple(self._rows))


def from_json(root: object) -> Profile | None:
    """Return the layer times in parsed JSON of ``--exportProfile``, or None for other JSON.

    Raises:
        BuildFileError: an item of the list is not an object, or the JSON comes from ``--exportTimes``, which
            writes only end-to-end times.
    """
    if not isinstance(root, list) or not root or not isinstance(root[0], dict):
        return None
    if "latencyMs" in root[0]:
        raise BuildFileError(
            "this file has only end-to-end times (--exportTimes), which trtlint does not use; "
            "for layer times, give the file that trtexec --exportProfile writes"
        )
    return profile_from_json(root) if root[0].keys() & {"count", "timeMs", "averageMs"} else None


def profile_from_json(root: object) -> Profile:
    """Return the layer times in a parsed ``--exportProfile`` file.

    Raises:
        BuildFileError: the value is not a list of objects.
    """
    if not isinstance(root, list):
        raise BuildFileError("a profile must be a JSON list", line=1)
    layers = []
    for item in root:
        if not isinstance(item, dict):
            raise BuildFileError("a profile must be a list of JSON objects", line=1)
        if isinstance(item.get("name"), str):
            average, percentage = _number(item, "averageMs"), _number(item, "percentage")
            layers.append(LayerTime(item["name"], average, percentage / 100))
    return Profile(tuple(layers))


def _number(item: dict[str, Any], key: str) -> float:
    """Return a number of a JSON object, or 0 if it is missing, too large or not a number."""
    value = item.get(key)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= _LARGEST:
        return float(value)
    return 0.0


def _bounded(value: float) -> float:
    """Return a time or a share, or 0 if it is infinite, not a number or too large to be real."""
    return value if abs(value) <= _LARGEST else 0.0
