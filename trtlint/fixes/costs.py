"""Compare a fixed model with its original model: the file sizes and the run times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from trtlint.fixes.fixing import FixedModel, described
from trtlint.model.assembly import pieces_of, size_of
from trtlint.model.writer import files_of

if TYPE_CHECKING:
    from trtlint.fixes.verification import CheckResult

_LARGER = 1.1
"""Smallest ratio of file sizes (fixed file to original file) that trtlint reports."""
_LEAST_GROWTH = 2048
"""Smallest growth of a file, in bytes, that trtlint reports."""
_SLOWER = 1.2
"""Smallest ratio of run times (fixed model to original model) that trtlint reports."""
_LEAST_DELAY = 5e-5
"""Smallest increase of the run time, in seconds, that trtlint reports.

A smaller increase can come from a single added operator: each call takes microseconds.
"""
_FEWEST = 5
"""Minimum number of runs of each model for a comparison of the run times."""
_MOST_OUTLIERS = 0.2
"""If more than this share of the pairs of runs shows no slowdown, trtlint reports no slowdown."""


class Costs(Struct, frozen=True):
    """File size and run time of a model before and after its fixes.

    Attributes:
        bytes_before: size of the original file and its external data, in bytes; 0 if unknown.
        bytes_after: size of the fixed model, in bytes; 0 if unknown.
        times_before: duration of each run of the original model in ONNX Runtime, in seconds; empty if
            trtlint did not measure the run time.
        times_after: duration of each run of the fixed model, in seconds. The runs of both models alternate.
    """

    bytes_before: int = 0
    bytes_after: int = 0
    times_before: tuple[float, ...] = ()
    times_after: tuple[float, ...] = ()

    @property
    def larger(self) -> float | None:
        """The size of the fixed file divided by the size of the original file.

        The value is None if the file did not grow, or grew too little for a report.
        """
        growth = self.bytes_after - self.bytes_before
        if not self.bytes_before or growth < _LEAST_GROWTH:
            return None
        ratio = self.bytes_after / self.bytes_before
        return ratio if ratio > _LARGER else None

    @property
    def slower(self) -> float | None:
        """The factor by which the runs of the fixed model took longer, or None.

        The factor compares the shortest runs, because other programs can only lengthen a run. A pair is a run
        of the original model and the next run of the fixed model. The result is None unless all of these
        conditions are true:

        - Each model ran at least five times.
        - The factor is above 1.2, and the shortest run of the fixed model took at least 0.05 ms longer.
        - The median run of the fixed model took more than 1.2 times as long.
        - In at least 80 % of the pairs, the run of the fixed model took more than 1.2 times as long.

        >>> Costs(times_before=(1.0, 1.1, 1.0, 1.2, 1.0), times_after=(1.5, 1.6, 1.5, 1.4, 1.6)).slower
        1.4
        """
        before, after = self.times_before, self.times_after
        if min(len(before), len(after)) < _FEWEST or min(before) <= 0:
            return None
        ratio = min(after) / min(before)
        pairs = list(zip(before, after, strict=False))
        others = sum(second <= _SLOWER * first for first, second in pairs)
        clear = median(after) > _SLOWER * median(before) and others <= _MOST_OUTLIERS * len(pairs)
        noticed = min(after) - min(before) >= _LEAST_DELAY
        return ratio if ratio > _SLOWER and clear and noticed else None

    @property
    def words(self) -> list[str]:
        """One sentence for each cost (file size, run time) that increased."""
        found = []
        if ratio := self.larger:
            before, after = (_in_units(size, _SIZES) for size in (self.bytes_before, self.bytes_after))
            sizes = f"{before} before, {after} after"
            found.append(f"the fixed file is {ratio:.3g} times as large as the source ({sizes})")
        if ratio := self.slower:
            before, after = (_in_units(min(each), _TIMES) for each in (self.times_before, self.times_after))
            times = f"{before} before, {after} after"
            found.append(
                f"ONNX Runtime needs {ratio:.2g} times as long for the fixed model on this CPU ({times})"
            )
        return found

    @property
    def document(self) -> dict[str, Any]:
        """The file sizes and run times as JSON data."""
        timed = bool(self.times_before and self.times_after)
        return {
            "bytes_before": self.bytes_before or None,
            "bytes_after": self.bytes_after or None,
            "seconds_before": min(self.times_before) if timed else None,
            "seconds_after": min(self.times_after) if timed else None,
            "times_as_large": self.larger,
            "times_as_long": self.slower,
        }


def costs_of(fixed: FixedModel, written: Path | None, verdicts: Sequence[CheckResult]) -> Costs:
    """Collect the file sizes and run times of a fixed model and its source.

    Args:
        fixed: the fixed model.
        written: the file of the fixed model; None if trtlint did not write it.
        verdicts: results of the checks of the fixed model. The results contain the run times.
    """
    before = fixed.model.raw.tensors.size
    if not fixed.changed or not before:
        return Costs()
    apart = fixed.model.external
    if written is not None and not fixed.model.has_data_beside(written):
        after = sum(file.stat().st_size for file in files_of(written))
    elif written is not None:
        after = written.stat().st_size + apart
    else:
        structure = described(fixed, [verdict.document for verdict in verdicts]).SerializeToString()
        after = sum(map(size_of, pieces_of(structure, fixed.model.raw.tensors))) + apart
    first, second = next((verdict.times for verdict in verdicts if any(verdict.times)), ((), ()))
    return Costs(before + apart, after, first, second)


_SIZES = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("bytes", 1.0))
_TIMES = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))
"""Units, the largest first."""
_ROUNDED_UP = 0.9995
"""Smallest fraction of a unit that becomes one whole unit if it is rounded to three digits."""


def _in_units(value: float, units: Sequence[tuple[str, float]]) -> str:
    """Format a value with three digits, in the largest unit that does not exceed the value."""
    unit, size = next((each for each in units if value >= _ROUNDED_UP * each[1]), units[-1])
    number = value / size
    return f"{number:.0f} {unit}" if number >= 999 else f"{number:.3g} {unit}"
