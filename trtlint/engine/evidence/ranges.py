"""Use measured ranges of tensors as evidence, from ``trtlint measure``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from trtlint.engine.evidence.base import Evidence, Question, Verdict
from trtlint.engine.evidence.conditions import EvidenceCondition
from trtlint.engine.evidence.words import names_of, said_under
from trtlint.engine.finding import Standing
from trtlint.engine.subjects import Subject
from trtlint.facts.facts import Facts
from trtlint.facts.of_trial.tensor_range import TensorRange
from trtlint.language.expression import Expression
from trtlint.measurement.measurement import Measurement

_ASKED = frozenset({"range", "ranges"})
"""Kinds of conditions that are about ranges."""


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
        conditions = question.rule.witness
        sides: tuple[tuple[Standing, tuple[EvidenceCondition, ...]], ...] = (
            ("confirmed", conditions.confirm),
            ("refuted", conditions.refute),
        )
        for standing, asked in sides:
            said = tuple(_statements(asked, question))
            if said:
                return Verdict(standing, said)
        return None


def _own(measured: TensorRange) -> Verdict:
    """Return the verdict on a finding about the measured range of one tensor."""
    what = measured.inside or "greatest magnitude"
    said = f"{measured.place}: {what} {measured.words}, on {measured.on}"
    return Verdict(support="medium" if measured.made_up else "confirmed", said=(said,))


def _statements(conditions: Iterable[EvidenceCondition], question: Question) -> Iterator[str]:
    for condition in conditions:
        if condition.kind in _ASKED and condition.where is not None:
            yield from _fulfilling(condition, condition.where, question)


def _fulfilling(condition: EvidenceCondition, where: Expression, question: Question) -> Iterator[str]:
    subject = question.subject
    ranges = _ranges_of(question.facts, subject)
    asked = [(measured, names_of(measured, subject, question.target)) for measured in ranges]
    truths = [where.truth(names) for _, names in asked]
    if condition.kind == "ranges" and any(truth is False for truth in truths):
        return
    answers = list(zip(asked, truths, strict=True))
    for (measured, names), truth in answers[:1] if condition.kind == "ranges" else answers:
        if truth is True:
            yield said_under(condition, names, measured.place)


def _ranges_of(facts: Facts, subject: Subject) -> tuple[TensorRange, ...]:
    """Return the measured ranges of the tensors that the nodes of a subject compute, the widest first."""
    nodes = frozenset(subject.nodes)
    found = (fact for fact in facts.of(TensorRange.kind) if isinstance(fact, TensorRange))
    return tuple(sorted((each for each in found if each.node in nodes), key=lambda each: -each.greatest))
