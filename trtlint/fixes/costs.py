"""The costs of a fixed model beside those of its source: the size of the file, and the time of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from trtlint.fixes.fixing import Fixed, described
from trtlint.lean import dataclass
from trtlint.model.assembly import pieces_of, size_of

if TYPE_CHECKING:
    from trtlint.fixes.source import Source
    from trtlint.fixes.verification import Verdict

_LARGER = 1.1
"""The growth of a file that is told."""
_LEAST_GROWTH = 2048
"""Bytes below which the growth of a file is not told."""
_SLOWER = 1.2
"""The growth of the time of a run that is told."""
_LEAST_DELAY = 5e-5
"""Seconds a run below which a longer one is not told: calls of operators take microseconds each."""
_FEWEST = 5
"""Runs of each model below which nothing is said of their times."""
_MOST_OUTLIERS = 0.2
"""The share of pairs of runs that may say something else."""


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of a model before and after.

    Attributes:
        bytes_before: size of the source, external data included; 0 where it is not known.
        bytes_after: size of the fixed model; 0 where it is not known.
        times_before: seconds of each run of the source in ONNX Runtime; none where it did not run.
        times_after: seconds of each run of the fixed model, made in turn with those of the source.
    """

    bytes_before: int = 0
    bytes_after: int = 0
    times_before: tuple[float, ...] = ()
    times_after: tuple[float, ...] = ()

    @property
    def larger(self) -> float | None:
        """How many times as large the file is; None where it has not grown by more than a tenth."""
        growth = self.bytes_after - self.bytes_before
        if not self.bytes_before or growth < _LEAST_GROWTH:
            return None
        ratio = self.bytes_after / self.bytes_before
        return ratio if ratio > _LARGER else None

    @property
    def slower(self) -> float | None:
        """How many times as long a run takes; None where it is not clearly slower by more than a fifth."""
        return slower(self.times_before, self.times_after)

    @property
    def words(self) -> list[str]:
        """What is worse, a line each."""
        found = []
        if ratio := self.larger:
            sizes = f"{_size(self.bytes_before)} before, {_size(self.bytes_after)} after"
            found.append(f"the fixed file is {ratio:.3g} times as large ({sizes})")
        if ratio := self.slower:
            times = f"{_time(min(self.times_before))} before, {_time(min(self.times_after))} after"
            found.append(f"ONNX Runtime takes {ratio:.2g} times as long on this CPU ({times})")
        return found

    @property
    def document(self) -> dict[str, Any]:
        """The figures as JSON data."""
        timed = bool(self.times_before and self.times_after)
        return {
            "bytes_before": self.bytes_before or None,
            "bytes_after": self.bytes_after or None,
            "seconds_before": min(self.times_before) if timed else None,
            "seconds_after": min(self.times_after) if timed else None,
            "times_as_large": self.larger,
            "times_as_long": self.slower,
        }


def costs_of(fixed: Fixed, source: Source, written: Path | None, verdicts: Sequence[Verdict]) -> Costs:
    """The costs of a fixed model beside those of its source.

    Args:
        fixed: the fixed model.
        source: the model.
        written: the file of the fixed model, None where it was not written.
        verdicts: what was found of it.
    """
    before = fixed.raw.tensors.size
    if not fixed.changed or not before:
        return Costs()
    if written is not None:
        after = written.stat().st_size
    else:
        structure = described(fixed, [verdict.document for verdict in verdicts]).SerializeToString()
        after = sum(map(size_of, pieces_of(structure, fixed.raw.tensors)))
    apart = source.external
    first, second = next((verdict.times for verdict in verdicts if verdict.times[0]), ((), ()))
    return Costs(before + apart, after + apart, first, second)


def slower(before: Sequence[float], after: Sequence[float]) -> float | None:
    """How many times as long runs take; None where that is not clearly more than 1.2.

    The shortest run of each is compared, as other programs only ever make a run longer.  It is clear if the
    medians say so as well, and four of five pairs of runs that followed each other.

    >>> slower([1.0, 1.1, 1.0, 1.2, 1.0], [1.5, 1.6, 1.5, 1.4, 1.6])
    1.4
    """
    if min(len(before), len(after)) < _FEWEST or min(before) <= 0:
        return None
    ratio = min(after) / min(before)
    pairs = list(zip(before, after, strict=False))
    others = sum(second <= _SLOWER * first for first, second in pairs)
    clear = median(after) > _SLOWER * median(before) and others <= _MOST_OUTLIERS * len(pairs)
    noticed = min(after) - min(before) >= _LEAST_DELAY
    return ratio if ratio > _SLOWER and clear and noticed else None


def _size(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count / 1e3:.3g} kB" if count >= 1e3 else f"{count} bytes"


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"
