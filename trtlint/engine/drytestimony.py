"""What a dry build says of the places that a rule's findings are at.

About a target of its own it is a build like any other, and more: what a stage takes, no rule can say
that it refuses.  About another target it supports what the parser refuses too, and cites the rest.
"""

from __future__ import annotations

from dataclasses import replace

from trtlint.engine.bearing import bearing, reached, takes
from trtlint.engine.rule import Rule
from trtlint.engine.subjects import Subject
from trtlint.engine.testimony import cited, judge, shortened, testimony
from trtlint.engine.told import about_builds, about_trials
from trtlint.engine.witness import Verdict
from trtlint.facts.facts import Facts
from trtlint.facts.of_trial.parser_refusal import ParserRefusal
from trtlint.target.target import Target
from trtlint.trials.result import Result


def judge_dry(rule: Rule, facts: Facts, result: Result, subject: Subject, target: Target) -> Verdict:
    """What a dry build says of one place."""
    stage = reached(result)
    sure = bearing(result, stage, target)
    if about_builds(rule) or about_trials(rule):
        if sure == "confirmed" and result.built is False and any(shape.chosen for shape in result.shapes):
            sure = "medium"  # of other shapes the builder might say something else
        return Verdict(support=sure, said=(result.label,) if about_trials(rule) else ())
    refusal = subject.refusal
    if refusal is not None and takes(result, refusal.stage):
        said = _taken(result, refusal.stage)
        sure = bearing(result, refusal.stage, target)
        if sure == "confirmed":
            return Verdict("refuted", (said,))
        return Verdict(said=(said,), doubt="medium") if sure == "high" else Verdict()
    refused = _refused(facts, subject) if stage == "parse" else ()
    if sure == "confirmed":
        verdict = judge(rule.witness, facts, subject, target)
        if refused and verdict.standing == "open":
            return replace(verdict, standing="confirmed", said=cited(refused))
        return verdict
    if refused:
        return Verdict(said=cited(refused), support=sure)
    messages = tuple(witness for witness in rule.witness.confirm if witness.kind == "log")
    found = tuple(testimony(messages, facts, subject, target))
    if not found:
        return Verdict()
    verdict = Verdict(said=cited(said for said, _ in found), cited=frozenset(at for _, at in found))
    return replace(verdict, support=sure if stage == "parse" else None)


def _refused(facts: Facts, subject: Subject) -> tuple[str, ...]:
    """The parser's errors at the nodes of a subject that states that the parser refuses them."""
    if subject.refusal is None or subject.refusal.stage != "parse":
        return ()
    return tuple(
        f"{error.label}: {error.code}: {shortened(error.says)}"
        for error in facts.of("parser_refusal")
        if isinstance(error, ParserRefusal) and error.node is not None and error.node in subject.nodes
    )


def _taken(result: Result, stage: str) -> str:
    if stage == "parse":
        return f"{result.label}: the parser takes it"
    shapes = ", ".join(shape.words for shape in result.shapes)
    return f"{result.label}: it is built{f' ({shapes})' if shapes else ''}"
