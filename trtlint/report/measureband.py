"""The band of a measurement in words: what each way of computing gives, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterable

from trtlint.lean import dataclass
from trtlint.measurement.band import Band, Verdict, verdict_of
from trtlint.measurement.formats import FORMATS
from trtlint.measurement.measurement import Measurement
from trtlint.measurement.ways import Way

WORDS: dict[Verdict, str] = {
    "fine": "fine",
    "broken": "broken",
    "depends": "depends on the build",
}
STYLES: dict[Verdict, str] = {"fine": "green", "broken": "red", "depends": "yellow"}
_WAYS: dict[Way, str] = {
    "rounded": "every operator rounds",
    "fused": "only products and outputs round",
    "accumulated": "products accumulate in FP16",
}


@dataclass(frozen=True, slots=True)
class WayLine:
    """One way of computing.

    Attributes:
        name: what rounds in it.
        error: the worst error of an output, ``not finite`` where it has no number.
        verdict: ``fine`` or ``broken``.
    """

    name: str
    error: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class TypeLine:
    """One narrow type.

    Attributes:
        label: its name.
        errors: the worst error of an output in each way.
        verdict: what follows from them.
    """

    label: str
    errors: tuple[str, ...]
    verdict: Verdict


def error_words(error: float | None) -> str:
    """An error in words."""
    return "not finite" if error is None else f"{error:.2g}"


def band_words(errors: Iterable[float | None]) -> str:
    """The span of several errors: ``0.00037 to 0.41``."""
    found = list(errors)
    finite = [error for error in found if error is not None]
    if not finite:
        return "not finite"
    low, high = error_words(min(finite)), error_words(None if None in found else max(finite))
    return low if low == high else f"{low} to {high}"


def way_lines(found: Measurement) -> list[WayLine]:
    """Each way with its error, where they differ; those of a build whose layers are known come last."""
    if found.error is None or FORMATS[found.type].operands_only:
        return []
    pairs = [(name, found.error.of(way)) for way, name in _WAYS.items()]
    if found.type != "fp16":  # no other type has accumulators of its own
        pairs.pop()
    if found.build is not None:
        layers = f"{found.build.layers:,} layers of {found.build.source}"
        pairs.append((f"as the {layers} fuse it", found.build.error))
        if found.type == "fp16":
            pairs.append(("the same, and products accumulate in FP16", found.build.accumulated))
    return [WayLine(name, error_words(error), verdict_of([error], found.bound)) for name, error in pairs]


def verdict_words(found: Measurement) -> str:
    """The verdict with what it depends on."""
    verdict = found.verdict
    if verdict is None:
        return ""
    if verdict != "depends":
        by = f" in {found.build.source}" if found.build is not None else ""
        return WORDS[verdict] + by
    if found.build is not None:
        return f"{WORDS[verdict]}: {found.build.source} does not say whether products accumulate in FP16"
    band = found.error
    return f"{WORDS[verdict]}: {_reason(band, found.bound)}" if band is not None else WORDS[verdict]


def _reason(band: Band, bound: float) -> str:
    """What decides."""
    good = {way for way in _WAYS if verdict_of([band.of(way)], bound) == "fine"}
    if "rounded" in good and "accumulated" not in good:
        return "kernels that accumulate in FP16 spoil it, others do not"
    if "fused" in good:
        return "it is good where the builder fuses what is between products, else not"
    return "fused kernels spoil it, others do not"


def type_lines(found: Measurement) -> list[TypeLine]:
    """Each type with its errors, where all were asked for."""
    if not found.types or found.error is None or found.verdict is None:
        return []
    pairs = [(found.type, found.error), *((each.type, each.error) for each in found.types)]
    return [
        TypeLine(FORMATS[name].label, tuple(map(error_words, band.errors)), band.verdict(found.bound))
        for name, band in pairs
    ]


def bearing(lines: Iterable[TypeLine]) -> str:
    """Which types the model bears."""
    good = [line.label for line in lines if line.verdict == "fine"]
    return f"the model bears {', '.join(good)}" if good else "the model bears none of these types"
