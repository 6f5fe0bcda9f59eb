"""What measured ranges say of the places that a rule's findings are at."""

from __future__ import annotations

from collections.abc import Iterable

from trtlint.engine.subjects import Subject
from trtlint.engine.witness import Verdict
from trtlint.facts.facts import Facts
from trtlint.facts.of_trial.tensor_range import TensorRange
from trtlint.model.graph import Node


def judge_range(measured: TensorRange) -> Verdict:
    """What a measurement says of a tensor that a finding is about: its own figure."""
    what = measured.inside or "greatest magnitude"
    said = f"{measured.place}: {what} {measured.words}, on {measured.on}"
    return Verdict(support="medium" if measured.made_up else "confirmed", said=(said,))


def ranges_of(facts: Facts, subject: Subject) -> tuple[TensorRange, ...]:
    """What was measured of the tensors of a block, the widest range first."""
    nodes: frozenset[Node] = frozenset(subject.nodes)
    found = _ranges(facts.of("tensor_range"), nodes)
    return tuple(sorted(found, key=lambda measured: -measured.greatest))


def _ranges(facts: Iterable[object], nodes: frozenset[Node]) -> Iterable[TensorRange]:
    return (fact for fact in facts if isinstance(fact, TensorRange) and fact.node in nodes)
