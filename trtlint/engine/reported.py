"""Record what findings have reported, and the rules whose findings may be missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from msgspec import Struct, field

from trtlint.engine.finding import SEVERITIES, IncompleteSearch
from trtlint.engine.rule import LOG_MESSAGE, PATTERN, Rule
from trtlint.engine.subjects import Subject, Subjects
from trtlint.facts.facts import Facts
from trtlint.facts.kinds import ground_of
from trtlint.facts.refusal import Refusal
from trtlint.model.graph import Node
from trtlint.model.walks import watching

_PARSER = "parser_refusal"
"""The kind of facts about the parser's errors."""


def about_builds(rule: Rule) -> bool:
    """Return whether a rule is about files of a build, such as a log.  Such a rule needs no model."""
    return ground_of(rule.find) == "build"


def about_experiments(rule: Rule) -> bool:
    """Return whether a rule is about results of experiments, such as a dry build."""
    return ground_of(rule.find) == "trial"


def reads_the_graph(rule: Rule) -> bool:
    """Return whether a rule is about the graph or weights.

    Types and shapes affect the findings of such a rule.
    """
    return ground_of(rule.find) in ("model", "weights")


def turn(rule: Rule) -> tuple[int, bool]:
    """Return a sort key for a rule: the phase in which trtlint evaluates the rule.

    Rules about the model come first, because their findings quote matching messages of a build.  Then come
    rules about errors of the parser, rules about the build, and rules about other experiments.  A rule does
    not repeat the findings of the rules before it.  In each phase, rules with ``default: true`` come last.
    """
    if about_experiments(rule):
        return 1 if rule.find == _PARSER else 3, rule.default
    return 2 if about_builds(rule) else 0, rule.default


class ReportedPlaces(Struct):
    """The nodes and log messages that the findings of an evaluation have reported so far.

    Attributes:
        messages: ``file:line`` of the log messages that later findings do not report again.
        lines: ``file:line`` of the log messages that are themselves the subject of a finding.
        places: for each rule, the nodes that have a finding of this rule.
        refused: pairs of a refused node and the stage that refuses the node.  The node is None if it is
            unknown.
    """

    messages: set[str] = field(default_factory=set)
    lines: set[str] = field(default_factory=set)
    places: dict[str, set[Node]] = field(default_factory=lambda: defaultdict(set))
    refused: set[tuple[Node | None, Literal["parse", "build"]]] = field(default_factory=set)

    def covers(self, rule: Rule, subject: Subject) -> bool:
        """Return whether a rule's finding about a fact or match would repeat an earlier finding."""
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
        """Return whether an earlier finding reports this error of the parser or builder.

        For a builder error, the result is True if any earlier finding is about a builder error. The
        reason is that the builder stops at its first error.
        """
        if refusal.stage == "build":
            return any(stage == "build" for _, stage in self.refused)
        return any((node, "parse") in self.refused for node in subject.nodes or (None,))

    def add(self, rule: Rule, subject: Subject) -> None:
        """Record that a rule has a finding about a fact or match."""
        self.places[rule.id].update(subject.nodes)
        if rule.find == LOG_MESSAGE and isinstance(at := subject.values.get("at"), str):
            self.lines.add(at)
        if subject.refusal is not None:
            self.refused.update((node, subject.refusal.stage) for node in subject.nodes or (None,))


class Completeness:
    """Records the rules whose search did not finish.

    Args:
        facts: the facts of the model.
        subjects: the facts and pattern matches for which rules are evaluated.
    """

    def __init__(self, facts: Facts, subjects: Subjects) -> None:
        self._facts = facts
        self._subjects = subjects
        self._cut: set[str] = set()

    @contextmanager
    def searching(self, rule: Rule) -> Iterator[None]:
        """Return a context manager that records whether the search for a rule reaches its limit of nodes."""
        with watching() as watch:
            yield
        if watch.cut:
            self._cut.add(rule.id)

    def missing(self, rule: Rule) -> Iterator[IncompleteSearch]:
        """If findings of a rule may be missing, yield one record that gives the reason."""
        # The highest severity that a finding of the rule can have.
        severities = (rule.severity, *(severity for _, severity in rule.severity_when))
        severity = min(severities, key=SEVERITIES.index)
        untyped = self._facts.model.untyped if self._facts.has_model else ""
        if not self._subjects.searched(rule):
            yield IncompleteSearch(rule.id, rule.name, severity)
        elif untyped and reads_the_graph(rule):
            yield IncompleteSearch(rule.id, rule.name, severity, "types", untyped)
        elif rule.id in self._cut or (rule.find != PATTERN and not self._facts.searched(rule.find)):
            yield IncompleteSearch(rule.id, rule.name, severity, "walk")
