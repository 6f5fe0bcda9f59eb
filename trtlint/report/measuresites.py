"""The most important tensors of a measurement, with a remark on each."""

from __future__ import annotations

import math

from trtlint.measurement.formats import FORMATS, Format
from trtlint.measurement.measurement import MeasuredTensor, Measurement

WORST = 5
"""Largest number of shown tensors."""


def worst_sites(found: Measurement, most: int = WORST) -> list[MeasuredTensor]:
    """Return up to ``most`` tensors of the measured type, those with the largest magnitudes.

    Tensors at which an overflow starts come first. Inputs are included only if an overflow starts there.
    Stored tensors are included only if they exceed the range and an output is wrong. The result is empty for
    TF32, which has the range of FP32.
    """
    if FORMATS[found.type].operands_only:
        return []
    shown = [site for site in found.sites if site.narrow and site.greatest > 0 and _matters(site, found)]
    shown.sort(key=lambda site: (not site.origin, -site.greatest))
    return shown[:most]


def _matters(site: MeasuredTensor, found: Measurement) -> bool:
    if site.constant:
        return site.fits == "overflow" and found.rehearsed and not found.good
    return bool(site.node) or site.origin


def remark(site: MeasuredTensor, format_: Format) -> str:
    """Describe how far a tensor is from the limit of a type."""
    parts = []
    if site.greatest > (site.max_abs or 0.0):
        largest = next(each for each in site.inside if each.max_abs == site.greatest)
        parts.append(f"{largest.what} inside")
    if site.closer is not None and site.closer.beyond:
        parts.append(f"{site.closer.beyond:.2%} of the elements overflow")
    if site.fits == "overflow":
        if site.origin:
            parts.append("overflow begins here")
        elif site.closer is None or not site.closer.beyond:
            parts.append("beyond the range")
    else:
        # A number slightly above the largest number of the type rounds down to the largest number.
        parts.append(f"{max(0.0, math.log2(format_.largest / site.greatest)):.1f} powers of two left")
    return ", ".join(parts)
