"""Error band of FP16, BF16 or TF32: the range of errors that builds of a model may have.

A rounding scheme is an assumption about the numbers that a build rounds. A build can round the results of all
operators, only some of these results, or also partial sums. The band contains one error for each rounding
scheme.

A kernel that fuses several operators rounds only the tensors that it writes to memory. So an engine rounds
fewer tensors than the model has.  Matrix products and convolutions run on tensor cores, so their operands
always have the low-precision type. The sums are FP32, or FP16 if a kernel accumulates in FP16.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

Verdict = Literal["fine", "broken", "depends"]
Way = Literal["rounded", "fused", "accumulated"]
WAYS: tuple[Way, ...] = ("rounded", "fused", "accumulated")
"""``rounded``: every operator rounds its result.

``fused``: only products and model outputs are rounded.
``accumulated``: every operator rounds its result, and products accumulate in FP16.
"""
_OPERANDS: Mapping[str, frozenset[int]] = {
    **dict.fromkeys(("MatMul", "Gemm", "Conv", "ConvTranspose", "DeformConv"), frozenset({0, 1})),
    **dict.fromkeys(("RNN", "GRU", "LSTM", "Attention"), frozenset({0, 1, 2})),
    "Einsum": frozenset(range(64)),
}


class Band(Struct, frozen=True):
    """The error of one output, or the largest error of all outputs, for each rounding scheme.

    A rounding scheme is an assumption about the numbers that a build rounds. An error is the largest
    difference from FP32, divided by the largest magnitude in FP32. The error is None if a number is not
    finite.

    Attributes:
        rounded: every operator rounds its result.
        fused: only two kinds of tensors are rounded: operands and results of products (matrix products and
            convolutions), and outputs of the model.
        accumulated: every operator rounds its result, and products accumulate in FP16.
    """

    rounded: float | None
    fused: float | None
    accumulated: float | None

    def of(self, way: Way) -> float | None:
        """Return the error for the rounding scheme ``way``."""
        return {"rounded": self.rounded, "fused": self.fused, "accumulated": self.accumulated}[way]

    @property
    def errors(self) -> tuple[float | None, ...]:
        """Return the errors of all rounding schemes."""
        return tuple(self.of(way) for way in WAYS)

    @property
    def worst(self) -> float | None:
        """Return the largest error of all rounding schemes.

        The result is None if a rounding scheme gives a number that is not finite.
        """
        return worst(self.errors)

    def verdict(self, bound: float) -> Verdict:
        """Return ``fine`` if all errors are within ``bound``, ``broken`` if none is, else ``depends``."""
        return verdict_of(self.errors, bound)


class BuildBand(Struct, frozen=True, rename={"accumulated": "error_accumulated"}):
    """Error band of a build whose layers are known.  Only tensors between two layers are rounded.

    Attributes:
        source: origin of the layers: a file, or the name of a dry build.
        layers: number of layers that compute nodes of the model.
        nodes: number of nodes of the model that these layers compute.
        error: the largest error of an output; None if an output is not finite.
        accumulated: like ``error``, if products also accumulate in FP16.
    """

    source: str
    layers: int
    nodes: int
    error: float | None
    accumulated: float | None

    def verdict(self, bound: float) -> Verdict:
        """Return ``fine`` if both errors are within ``bound``, ``broken`` if neither is, or ``depends``."""
        return verdict_of((self.error, self.accumulated), bound)


class TypeBand(Struct, frozen=True):
    """The errors of the model in one low-precision type.

    Attributes:
        type: ``fp16``, ``bf16`` or ``tf32``.
        error: in each rounding scheme, the largest error of all outputs.
    """

    type: str
    error: Band


def worst(errors: Iterable[float | None]) -> float | None:
    """Return the largest error.  Return None if an error is None, and 0 if there are no errors."""
    found = list(errors)
    return None if None in found else max((error or 0.0 for error in found), default=0.0)


def within(error: float | None, bound: float) -> bool:
    """Return whether an error is at most ``bound``.  The result is False for None."""
    return error is not None and error <= bound


def verdict_of(errors: Iterable[float | None], bound: float) -> Verdict:
    """Return ``fine`` if all errors are within ``bound``, ``broken`` if all exceed it, else ``depends``.

    >>> verdict_of((0.02, 0.001, None), 0.01)
    'depends'
    """
    good = [within(error, bound) for error in errors]
    return "fine" if all(good) else "depends" if any(good) else "broken"


def together(bands: Iterable[Band]) -> Band:
    """Merge several bands into one.

    In each rounding scheme, the error of the new band is the largest error of the given bands.
    """
    found = list(bands)
    return Band(*(worst(band.of(way) for band in found) for way in WAYS))


def operands(op: str, domain: str) -> frozenset[int]:
    """Return the indices of the operands among the inputs of a matrix product or convolution.

    The result is empty for any other operator.

    >>> sorted(operands("Gemm", ""))
    [0, 1]
    """
    return frozenset() if domain else _OPERANDS.get(op, frozenset())
