"""Use measured ranges of tensors as evidence, from ``trtlint measure``."""

from __future__ import annotations

from msgspec import Struct

from trtlint.engine.evidence.base import Evidence, Question, Verdict
from trtlint.engine.evidence.words import fulfilling
from trtlint.facts.of_trial.tensor_range import TensorRange
from trtlint.measurement.measurement import Measurement


class RangeEvidence(Evidence, Struct, frozen=True):
    """Measured ranges of the tensors of a model, and the output errors that a 16-bit type causes.

    Attributes:
        measurement: the result of ``trtlint measure``.
    """

    measurement: Measurement

    kind = "ranges"
    grounds = frozenset({"trial"})

    @property
    def data(self) -> Measurement:
        """The measured ranges and errors."""
        return self.measurement

    def states(self, fact: str) -> bool:
        """Return whether facts of this kind are measured ranges."""
        return fact == TensorRange.kind

    def judge(self, question: Question) -> Verdict | None:
        """Judge a finding at one node by the measured ranges of the tensors in its block."""
        measured = question.subject.fact
        if isinstance(measured, TensorRange):
            return _own(measured)
        for standing, conditions in question.rule.verdict.sides:
            asked = (each for each in conditions if each.kind in ("range", "ranges"))
            said = tuple(words for each in asked for words in fulfilling(each, _ranges(question), question))
            if said:
                return Verdict(standing, said)
        return None


def _own(measured: TensorRange) -> Verdict:
    """Return the verdict on a finding about the measured range of one tensor."""
    what = measured.inside or "greatest magnitude"
    said = f"{measured.place}: {what} {measured.words}, on {measured.on}"
    return Verdict(support="medium" if measured.made_up else "confirmed", said=(said,))


def _ranges(question: Question) -> tuple[TensorRange, ...]:
    """Return the measured ranges of the tensors that the nodes of a subject compute, the widest first."""
    nodes = frozenset(question.subject.nodes)
    found = (fact for fact in question.facts.of(TensorRange.kind) if isinstance(fact, TensorRange))
    return tuple(sorted((each for each in found if each.node in nodes), key=lambda each: -each.greatest))
