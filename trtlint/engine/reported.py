"""Statements of the findings of one evaluation, so that no finding repeats another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct, field

from trtlint.engine.rule import LOG_MESSAGE, Rule
from trtlint.engine.subjects import Subject
from trtlint.facts.kinds import ground_of
from trtlint.facts.refusal import Refusal
from trtlint.model.graph import Node

_PARSER = "parser_refusal"
"""The kind of fact with the parser's errors as values."""


def about_builds(rule: Rule) -> bool:
    """Return whether a rule is about files of a build and needs no model."""
    return ground_of(rule.find) == "build"


def about_experiments(rule: Rule) -> bool:
    """Return whether a rule is about results of running the model."""
    return ground_of(rule.find) == "trial"


def reads_the_graph(rule: Rule) -> bool:
    """Return whether a rule is about the graph, so that types and shapes affect its findings."""
    return ground_of(rule.find) in ("model", "weights")


def turn(rule: Rule) -> tuple[int, bool]:
    """Return the phase in which a rule is evaluated.

    Rules about the model come first, because their findings include matching evidence of a build.  Rules
    about the parser's errors come next, then rules about the build, then rules about other experiments.
    Later rules report only what no earlier finding has reported.  In each phase, default rules come last.
    """
    if about_experiments(rule):
        return 1 if rule.find == _PARSER else 3, rule.default
    return 2 if about_builds(rule) else 0, rule.default


class Reported(Struct):
    """Statements of the findings so far.

    Attributes:
        messages: file and line of the cited messages.
        lines: file and line of the messages of a log with a finding of their own.
        places: by rule, the nodes with a finding.
        refused: the refused nodes, with the stage; None for no node.
    """

    messages: set[str] = field(default_factory=set)
    lines: set[str] = field(default_factory=set)
    places: dict[str, set[Node]] = field(default_factory=lambda: defaultdict(set))
    refused: set[tuple[Node | None, Literal["parse", "build"]]] = field(default_factory=set)

    def covers(self, rule: Rule, subject: Subject) -> bool:
        """Return whether other findings have stated the same about a subject."""
        others = (self.places.get(other, ()) for other in rule.yields)
        at = subject.values.get("at")
        if at in self.messages or any(node in reported for reported in others for node in subject.nodes):
            return True
        if rule.default and at in self.lines:
            return True
        if subject.refusal is None or not about_experiments(rule):
            return False
        return self._refused(subject, subject.refusal)

    def _refused(self, subject: Subject, refusal: Refusal) -> bool:
        """Return whether other findings already state a refusal.  The builder stops at its first refusal."""
        if refusal.stage == "build":
            return any(stage == "build" for _, stage in self.refused)
        return any((node, "parse") in self.refused for node in subject.nodes or (None,))

    def add(self, rule: Rule, subject: Subject) -> None:
        """Record a place with a finding of a rule."""
        self.places[rule.id].update(subject.nodes)
        if rule.find == LOG_MESSAGE and isinstance(at := subject.values.get("at"), str):
            self.lines.add(at)
        if subject.refusal is not None:
            self.refused.update((node, subject.refusal.stage) for node in subject.nodes or (None,))

    def close(self, messages: Iterable[str]) -> None:
        """Record messages that later rules do not report again."""
        self.messages.update(messages)
