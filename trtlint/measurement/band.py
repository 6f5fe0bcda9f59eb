"""Error band of a narrow type: the errors with several rounding models.

A rounding model states which numbers a build rounds: the results of all operators, only some results, or also
partial sums.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from trtlint.measurement.ways import WAYS, Way

Verdict = Literal["fine", "broken", "depends"]


class Band(Struct, frozen=True):
    """The error of one output, or of all outputs, for each rounding model.

    An error is the largest difference from FP32, divided by the largest magnitude in FP32.  It is None if a
    number is not finite.

    Attributes:
        rounded: every operator rounds its result.
        fused: only operands and results of products, and the outputs of the model, are rounded.
        accumulated: every operator rounds its result, and products accumulate in FP16.
    """

    rounded: float | None
    fused: float | None
    accumulated: float | None

    def of(self, way: Way) -> float | None:
        """Return the error for one rounding model."""
        return {"rounded": self.rounded, "fused": self.fused, "accumulated": self.accumulated}[way]

    @property
    def errors(self) -> tuple[float | None, ...]:
        """The errors of all ways."""
        return tuple(self.of(way) for way in WAYS)

    @property
    def least(self) -> float | None:
        """The smallest error of all rounding models; None if no rounding model gives finite numbers."""
        return min((error for error in self.errors if error is not None), default=None)

    @property
    def worst(self) -> float | None:
        """The largest error of all rounding models.

        None if a rounding model gives a number that is not finite.
        """
        return worst(self.errors)

    def verdict(self, bound: float) -> Verdict:
        """Return whether the errors are within a limit: ``fine``, ``broken`` or ``depends``."""
        return verdict_of(self.errors, bound)


class BuildError(Struct, frozen=True, rename={"accumulated": "error_accumulated"}):
    """The error of a build with known layers.  Only tensors between layers are rounded.

    Attributes:
        source: name of the file or of the dry build.
        layers: number of layers that compute nodes of the model.
        nodes: number of nodes of the model that these layers compute.
        error: the largest error of an output; None if an output is not finite.
        accumulated: the error if, in addition, products accumulate in FP16.
    """

    source: str
    layers: int
    nodes: int
    error: float | None
    accumulated: float | None

    def verdict(self, bound: float) -> Verdict:
        """Return whether the errors are within a limit: ``fine``, ``broken`` or ``depends``."""
        return verdict_of((self.error, self.accumulated), bound)


class TypeBand(Struct, frozen=True):
    """The error of another narrow type on the same inputs.

    Attributes:
        type: ``fp16``, ``bf16`` or ``tf32``.
        error: the largest error of all outputs for each rounding model.
    """

    type: str
    error: Band


def worst(errors: Iterable[float | None]) -> float | None:
    """Return the largest error; None if an error is None, 0 without errors."""
    found = list(errors)
    return None if None in found else max((error or 0.0 for error in found), default=0.0)


def verdict_of(errors: Iterable[float | None], bound: float) -> Verdict:
    """Return ``fine`` if all errors are within a limit, ``broken`` if no error is, else ``depends``.

    >>> verdict_of((0.02, 0.001, None), 0.01)
    'depends'
    """
    good = [error is not None and error <= bound for error in errors]
    return "fine" if all(good) else "depends" if any(good) else "broken"


def together(bands: Iterable[Band]) -> Band:
    """Return the largest error of several outputs, for each rounding model."""
    found = list(bands)
    return Band(*(worst(band.of(way) for band in found) for way in WAYS))
