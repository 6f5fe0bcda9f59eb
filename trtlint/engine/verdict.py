"""Who is asked about the places that a rule's findings are at: a measurement, a dry build, or a build."""

from __future__ import annotations

from trtlint.engine.drytestimony import judge_dry
from trtlint.engine.rangetestimony import judge_range
from trtlint.engine.rule import Rule
from trtlint.engine.subjects import Subject
from trtlint.engine.testimony import judge
from trtlint.engine.witness import Verdict
from trtlint.facts.facts import Facts
from trtlint.facts.of_trial.tensor_range import TensorRange
from trtlint.target.target import Target


def verdict(rule: Rule, facts: Facts, subject: Subject, target: Target, *, holds: bool) -> Verdict:
    """Judge one place by what a measurement, a dry build or a build shows.

    Args:
        rule: the rule that has a finding there.
        facts: the facts of the model.
        subject: the place.
        target: what the engine is built for.
        holds: whether the rule holds there for sure, and not only with options that are not given.
    """
    if isinstance(subject.fact, TensorRange):  # which says itself what was measured
        return judge_range(subject.fact)
    if facts.dry is not None:
        return judge_dry(rule, facts, facts.dry.result, subject, target, holds=holds)
    return judge(rule.witness, facts, subject, target, holds=holds)
