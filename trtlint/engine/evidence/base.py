"""Base class of evidence, with the methods that judge findings and add lines to reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from trtlint.engine.finding import Confidence, EvidenceSummary, Standing
from trtlint.facts.kinds import Ground
from trtlint.target.target import Target

if TYPE_CHECKING:
    from pathlib import Path

    from trtlint.engine.evaluate import Evaluation
    from trtlint.engine.finding import ModelReport
    from trtlint.engine.rule import Rule
    from trtlint.engine.ruleset import RuleSet
    from trtlint.engine.subjects import Subject
    from trtlint.facts.facts import Facts


class Question(Struct, frozen=True):
    """The question whether a finding is true at one node. Each piece of evidence can answer it.

    Attributes:
        rule: the rule of the finding.
        facts: the facts of the model.
        subject: the fact or pattern match that the finding is about.
        target: the build target.
        holds: True if the condition of the rule is surely true.  False if the condition depends on unset
            options.
    """

    rule: Rule
    facts: Facts
    subject: Subject
    target: Target
    holds: bool


class Verdict(Struct, frozen=True):
    """The verdict of a piece of evidence about a finding at one node.

    Attributes:
        standing: ``confirmed``, ``refuted``, or ``open`` if the evidence does not decide.
        said: sentences for the report. Each names a layer, a tensor, or a line of a file.
        cited: ``file:line`` of the log messages in ``said``.
        support: the lowest confidence that the finding can have, if the evidence supports the finding but
            cannot confirm it; else None.
        doubt: the highest confidence that the finding can have, if the evidence makes the finding doubtful;
            else None.
        ended: True if a real build failed with one of the cited messages.
        everywhere: True if the confirming message names no node. Then a refutation takes precedence over this
            confirmation.
    """

    standing: Standing = "open"
    said: tuple[str, ...] = ()
    cited: frozenset[str] = frozenset()
    support: Confidence | None = None
    doubt: Confidence | None = None
    ended: bool = False
    everywhere: bool = False


class BlockTimes(Struct, frozen=True):
    """The measured time of the operators of a finding.

    Attributes:
        words: the line in reports.
        ms: time of the engine layers that compute these operators, in milliseconds per inference.
        share: ``ms`` divided by the time of all layers, 0 to 1.
    """

    words: str
    ms: float
    share: float


class Evidence:
    """One piece of evidence about a model, such as a build, a dry build or measured ranges.

    Subclasses are frozen structs that can be pickled.  The methods of this base class return values that mean
    "no evidence".
    """

    __slots__ = ()

    kind: str
    """Name of the kind of evidence. It is also the key of the evidence in reports."""
    grounds: frozenset[Ground]
    """The sources of facts that the evidence makes available, such as ``build``."""
    judges = True
    """False if the evidence cannot confirm or refute a finding."""

    @property
    def files(self) -> tuple[str, ...]:
        """Return the files that contain the evidence.  No report may overwrite them."""
        return ()

    def form(self, path: str) -> str:  # noqa: ARG002
        """Return the kind of a file that contains the evidence, such as ``log``."""
        return "build"

    @property
    def data(self) -> object:
        """The data that facts are derived from; None if no facts come from the evidence."""
        raise NotImplementedError

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that a report shows if the evidence applies to its target."""
        return ()

    @property
    def of_any_form(self) -> Evidence | None:
        """Return the part of the evidence that stays valid after trtlint rewrites the model.

        The result is None if no part stays valid.
        """
        return None

    @property
    def summary(self) -> EvidenceSummary | None:
        """Return the evidence as JSON data for a report, or None if reports do not show this evidence."""
        return None

    def conclude(
        self,
        evaluation: Evaluation,  # noqa: ARG002
        report: ModelReport,  # noqa: ARG002
        rules: RuleSet,  # noqa: ARG002
        target: Target,  # noqa: ARG002
    ) -> EvidenceSummary | None:
        """Return the evidence as JSON data for a report.

        trtlint calls this method after the rules were evaluated.  So the data can depend on the findings in
        ``report``, unlike the result of :meth:`summary`.
        """
        return self.summary

    def bears_on(self, target: Target) -> bool:  # noqa: ARG002
        """Return whether the evidence applies to a target."""
        return True

    def states(self, fact: str) -> bool:  # noqa: ARG002
        """Return whether this evidence is the source of the facts of the kind ``fact``.

        If so, no other evidence confirms or refutes the findings about these facts.
        """
        return False

    def holds_for(self, fact: str, target: Target) -> bool:  # noqa: ARG002
        """Return whether the facts of the kind ``fact`` from this evidence are true for a target."""
        return True

    def judge(self, question: Question) -> Verdict | None:  # noqa: ARG002
        """Judge a finding at one node. Return None if the evidence has no verdict."""
        return None

    def times(self, subjects: Sequence[Subject], facts: Facts) -> BlockTimes | None:  # noqa: ARG002
        """Return the measured time of the operators of a finding, or None if no time was measured."""
        return None

    def reported_by(self, rule: Rule, facts: Facts) -> Iterable[str]:  # noqa: ARG002
        """Return ``file:line`` of the messages that a rule reports.

        Rules that are evaluated later do not report these messages again.
        """
        return ()


class PendingEvidence(Protocol):
    """An experiment that has not run yet, such as a dry build.

    The experiment runs in the process that lints the model.
    """

    @property
    def grounds(self) -> frozenset[Ground]:
        """The kinds of data that the experiment will provide as facts."""

    def gather(self, model: Path, targets: tuple[Target, ...]) -> tuple[Evidence, ...]:
        """Run the experiment on a model, for some targets, and return its results as evidence."""

    def elsewhere(self) -> PendingEvidence:
        """Return a copy of the experiment that can run on another machine.

        The copy needs no folders of this machine.
        """
