"""What the findings of one evaluation have told so far, so that nothing is told twice."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import field
from typing import Literal

from trtlint.engine.rule import Rule
from trtlint.engine.subjects import Subject
from trtlint.facts.facts import Facts
from trtlint.facts.kinds import ground_of
from trtlint.facts.refusal import Refusal
from trtlint.lean import dataclass
from trtlint.model.graph import Node

_PARSER = "parser_refusal"
"""The kind of fact with which the parser's errors come as values."""


def about_builds(rule: Rule) -> bool:
    """Whether a rule is about what a build left behind, and needs no model."""
    return ground_of(rule.find) == "build"


def about_trials(rule: Rule) -> bool:
    """Whether a rule is about what was found out by running the model."""
    return ground_of(rule.find) == "trial"


def reads_the_graph(rule: Rule) -> bool:
    """Whether a rule is about the graph, so that types and shapes decide what it finds."""
    return ground_of(rule.find) in ("model", "weights")


def turn(rule: Rule) -> int:
    """When a rule is evaluated.

    First those about the model: what a build says of their findings is told there.  Then the parser's
    errors as values, the build, and last what else a trial says, if nobody has told it.
    """
    if about_trials(rule):
        return 1 if rule.find == _PARSER else 3
    return 2 if about_builds(rule) else 0


@dataclass(slots=True)
class Told:
    """What the findings so far have told.

    Attributes:
        messages: file and line of the messages that they cite.
        places: by rule, the nodes at which it has a finding.
        refused: the nodes at which they state a refusal, with its stage; None for no node.
    """

    messages: set[str] = field(default_factory=set)
    places: dict[str, set[Node]] = field(default_factory=lambda: defaultdict(set))
    refused: set[tuple[Node | None, Literal["parse", "build"]]] = field(default_factory=set)

    def covers(self, rule: Rule, subject: Subject) -> bool:
        """Whether a rule need not say of a subject what others have said."""
        others = (self.places.get(other, ()) for other in rule.yields)
        if subject.values.get("at") in self.messages or any(
            node in told for told in others for node in subject.nodes
        ):
            return True
        return about_trials(rule) and subject.refusal is not None and self._refused(subject, subject.refusal)

    def _refused(self, subject: Subject, refusal: Refusal) -> bool:
        """Whether others have stated a refusal; the builder ends with its first."""
        if refusal.stage == "build":
            return any(stage == "build" for _, stage in self.refused)
        return any((node, "parse") in self.refused for node in subject.nodes or (None,))

    def add(self, rule: Rule, subject: Subject) -> None:
        """Take note of a place at which a rule has a finding."""
        self.places[rule.id].update(subject.nodes)
        if subject.refusal is not None:
            self.refused.update((node, subject.refusal.stage) for node in subject.nodes or (None,))

    def close(self, rule: Rule, facts: Facts) -> None:
        """Take note that a rule has been evaluated: one about the parser's errors tells all of them."""
        if rule.find == _PARSER and facts.dry is not None and facts.dry.result.parsed is False:
            from trtlint.facts.of_build.log_message import LogMessage

            self.messages.update(
                message.at
                for message in facts.of("log_message")
                if isinstance(message, LogMessage) and message.severity in ("error", "fatal")
            )
