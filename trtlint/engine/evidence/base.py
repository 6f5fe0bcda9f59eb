"""Base class of evidence: the targets it applies to, its verdicts on findings, and its lines in reports."""

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
    """A question that an evaluation asks each piece of evidence.

    The question is: does the finding of this rule hold at this place?

    Attributes:
        rule: the rule of the finding.
        facts: the facts of the model.
        subject: the place in the model or build.
        target: the build target.
        holds: whether the rule holds for sure.  False if unset options decide whether the rule holds.
    """

    rule: Rule
    facts: Facts
    subject: Subject
    target: Target
    holds: bool


class Verdict(Struct, frozen=True):
    """What a piece of evidence shows about a finding at one place.

    Attributes:
        standing: whether the evidence confirms the finding, refutes it, or leaves it open.
        said: sentences for the report, each with file and line, layer or tensor.
        cited: file and line of the messages in these sentences.
        support: set if the evidence supports the finding but cannot confirm it.  Then the finding has at
            least this confidence.
        doubt: set if the evidence makes the finding doubtful.  Then the finding has at most this confidence.
        ended: whether a real build failed with one of the cited messages.
        everywhere: whether the confirming message names no node. Then a refutation takes precedence over this
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
        share: the same time divided by the time of all layers, 0 to 1.
    """

    words: str
    ms: float
    share: float


class Evidence:
    """One piece of evidence about a model: a build, a dry build, or measured ranges.

    Subclasses are frozen structs that can be pickled.  The default implementation of a method returns the
    value for "no evidence".
    """

    __slots__ = ()

    kind: str
    """Name of the kind of evidence: its key in reports."""
    grounds: frozenset[Ground]
    """The sources of facts that the evidence makes available, such as ``build``."""
    judges = True
    """Whether the evidence can confirm or refute a finding."""
    settles_targets = False
    """Whether the evidence is a real build, whose data determine the target."""

    @property
    def files(self) -> tuple[str, ...]:
        """Return the files that contain the evidence.  No report may overwrite them."""
        return ()

    def form(self, path: str) -> str:  # noqa: ARG002
        """Return the kind of a file that contains the evidence, such as ``log``, for reports."""
        return "build"

    @property
    def data(self) -> object:
        """Return the data from which facts are derived; None if no facts come from the evidence."""
        raise NotImplementedError

    @property
    def notes(self) -> tuple[str, ...]:
        """Return sentences for the report.  Reports for targets without this evidence do not show them."""
        return ()

    @property
    def of_any_form(self) -> Evidence | None:
        """Return the part of the evidence that stays valid after trtlint rewrites the model.

        None if no part stays valid.
        """
        return None

    @property
    def summary(self) -> EvidenceSummary | None:
        """Return the evidence as JSON data for a report.

        None if reports do not show this kind of evidence.
        """
        return None

    def conclude(
        self,
        evaluation: Evaluation,  # noqa: ARG002
        report: ModelReport,  # noqa: ARG002
        rules: RuleSet,  # noqa: ARG002
        target: Target,  # noqa: ARG002
    ) -> EvidenceSummary | None:
        """Return the evidence as JSON data for a report, after the rules were evaluated.

        Unlike :meth:`summary`, the data can depend on the findings in ``report``.
        """
        return self.summary

    def bears_on(self, target: Target) -> bool:  # noqa: ARG002
        """Return whether the evidence applies to a target."""
        return True

    def states(self, fact: str) -> bool:  # noqa: ARG002
        """Return whether the facts of this kind come from the evidence itself.

        Then no other evidence judges the findings about these facts.
        """
        return False

    def holds_for(self, fact: str, target: Target) -> bool:  # noqa: ARG002
        """Return whether the facts of this kind that come from the evidence are true for a target."""
        return True

    def judge(self, question: Question) -> Verdict | None:
        """Judge the finding at one place.  Return None if the evidence has no verdict."""
        raise NotImplementedError

    def citations(self, subject: Subject) -> Iterable[str]:  # noqa: ARG002
        """Return the log message that a finding is about, as ``file:line: text``.

        Empty if the finding is not about a log message.
        """
        return ()

    def times(self, subjects: Sequence[Subject], facts: Facts) -> BlockTimes | None:  # noqa: ARG002
        """Return the measured time of the operators of a finding; None if no time was measured."""
        return None

    def reported_by(self, rule: Rule, facts: Facts) -> Iterable[str]:  # noqa: ARG002
        """Return the places (``file:line``) of messages that a rule reports.

        Rules that are evaluated later do not report these messages again.
        """
        return ()


class PendingEvidence(Protocol):
    """An experiment that has not run yet, such as a dry build.

    The experiment runs in the process that lints the model.
    """

    @property
    def grounds(self) -> frozenset[Ground]:
        """The kinds of data that the experiment will make available as facts."""

    def gather(self, model: Path, targets: tuple[Target, ...]) -> tuple[Evidence, ...]:
        """Run the experiment on a model, for some targets, and return its results as evidence."""

    def elsewhere(self) -> PendingEvidence:
        """Return a version of the experiment that needs no folders of this machine.

        It can run on another machine.
        """
