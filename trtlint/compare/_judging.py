"""Compare the outputs of an original and a rewritten model, element by element."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, to_builtins

from trtlint.model.payload import Array

Outputs = Mapping[str, Array]
"""The outputs of one run, by name."""

_TOLERANCE = {"float64": 1e-6, "float32": 1e-3, "float16": 2e-2}
"""Tolerance for each output type, relative to the largest element of the output."""
_CANCELLED = 0.01
"""Smallest magnitude to which a tolerance is relative, as a share of the largest element in all input sets.

If large terms cancel each other in one set of inputs, the output for this set consists only of rounding
errors. A tolerance relative to this output alone would be too small.
"""
_LEAST = 1e-3
"""Smallest magnitude to which a tolerance is relative, for outputs near 0. This is an absolute number."""


class Judgement(Struct, rename={"difference": "largest_difference"}):
    """Result of comparing all outputs on all sets of inputs.

    Attributes:
        sets: number of sets of inputs.
        difference: largest absolute difference of elements that are finite in both models.
        beyond: number of elements that are finite in both models and differ by more than the tolerance.
        lost: number of elements that are finite only in the original model.
        gained: number of elements that are finite only in the rewritten model.
        unsure: number of ``gained`` elements that are not known to be finite in FP64. The original model may
            return infinity for these elements on purpose.
        changed: number of remaining elements that differ: elements that are finite in neither model, and
            elements of other types, such as strings.
        shape: first output that is missing or has a different shape; empty if all shapes are equal.
        comparable: true if at least one output of the model can be compared.
    """

    sets: int
    difference: float = 0.0
    beyond: int = 0
    lost: int = 0
    gained: int = 0
    unsure: int = 0
    changed: int = 0
    shape: str = ""
    comparable: bool = False

    @property
    def equal(self) -> bool:
        """Return whether the rewritten model is at least as good as the original."""
        return not (self.beyond or self.lost or self.changed or self.shape)

    @property
    def document(self) -> dict[str, Any]:
        """Return the numbers of the comparison as JSON data."""
        return {"equal": self.equal, **to_builtins(self)}


def judge(
    before: Sequence[Outputs],
    after: Sequence[Outputs],
    *,
    ignore_nan: bool = False,
    truth: Sequence[Outputs] | None = None,
) -> Judgement:
    """Compare the outputs of an original and a rewritten model for each set of inputs.

    An element that is finite only after the rewrite is an improvement if the original model overflowed. But a
    model may return infinity on purpose. So such an element counts as an improvement only if the original
    model computes a finite number for this element in FP64.

    Args:
        before: the outputs of the original model.
        after: the outputs of the rewritten model.
        ignore_nan: true if elements that are NaN before the rewrite may have any value after the rewrite.
        truth: the outputs of the original model in FP64; None if unknown.
    """
    found = Judgement(sets=len(before))
    largest = [{name: _largest(np.asarray(array)) for name, array in batch.items()} for batch in before]
    for index, (one, other) in enumerate(zip(before, after, strict=True)):
        for name in one:
            array = np.asarray(one[name])
            found.comparable = found.comparable or _is_comparable(array)
            if name not in other or np.asarray(other[name]).shape != array.shape:
                found.shape = found.shape or name
                continue
            scale = max(largest[index][name], _CANCELLED * max(each[name] for each in largest))
            wide = None if truth is None else truth[index].get(name)
            _compare(found, (array, np.asarray(other[name])), scale, wide, ignore_nan=ignore_nan)
    return found


def _compare(
    found: Judgement, pair: tuple[Array, Array], scale: float, truth: Array | None, *, ignore_nan: bool
) -> None:
    """Compare one output, and add the results to ``found``.

    Args:
        found: the result for all outputs.
        pair: the output of the original and of the rewritten model.
        scale: magnitude to which the tolerance is relative.
        truth: the output of the original model in FP64; None if unknown.
        ignore_nan: true to ignore elements that are NaN in the original model.
    """
    one, other = pair
    tolerance = _TOLERANCE.get(one.dtype.name, 0.0)
    if one.dtype.kind not in "fbiu" or other.dtype.kind not in "fbiu":
        found.changed += int(np.count_nonzero(one != other))
        return
    good, still = np.isfinite(one), np.isfinite(other)
    both = good & still
    a, b = (each[both].astype(np.float64) for each in (one, other))
    off = np.abs(a - b)
    found.difference = float(off.max(initial=found.difference))
    # FP64 cannot tell large integers apart.
    different = off > tolerance * (scale + np.abs(b)) if one.dtype.kind == "f" else one[both] != other[both]
    found.beyond += int(np.count_nonzero(different))
    if both.all():
        return
    nan = np.isnan(one)
    found.lost += int(np.count_nonzero(good & ~still))
    gained = ~good & still
    found.gained += int(np.count_nonzero(gained))
    neither = ~good & ~still & ~(nan & np.isnan(other)) & ~(nan & ignore_nan)
    found.changed += int(np.count_nonzero(neither & (one != other)))
    infinite = gained & ~nan
    if truth is not None and truth.shape == one.shape:
        infinite &= ~np.isfinite(truth)
    found.unsure += int(np.count_nonzero(infinite))


def _largest(array: Array) -> float:
    """Return the largest finite magnitude of an output, but at least ``_LEAST``."""
    if array.dtype.kind not in "fbiu":
        return _LEAST
    finite = array[np.isfinite(array)]
    return float(np.max(np.abs(finite.astype(np.float64)), initial=_LEAST))


def _is_comparable(array: Array) -> bool:
    """Return True if an output is empty, is not a float, or has a finite element.

    Only such an output can be compared.
    """
    return array.dtype.kind != "f" or not array.size or bool(np.isfinite(array).any())
