"""Run a model in FP32 and in FP16, BF16 or TF32 on the same inputs, and compare the outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from trtlint.measurement.band import worst
from trtlint.measurement.choosing import ChoiceCounter, input_of
from trtlint.measurement.chosen import ChoiceShares
from trtlint.measurement.feeds import Feeds
from trtlint.measurement.measurement import Closer
from trtlint.measurement.narrowing import Narrowing, Probe, RewrittenModel, SecondLook
from trtlint.measurement.referencesession import ReferenceSession
from trtlint.measurement.rewriting import rewrite
from trtlint.measurement.session import Array, RehearsalSession, Session
from trtlint.measurement.trialmodel import TrialModel
from trtlint.measurement.trivial import trivial

_HIGH, _LOW, _SUM = range(3)


class RangeRun(Struct, frozen=True):
    """Result of a run in FP32.

    Attributes:
        probes: the measured tensors and internal numbers.
        figures: rows with the largest number, the smallest number and the sum of magnitudes over all batches.
            The row of a probe has the index :attr:`Probe.column`.
        outputs: the float outputs of each batch, or the tensors that are compared instead.
        choices: for each batch, the indices that operators such as TopK choose.
    """

    probes: tuple[Probe, ...]
    figures: Array
    outputs: tuple[Mapping[str, Array], ...]
    choices: tuple[Mapping[str, Array], ...] = ()

    def finite(self, probe: Probe) -> bool:
        """Return whether all numbers of a tensor are finite in FP32."""
        row = self.figures[probe.column]
        return bool(np.isfinite(row[:_SUM]).all() and not np.isnan(row[_SUM]))

    def greatest(self, probe: Probe) -> float | None:
        """Return the largest magnitude of a tensor, or None if a number is infinite or NaN."""
        return float(np.abs(self.figures[probe.column, :_SUM]).max()) if self.finite(probe) else None

    def extremes(self, probe: Probe) -> tuple[float, float] | None:
        """Return the smallest and the largest number of a tensor, or None if a number is not finite."""
        row = self.figures[probe.column]
        return (float(row[_LOW]), float(row[_HIGH])) if self.finite(probe) else None


class NarrowRun(Struct, frozen=True):
    """Result of a run in a low-precision type.

    Attributes:
        errors: for each output, the largest difference from FP32 divided by the largest magnitude in FP32.
            An error is None if the output is not finite, or has another shape than in FP32.
        unsound: names of the measured tensors that are not finite.
        choices: the operators such as TopK, with the shares of equal choices.
    """

    errors: Mapping[str, float | None]
    unsound: frozenset[str] = frozenset()
    choices: tuple[ChoiceShares, ...] = ()

    @property
    def worst(self) -> float | None:
        """Return the largest error of the outputs, or None if an output is not finite."""
        return worst(self.errors.values())


class Trial:
    """A model and the inputs to run it on.

    Args:
        model: the model.
        feeds: the batches.
        by_reference: true to run the model in ONNX's reference evaluator instead of ONNX Runtime.
        noisy: number of batches that are noisy copies of other batches. They come last in ``feeds``.
    """

    def __init__(
        self, model: TrialModel, feeds: Sequence[Feeds], *, by_reference: bool = False, noisy: int = 0
    ) -> None:
        self.model = model
        self.noisy = noisy
        self.by_reference = by_reference
        self.feeds = feeds
        self.ranged = self._range()
        chosen = ({input_of(name): array for name, array in each.items()} for each in self.ranged.choices)
        self.fed = tuple({**given, **choice} for given, choice in zip(feeds, chosen, strict=True))
        """The batches for a simulation, with the choices that operators such as TopK make in FP32."""
        infinite = {
            name for batch in self.ranged.outputs for name in batch if not np.isfinite(batch[name]).all()
        }
        self.judged = frozenset(self.ranged.outputs[0]) - infinite
        """The outputs that are finite in FP32. Errors of other outputs are not computed."""
        constant = trivial(model.graph, self.ranged.outputs, feeds)
        self.trivial = {name: reason for name, reason in constant.items() if name in self.judged}
        """The outputs that are empty, 0 or constant although the inputs affect them, each with the reason."""

    @property
    def fixed(self) -> frozenset[str]:
        """The names of the outputs with choices (of operators such as TopK) that a simulation sets."""
        return frozenset(self.ranged.choices[0])

    def _session(self, rewritten: RewrittenModel) -> Session:
        return ReferenceSession(rewritten) if self.by_reference else RehearsalSession(rewritten)

    def _range(self) -> RangeRun:
        rewritten = rewrite(self.model)
        session = self._session(rewritten)
        total, outputs, choices = np.zeros((0, 3), np.float32), [], []
        for feeds in self.feeds:
            named, figures = session.run(feeds)
            # The maximum of an empty tensor is -inf, and the minimum is inf.
            empty = (figures[:, _HIGH] == -np.inf) & (figures[:, _LOW] == np.inf) & (figures[:, _SUM] == 0)
            figures = np.where(empty[:, None], np.float32(0), figures)
            choices.append({name: named.pop(name) for name in rewritten.choices})
            outputs.append(named)
            if not total.size:
                total = figures
                continue
            high = np.maximum(total[:, _HIGH], figures[:, _HIGH])
            low = np.minimum(total[:, _LOW], figures[:, _LOW])
            total = np.stack([high, low, total[:, _SUM] + figures[:, _SUM]], axis=1)
        return RangeRun(rewritten.probes, total, tuple(outputs), tuple(choices))

    def closer(self, second: SecondLook) -> dict[str, Closer]:
        """Run the model again in FP32, and return further statistics by tensor name.

        Raises:
            TrialError: the model cannot be run.
        """
        rewritten = rewrite(self.model, second=second)
        session = self._session(rewritten)
        runs = np.stack([session.run(feeds)[1] for feeds in self.feeds])
        beyond, vanishing = np.nan_to_num(runs[:, :, :2].mean(axis=0)).T
        smallest = runs[:, :, 2].min(axis=0)
        return {
            probe.tensor: Closer(
                float(smallest[probe.column]) if np.isfinite(smallest[probe.column]) else None,
                float(beyond[probe.column]),
                float(vanishing[probe.column]),
            )
            for probe in rewritten.probes
        }

    def accumulates(self, narrowing: Narrowing) -> bool:
        """Return whether FP16 accumulators change the result of any product of the model."""
        return rewrite(self.model, narrowing, probed=False).sums > 0

    def rehearse(self, narrowing: Narrowing, *, probed: bool = False) -> NarrowRun:
        """Simulate the model in a low-precision type.

        Args:
            narrowing: the settings.
            probed: true to list the tensors that are not finite in :attr:`NarrowRun.unsound`.

        Raises:
            TrialError: the model cannot be run.
        """
        rewritten = rewrite(self.model, narrowing, probed=probed, fixed=self.fixed)
        session = self._session(rewritten)
        differences = dict.fromkeys(self.judged, 0.0)
        magnitudes = dict.fromkeys(self.judged, 0.0)
        broken: set[str] = set()
        sound = np.ones(len(rewritten.probes), bool)
        counter = ChoiceCounter(self.model.choices)
        ranged = self.ranged
        for feeds, reference, chosen in zip(self.fed, ranged.outputs, ranged.choices, strict=True):
            named, figures = session.run(feeds)
            counter.add(chosen, named)
            if probed:
                finite = np.isfinite(figures[:, 0])
                sound &= finite[[probe.column for probe in rewritten.probes]]
            for name in self.judged:
                right, found = reference[name], named[name]
                if right.shape != found.shape or not np.isfinite(found).all():
                    broken.add(name)
                elif right.size:
                    difference = np.abs(right.astype(np.float64) - found).max()
                    differences[name] = max(differences[name], float(difference))
                    magnitudes[name] = max(magnitudes[name], float(np.abs(right).max()))
        errors = {
            name: None if name in broken else ratio(differences[name], magnitudes[name])
            for name in rewritten.outputs
            if name in self.judged
        }
        unsound = (probe.tensor for probe, fine in zip(rewritten.probes, sound, strict=True) if not fine)
        return NarrowRun(errors, frozenset(unsound), counter.shares())


def ratio(difference: float, magnitude: float) -> float:
    """Return the error of an output: ``difference / magnitude``.

    If ``magnitude`` is 0, the result is 0 for a difference of 0, and the largest float for any other
    difference.
    """
    if magnitude:
        return difference / magnitude
    return float(np.finfo(np.float32).max) if difference else 0.0
