"""Wording of a measurement: its errors over all rounding schemes, and its most important tensors.

A rounding scheme states which operators of a TensorRT engine round their results.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec import Struct

from trtlint.measurement.band import Band, Verdict, Way, verdict_of, worst
from trtlint.measurement.formats import FORMATS, Format
from trtlint.measurement.measurement import MeasuredOutput, MeasuredTensor, Measurement
from trtlint.measurement.trivial import sentence

WORDS: dict[Verdict, str] = {
    "fine": "fine",
    "broken": "broken",
    "depends": "depends on the build",
}
GENERATED = (
    "the inputs are generated, so the errors prove little; measure with real inputs: --inputs batch.npz"
)
"""Warning about a measurement without real inputs."""
STYLES: dict[Verdict, str] = {"fine": "green", "broken": "red", "depends": "yellow"}
_WAYS: dict[Way, str] = {
    "rounded": "every operator rounds",
    "fused": "only products and model outputs are rounded",
    "accumulated": "products accumulate in FP16",
}
WORST = 5
"""Largest number of shown tensors."""


class WayLine(Struct, frozen=True):
    """The error of the outputs under one assumption about rounding (rounding scheme).

    Attributes:
        name: the operators that round.
        error: the largest error of all outputs, or ``not finite``.
        verdict: ``fine`` or ``broken``.
    """

    name: str
    error: str
    verdict: Verdict


class TypeLine(Struct, frozen=True):
    """The errors of the outputs in one type, such as FP16.

    Attributes:
        label: the name of the type.
        errors: the largest error of all outputs, under each assumption about rounding (rounding scheme).
        verdict: the verdict on the errors.
    """

    label: str
    errors: tuple[str, ...]
    verdict: Verdict


def error_words(error: float | None) -> str:
    """Format the error of an output, such as ``0.00037``. For None, return ``not finite``."""
    return "not finite" if error is None else f"{error:.2g}"


def band_words(errors: Iterable[float | None]) -> str:
    """Format the smallest and the largest error, such as ``0.00037 to 0.41``."""
    found = list(errors)
    finite = [error for error in found if error is not None]
    if not finite:
        return "not finite"
    low, high = error_words(min(finite)), error_words(None if None in found else max(finite))
    return low if low == high else f"{low} to {high}"


def worst_outputs(found: Measurement, most: int) -> list[MeasuredOutput]:
    """Return, in graph order, the outputs with the largest errors."""

    def badness(index: int) -> float:
        output = found.outputs[index]
        error = worst(output.errors) if output.finite else 0.0
        return math.inf if error is None else error

    kept = sorted(range(len(found.outputs)), key=badness, reverse=True)[:most]
    return [found.outputs[index] for index in sorted(kept)]


def way_lines(found: Measurement) -> list[WayLine]:
    """Return the error in each rounding scheme. The rounding schemes of a known build come last."""
    if found.error is None or FORMATS[found.type].operands_only:
        return []
    pairs = [(name, found.error.of(way)) for way, name in _WAYS.items()]
    if found.type != "fp16":  # only FP16 has narrow accumulators
        pairs.pop()
    if found.build is not None:
        layers = f"{found.build.layers:,} layers of {found.build.source}"
        pairs.append((f"fused as in the {layers}", found.build.error))
        if found.type == "fp16":
            pairs.append(
                ("fused as in these layers, and products accumulate in FP16", found.build.accumulated)
            )
    return [WayLine(name, error_words(error), verdict_of([error], found.bound)) for name, error in pairs]


def verdict_words(found: Measurement) -> str:
    """Return the verdict on a measurement and, if known, the reason."""
    verdict = found.verdict
    if verdict is None:
        if not found.rehearsed:
            return ""
        reason = sentence(found.trivial, found.noun) if found.trivial else "no output can be compared"
        return f"not proven: {reason}"
    if verdict != "depends":
        by = f" in {found.build.source}" if found.build is not None else ""
        changed = found.changed_choice if verdict == "fine" else None
        order = (
            "" if changed is None else f", except for the order of the elements that {changed.node} chooses"
        )
        return WORDS[verdict] + by + order
    changed = found.changed_choice
    if changed is not None and found.verdict_on_errors == "fine":
        return (
            f"depends on the elements that {changed.node} chooses: with the elements chosen in FP32, the "
            "errors are under the bound"
        )
    if found.build is not None:
        return (
            f"{WORDS[verdict]}: the result depends on whether products accumulate in FP16; "
            f"{found.build.source} does not show this"
        )
    band = found.error
    return f"{WORDS[verdict]}: {_reason(band, found.bound)}" if band is not None else WORDS[verdict]


def headline(found: Measurement) -> str:
    """Return the verdict on a measurement, or a remark that the outputs were not simulated."""
    return verdict_words(found) or "outputs were not simulated"


def output_words(output: MeasuredOutput, found: Measurement) -> str:
    """Return the errors of an output, or the reason why the errors prove nothing."""
    if not output.finite:
        return "infinity or NaN already in FP32"
    if found.is_trivial(output):
        return f"{output.trivial}, which proves nothing"
    return band_words(output.errors)


def _reason(band: Band, bound: float) -> str:
    """Return a sentence that says why the errors are within tolerance only in some rounding schemes.

    Rounding schemes differ because the kernels of a build may fuse operators, or accumulate products in FP16.
    """
    good = {way for way in _WAYS if verdict_of([band.of(way)], bound) == "fine"}
    if "rounded" in good and "accumulated" not in good:
        return "if kernels accumulate in FP16, the error exceeds the bound; otherwise it does not"
    if "fused" in good:
        return "within tolerance only if the builder fuses all operators that are between two products"
    return "the error exceeds the bound with fused kernels, but not without fusion"


def type_lines(found: Measurement) -> list[TypeLine]:
    """Return the errors of each type, or an empty list if the user did not measure all types."""
    if not found.types or found.error is None or found.verdict is None:
        return []
    pairs = [(found.type, found.error), *((each.type, each.error) for each in found.types)]
    return [
        TypeLine(FORMATS[name].label, tuple(map(error_words, band.errors)), band.verdict(found.bound))
        for name, band in pairs
    ]


def bearing(lines: Iterable[TypeLine]) -> str:
    """Return a text that lists the types whose errors are within tolerance."""
    good = [line.label for line in lines if line.verdict == "fine"]
    return f"types within tolerance: {', '.join(good)}" if good else "none of these types is within tolerance"


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
