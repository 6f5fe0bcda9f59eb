"""Simulate a model in FP16, BF16 or TF32, once for each rounding model.

A rounding model is an assumption about which operators of a build round their results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from trtlint.measurement.band import Band, BuildError
from trtlint.measurement.formats import FP16, Format
from trtlint.measurement.fusion import FusedLayers
from trtlint.measurement.narrowing import Narrowing
from trtlint.measurement.trial import Rehearsed, Trial


class Rehearsal(Struct, frozen=True):
    """Results of simulating a model in a narrow type, once for each assumption about rounding.

    Attributes:
        plain: every operator rounds its result.
        fused: only operands and results of products, and outputs of the model, are rounded. If nothing can be
            fused, this is the same run as ``plain``.
        accumulated: every operator rounds its result, and products accumulate in FP16.
        unclamped: like ``plain``, but constants beyond the range become infinite; None if no constant is
            beyond the range.
        built: two runs for a build whose layers are known: one with FP32 accumulators, one with FP16
            accumulators. None if the layers are unknown.
        narrowings: the settings and the result of each run.
        layers: the layers of the build.
    """

    plain: Rehearsed
    fused: Rehearsed
    accumulated: Rehearsed
    unclamped: Rehearsed | None
    built: tuple[Rehearsed, Rehearsed] | None
    narrowings: tuple[tuple[Narrowing, Rehearsed], ...]
    layers: FusedLayers | None = None

    def bands(self) -> Mapping[str, Band]:
        """Return the error band of each output."""
        each = (self.plain, self.fused, self.accumulated)
        return {name: Band(*(way.errors[name] for way in each)) for name in self.plain.errors}

    @property
    def build(self) -> BuildError | None:
        """Return the error of the build whose layers are known, or None if no layers are known."""
        if self.built is None or self.layers is None:
            return None
        known = self.layers
        error, accumulated = (each.worst for each in self.built)
        return BuildError(known.source, known.layers, known.nodes, error, accumulated)

    def applying(self) -> list[tuple[Narrowing, Rehearsed]]:
        """Return the runs whose errors count, each with its settings.

        These are the runs for the build if its layers are known, otherwise all runs.
        """
        return list(self.narrowings)

    def is_good(self, bound: float) -> bool:
        """Return whether the errors are within ``bound`` in all runs whose errors count."""
        return all(within(each, bound) for _, each in self.narrowings)


def within(rehearsed: Rehearsed, bound: float) -> bool:
    """Return whether the errors of all outputs are within ``bound``."""
    worst = rehearsed.worst
    return worst is not None and worst <= bound


def rehearse(
    trial: Trial,
    format_: Format,
    constants: frozenset[str],
    layers: FusedLayers | None,
    say: Callable[[str], None],
) -> Rehearsal:
    """Simulate a model in a narrow type once for each rounding model.

    Args:
        trial: the model and its inputs.
        format_: the narrow type.
        constants: names of the constants beyond the range of the narrow type.
        layers: the layers of a build; None if they are unknown.
        say: function that receives the name of the next rounding model.

    Raises:
        TrialError: the model cannot be run.
    """
    first = Narrowing(format_, clamped=constants)
    say("rehearsal")
    plain = trial.rehearse(first, probed=True)
    fused = accumulated = plain
    unclamped = None
    fusing = replace(first, fused=True)
    adding = replace(first, accumulate=True)
    ways = [(first, plain)]
    if not trial.judged:  # no output can be compared
        return Rehearsal(plain, plain, plain, None, None, tuple(ways), layers)
    if not format_.operands_only:
        say("fused")
        fused = trial.rehearse(fusing)
        ways.append((fusing, fused))
        if format_ is FP16:
            say("accumulated")
            accumulated = _with_fp16_accumulators(trial, adding, plain)
            ways.append((adding, accumulated))
    built = None
    if layers is not None and not format_.operands_only:
        say("build")
        known = replace(fusing, stored=layers.stored)
        once = summed = trial.rehearse(known)
        ways = [(known, once)]
        if format_ is FP16:
            summing = replace(known, accumulate=True)
            summed = _with_fp16_accumulators(trial, summing, once)
            ways.append((summing, summed))
        built = once, summed
    if constants and not trial.skeleton.typed:
        cast = replace(ways[0][0], clamped=frozenset[str]())
        if built is None:
            unclamped = trial.rehearse(cast)
            ways.append((cast, unclamped))
        else:
            unclamped = trial.rehearse(replace(first, clamped=frozenset[str]()))
            ways.append((cast, trial.rehearse(cast)))
    return Rehearsal(plain, fused, accumulated, unclamped, built, tuple(ways), layers)


def _with_fp16_accumulators(trial: Trial, narrowing: Narrowing, without: Rehearsed) -> Rehearsed:
    """Simulate a model whose products accumulate in FP16.

    If all sums are short, FP16 accumulators do not change the results. In this case, return ``without``, the
    result with FP32 accumulators.
    """
    return trial.rehearse(narrowing) if trial.accumulates(narrowing) else without
