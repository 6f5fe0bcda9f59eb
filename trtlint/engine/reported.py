"""The statements that the findings of one evaluation have made, so that none is repeated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import field
from typing import Literal

from trtlint.engine.rule import Rule
from trtlint.engine.subjects import Subject
from trtlint.facts.kinds import ground_of
from trtlint.facts.refusal import Refusal
from trtlint.lean import dataclass
from trtlint.model.graph import Node

_PARSER = "parser_refusal"
"""The kind of fact with which the parser's errors come as values."""


def about_builds(rule: Rule) -> bool:
    """Whether a rule is about what a build left behind, and needs no model."""
    return ground_of(rule.find) == "build"


def about_experiments(rule: Rule) -> bool:
    """Whether a rule is about what was found out by running the model."""
    return ground_of(rule.find) == "trial"


def reads_the_graph(rule: Rule) -> bool:
    """Whether a rule is about the graph, so that types and shapes decide what it finds."""
    return ground_of(rule.find) in ("model", "weights")


def turn(rule: Rule) -> int:
    """When a rule is evaluated.

    First those about the model: what a build says of their findings is reported there.  Then the parser's
    errors as values, the build, and last what else an experiment says, if no finding has reported it.
    """
    if about_experiments(rule):
        return 1 if rule.find == _PARSER else 3
    return 2 if about_builds(rule) else 0


@dataclass(slots=True)
class Reported:
    """The statements of the findings so far.

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
            node in reported for reported in others for node in subject.nodes
        ):
            return True
        if subject.refusal is None or not about_experiments(rule):
            return False
        return self._refused(subject, subject.refusal)

    def _refused(self, subject: Subject, refusal: Refusal) -> bool:
        """Whether others have stated a refusal; the builder ends with its first."""
        if refusal.stage == "build":
            return any(stage == "build" for _, stage in self.refused)
        return any((node, "parse") in self.refused for node in subject.nodes or (None,))

    def add(self, rule: Rule, subject: Subject) -> None:
        """Record a place at which a rule has a finding."""
        self.places[rule.id].update(subject.nodes)
        if subject.refusal is not None:
            self.refused.update((node, subject.refusal.stage) for node in subject.nodes or (None,))

    def close(self, messages: Iterable[str]) -> None:
        """Record messages that nobody need report after a rule was evaluated."""
        self.messages.update(messages)
