"""Read the times that ``--exportProfile``, ``--exportTimes`` and ``--dumpProfile`` (in a log) write.

The formats come from https://github.com/NVIDIA/TensorRT/blob/main/samples/common/sampleReporting.cpp.
"""

from __future__ import annotations

import re
import statistics
from typing import Any

from msgspec import Struct

from trtlint.buildfiles.errors import BuildFileError

_NUMBER = r"(-?[\d.]+(?:e[+-]?\d+)?)"
# From TensorRT 8.6 on, the layer's name comes last. In older releases, it comes first, and has padding.
_LAST = re.compile(rf"^\s*{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}\s{{2,3}}(\S.*)$")
_NUMBERS = re.compile(rf"{_NUMBER}(?:\s+{_NUMBER}){{2,3}}")
_HEADING = re.compile(r"^=== Profile \((\d+) iterations ?\) ===")
_LONGEST_ROW = 20_000
_LARGEST = 1e12
"""Largest time in milliseconds, about 30 years.  The limit keeps the sum of all times in a profile finite."""


class LayerTime(Struct, frozen=True):
    """The time of one layer in milliseconds: total, average and median.

    ``share`` is the share of the layer in the time of all layers, from 0 to 1.
    """

    name: str
    total: float
    average: float
    median: float | None
    share: float


class Profile(Struct, frozen=True):
    """Layer times in engine order, measured over ``iterations`` runs.

    ``line`` is the first line of the table, if the times come from a log.
    """

    iterations: int | None
    layers: tuple[LayerTime, ...]
    line: int | None = None

    @property
    def milliseconds(self) -> float:
        """The sum of the average layer times.

        A run can be shorter, because layers overlap on auxiliary streams.
        """
        return sum(layer.average for layer in self.layers)


class Times(Struct, frozen=True):
    """End-to-end times of ``--exportTimes``: the number of runs, and the median times in milliseconds."""

    count: int
    latency: float | None
    compute: float | None
    host_to_device: float | None
    device_to_host: float | None


class TableReader:
    """Collects the rows of one ``=== Profile ===`` table in a log, one message at a time."""

    def __init__(self, iterations: int, line: int) -> None:
        self._iterations = iterations
        self._line = line
        self._rows: list[LayerTime] = []
        self.done = False

    @classmethod
    def begin(cls, message: str, line: int) -> TableReader | None:
        """Return a reader for the table with the heading ``message``, or None if it is no table heading."""
        found = _HEADING.match(message)
        return cls(int(found[1]), line) if found and len(found[1]) < 12 else None

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
                total, average, median, share = (_bounded(float(last[i])) for i in range(1, 5))
                return LayerTime(last[5].rstrip(), total, average, median, share / 100)
            for count in (4, 3):  # the median may be missing
                words = message.rsplit(None, count)
                if len(words) == count + 1 and _NUMBERS.fullmatch(" ".join(words[1:])):
                    total, average, *middle, share = map(_bounded, map(float, words[1:]))
                    return LayerTime(words[0].strip(), total, average, next(iter(middle), None), share / 100)
        except ValueError:  # two points in a number
            pass
        return None

    def profile(self) -> Profile:
        """The rows that were read so far, as a profile."""
        return Profile(self._iterations, tuple(self._rows), self._line)


def from_json(root: object) -> Profile | Times | None:
    """Return layer times or end-to-end times from parsed JSON, or None for other JSON."""
    if _is_times_json(root):
        return times_from_json(root)
    return profile_from_json(root) if _is_profile_json(root) else None


def _is_profile_json(root: object) -> bool:
    """Return whether JSON comes from ``trtexec --exportProfile``."""
    return (
        isinstance(root, list)
        and bool(root)
        and isinstance(root[0], dict)
        and ("count" in root[0] or "timeMs" in root[0] or "averageMs" in root[0])
    )


def _is_times_json(root: object) -> bool:
    """Return whether JSON comes from ``trtexec --exportTimes``."""
    return isinstance(root, list) and bool(root) and isinstance(root[0], dict) and "latencyMs" in root[0]


def profile_from_json(root: object) -> Profile:
    """Return the layer times in a parsed ``--exportProfile`` file.

    Early releases of TensorRT 8 write no ``medianMs``.

    Raises:
        BuildFileError: the value is not a list of objects.
    """
    if not isinstance(root, list):
        raise BuildFileError("a profile must be a JSON list", line=1)
    iterations = None
    layers = []
    for item in root:
        if not isinstance(item, dict):
            raise BuildFileError("a profile must be a list of JSON objects", line=1)
        if isinstance(item.get("name"), str):
            median = _number(item, "medianMs")
            layers.append(
                LayerTime(
                    item["name"],
                    _number(item, "timeMs") or 0.0,
                    _number(item, "averageMs") or 0.0,
                    median,
                    (_number(item, "percentage") or 0.0) / 100,
                )
            )
        elif isinstance(item.get("count"), int):
            iterations = item["count"]
    return Profile(iterations, tuple(layers))


def times_from_json(root: object) -> Times:
    """Return the medians of a parsed ``--exportTimes`` file.

    Raises:
        BuildFileError: the value is not a list of objects.
    """
    if not isinstance(root, list) or not all(isinstance(item, dict) for item in root):
        raise BuildFileError("a timing file must be a list of JSON objects", line=1)

    def median(key: str) -> float | None:
        values = [value for item in root if (value := _number(item, key)) is not None]
        return statistics.median(values) if values else None

    return Times(len(root), median("latencyMs"), median("computeMs"), median("h2dMs"), median("d2hMs"))


def _number(item: dict[str, Any], key: str) -> float | None:
    """Return a number of a JSON object, or None if it is missing, too large or not a number."""
    value = item.get(key)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= _LARGEST:
        return float(value)
    return None


def _bounded(value: float) -> float:
    """Return a time or a share, or 0 if it is infinite, not a number or too large to be real."""
    return value if abs(value) <= _LARGEST else 0.0
