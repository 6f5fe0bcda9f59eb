"""Simulate a model in FP16, BF16 or TF32, once for each rounding scheme.

A rounding scheme is an assumption about which operators of a build round their results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from trtlint.measurement.band import Band, BuildBand, within
from trtlint.measurement.chosen import ChoiceShares, least_equal
from trtlint.measurement.formats import FP16, Format
from trtlint.measurement.fusion import FusedLayers
from trtlint.measurement.narrowing import Narrowing
from trtlint.measurement.trial import NarrowRun, Trial


class Rehearsal(Struct, frozen=True):
    """Results of simulating a model in a low-precision type, once for each assumption about rounding.

    Attributes:
        plain: every operator rounds its result.
        fused: only operands and results of matrix products and convolutions, and outputs of the model, are
            rounded. If nothing can be fused, this is the same run as ``plain``.
        accumulated: every operator rounds its result, and products accumulate in FP16.
        unclamped: like ``plain``, but constants beyond the range become infinite; None if no constant is
            beyond the range.
        build: the error of the build whose layers are known; None if no layers are known.
        runs: the runs whose errors count, each with its settings. These are the runs for the build if its
            layers are known, otherwise all runs.
    """

    plain: NarrowRun
    fused: NarrowRun
    accumulated: NarrowRun
    unclamped: NarrowRun | None
    build: BuildBand | None
    runs: tuple[tuple[Narrowing, NarrowRun], ...]

    def bands(self) -> Mapping[str, Band]:
        """Return the error band of each output."""
        each = (self.plain, self.fused, self.accumulated)
        return {name: Band(*(way.errors[name] for way in each)) for name in self.plain.errors}

    def choices(self) -> tuple[ChoiceShares, ...]:
        """Return, for each operator such as TopK, its smallest shares of equal choices in ``runs``."""
        found: dict[str, ChoiceShares] = {}
        for each in (each for _, run in self.runs for each in run.choices):
            found[each.node] = least_equal((found.get(each.node, each), each))
        return tuple(found.values())

    def is_good(self, bound: float) -> bool:
        """Return whether the errors are within ``bound`` in all runs whose errors count."""
        return all(within(each.worst, bound) for _, each in self.runs)


def rehearse(
    trial: Trial,
    format_: Format,
    constants: frozenset[str],
    layers: FusedLayers | None,
    say: Callable[[str], None],
) -> Rehearsal:
    """Simulate a model in a low-precision type once for each rounding scheme.

    Args:
        trial: the model and its inputs.
        format_: the low-precision type.
        constants: names of the constants beyond the range of the low-precision type.
        layers: the layers of a build; None if they are unknown.
        say: function that receives the name of the next rounding scheme.

    Raises:
        TrialError: the model cannot be run.
    """
    first = Narrowing(format_, clamped=constants)
    say("rehearsal")
    plain = fused = accumulated = trial.rehearse(first, probed=True)
    unclamped = build = None
    runs = [(first, plain)]
    if not trial.judged:  # no output can be compared
        return Rehearsal(plain, plain, plain, None, None, tuple(runs))
    if not format_.operands_only:
        say("fused")
        fusing = replace(first, fused=True)
        fused = trial.rehearse(fusing)
        runs.append((fusing, fused))
        if format_ is FP16:
            say("accumulated")
            runs.append(_with_fp16_accumulators(trial, first, plain))
            accumulated = runs[-1][1]
        if layers is not None:
            say("build")
            known = replace(fusing, stored=layers.stored)
            runs = [(known, trial.rehearse(known))]
            if format_ is FP16:
                runs.append(_with_fp16_accumulators(trial, *runs[0]))
            error, summed = runs[0][1].worst, runs[-1][1].worst
            build = BuildBand(layers.source, layers.layers, layers.nodes, error, summed)
    if constants and not trial.model.typed:
        unclamped = trial.rehearse(replace(first, clamped=frozenset[str]()))
        cast = replace(runs[0][0], clamped=frozenset[str]())
        runs.append((cast, unclamped if build is None else trial.rehearse(cast)))
    return Rehearsal(plain, fused, accumulated, unclamped, build, tuple(runs))


def _with_fp16_accumulators(
    trial: Trial, narrowing: Narrowing, without: NarrowRun
) -> tuple[Narrowing, NarrowRun]:
    """Simulate a model whose products accumulate in FP16, and return the settings and the result.

    If all sums are short, FP16 accumulators do not change the results. In this case, the result is
    ``without``, the result with FP32 accumulators.
    """
    adding = replace(narrowing, accumulate=True)
    return adding, trial.rehearse(adding) if trial.accumulates(adding) else without
