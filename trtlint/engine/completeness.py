"""Record the rules whose search in a model did not finish. Their findings may be missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from trtlint.engine.finding import SEVERITIES, IncompleteSearch
from trtlint.engine.reported import reads_the_graph
from trtlint.engine.rule import PATTERN, Rule
from trtlint.engine.subjects import Subjects
from trtlint.facts.facts import Facts
from trtlint.model.walks import watching


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
