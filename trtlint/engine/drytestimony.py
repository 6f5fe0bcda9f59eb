"""What a dry build says of the places that a rule's findings are at.

About a target of its own it is a build like any other, and more: what a stage takes, no rule can say
that it refuses.  About another target it supports what the parser refuses too, and cites the rest.
"""

from __future__ import annotations

from trtlint.dry_build.result import Result
from trtlint.engine.bearing import bearing, reached, takes
from trtlint.engine.finding import Confidence
from trtlint.engine.refusals import errors_of_parser
from trtlint.engine.rule import Rule
from trtlint.engine.subjects import Subject
from trtlint.engine.testimony import cited, judge, quotations, shortened, testimony
from trtlint.engine.told import about_builds, about_trials
from trtlint.engine.witness import Verdict
from trtlint.facts.facts import Facts
from trtlint.target.target import Target


def judge_dry(
    rule: Rule, facts: Facts, result: Result, subject: Subject, target: Target, *, holds: bool = True
) -> Verdict:
    """What a dry build says of one place."""
    stage = reached(result)
    sure = bearing(result, stage, target)
    if about_builds(rule) or about_trials(rule):
        if sure == "confirmed" and result.built is False and any(shape.chosen for shape in result.shapes):
            sure = "medium"  # of other shapes the builder might say something else
        return Verdict(support=sure, said=(result.label,) if about_trials(rule) else ())
    if subject.refusal is not None:
        return _judge_refusal(rule, facts, result, subject, target, holds=holds)
    if sure == "confirmed":
        return judge(rule.witness, facts, subject, target)
    return _of_messages(rule, facts, subject, target, sure if stage == "parse" else None)


def _judge_refusal(
    rule: Rule, facts: Facts, result: Result, subject: Subject, target: Target, *, holds: bool
) -> Verdict:
    """Judge a finding that predicts a refusal: an error at its node counts before any success."""
    refusal, stage = subject.refusal, reached(result)
    assert refusal is not None
    sure = bearing(result, stage, target)
    refused = {
        f"{error.label}: {error.code}: {shortened(error.says)}": None
        for error in (errors_of_parser(facts, subject, refusal, holds=holds) if stage == "parse" else ())
    }
    quoted = dict(quotations(facts, subject, holds=holds))
    words, places = tuple(refused or quoted.values()), frozenset(quoted)
    if words and sure == "confirmed":
        return Verdict("confirmed", cited(words), places)
    if words:
        return Verdict(said=cited(words), cited=places, support=sure if stage == "parse" else None)
    if takes(result, refusal.stage):
        said = _taken(result, refusal.stage)
        taken = bearing(result, refusal.stage, target)
        if taken == "confirmed":
            return Verdict("refuted", (said,))
        return Verdict(said=(said,), doubt="medium") if taken == "high" else Verdict()
    if sure == "confirmed":
        return judge(rule.witness, facts, subject, target, holds=holds)
    return _of_messages(rule, facts, subject, target, sure if stage == "parse" else None)


def _of_messages(
    rule: Rule, facts: Facts, subject: Subject, target: Target, support: Confidence | None
) -> Verdict:
    """Cite the messages of another product's build that a rule asks for."""
    messages = tuple(witness for witness in rule.witness.confirm if witness.kind == "log")
    found = tuple(testimony(messages, facts, subject, target))
    if not found:
        return Verdict()
    return Verdict(
        said=cited(said for said, _ in found), cited=frozenset(at for _, at in found), support=support
    )


def _taken(result: Result, stage: str) -> str:
    if stage == "parse":
        return f"{result.label}: the parser takes it"
    shapes = ", ".join(shape.words for shape in result.shapes)
    return f"{result.label}: it is built{f' ({shapes})' if shapes else ''}"
