"""Base class of evidence: to which targets it applies, how it judges findings, and the lines in reports."""

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
    """The question to evidence: does the finding of this rule hold at this place?

    Attributes:
        rule: the rule of the finding.
        facts: the facts of the model.
        subject: the place in the model or build.
        target: the build target.
        holds: whether the rule holds for sure.  False if unset options decide whether it holds.
    """

    rule: Rule
    facts: Facts
    subject: Subject
    target: Target
    holds: bool


class Verdict(Struct, frozen=True):
    """The answer of evidence about one place.

    Attributes:
        standing: whether the evidence confirms the finding, refutes it, or leaves it open.
        said: sentences for the report, each with file and line, layer or tensor.
        cited: file and line of the messages in these sentences.
        support: set if the evidence supports the finding but cannot confirm it.  Then the finding has at
            least this confidence.
        doubt: set if the evidence makes the finding doubtful.  Then the finding has at most this confidence.
        ended: whether a real build failed with one of the cited messages.
        everywhere: whether the confirming message names no node.  Then evidence that refutes the finding
            counts more.
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
        """Return the kind of a file of the evidence, such as ``log``, for reports."""
        return "build"

    @property
    def data(self) -> object:
        """Return the data that facts are made from; None without such data."""
        raise NotImplementedError

    @property
    def notes(self) -> tuple[str, ...]:
        """Return sentences for the report of each target that the evidence applies to."""
        return ()

    @property
    def of_any_form(self) -> Evidence | None:
        """Return the part of the evidence that is also valid for a rewritten model.

        None without such a part.
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
        """Return the evidence as JSON data for a report.  The data can depend on the findings."""
        return self.summary

    def bears_on(self, target: Target) -> bool:  # noqa: ARG002
        """Return whether the evidence applies to a target."""
        return True

    def states(self, fact: str) -> bool:  # noqa: ARG002
        """Return whether facts of this kind come from the evidence.

        Other evidence does not judge findings about these facts.
        """
        return False

    def holds_for(self, fact: str, target: Target) -> bool:  # noqa: ARG002
        """Return whether facts of this kind, taken from the evidence, are true for a target."""
        return True

    def judge(self, question: Question) -> Verdict | None:
        """Judge one place.  Return None if the evidence has no verdict."""
        raise NotImplementedError

    def citations(self, subject: Subject) -> Iterable[str]:  # noqa: ARG002
        """Return file, line and text of the log message that a finding is about."""
        return ()

    def times(self, subjects: Sequence[Subject], facts: Facts) -> BlockTimes | None:  # noqa: ARG002
        """Return the measured time of the operators of a finding; None if no time was measured."""
        return None

    def reported_by(self, rule: Rule, facts: Facts) -> Iterable[str]:  # noqa: ARG002
        """Return file and line of the messages that later rules do not report again."""
        return ()


class PendingEvidence(Protocol):
    """An experiment, such as a dry build, that has not run yet.

    It runs in the process that lints the model.
    """

    @property
    def grounds(self) -> frozenset[Ground]:
        """The sources of facts that the experiment will make available."""

    def gather(self, model: Path, targets: tuple[Target, ...]) -> tuple[Evidence, ...]:
        """Run the experiment."""

    def elsewhere(self) -> PendingEvidence:
        """Return the experiment for a machine without access to the folders of this machine."""
