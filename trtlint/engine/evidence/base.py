"""Protocol of evidence: its targets, its verdicts, and the lines in reports."""

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
    """One place of a finding.

    Attributes:
        rule: the rule of the finding.
        facts: the facts of the model.
        subject: the place.
        target: the target of the engine.
        holds: whether the rule holds without further options.
    """

    rule: Rule
    facts: Facts
    subject: Subject
    target: Target
    holds: bool


class Verdict(Struct, frozen=True):
    """Verdict of evidence about one place.

    Attributes:
        standing: whether the evidence confirms the finding, refutes it, or leaves it open.
        said: sentences for the report, each with file and line, layer or tensor.
        cited: file and line of the messages in these sentences.
        support: the lowest confidence of a finding that the evidence supports but cannot confirm; None
            without support.
        doubt: the highest confidence of a finding that the evidence makes doubtful; None without doubt.
        ended: whether a real build failed with one of the cited messages.
        everywhere: whether the confirming message names no place.  Then a refutation takes precedence.
    """

    standing: Standing = "open"
    said: tuple[str, ...] = ()
    cited: frozenset[str] = frozenset()
    support: Confidence | None = None
    doubt: Confidence | None = None
    ended: bool = False
    everywhere: bool = False


class BlockTimes(Struct, frozen=True):
    """The measured time of the blocks of a finding.

    Attributes:
        words: the line in reports.
        ms: milliseconds of the layers of the blocks in one run.
        share: their share of the time of all layers, 0 to 1.
    """

    words: str
    ms: float
    share: float


class Evidence:
    """One piece of evidence about a model: a build, a dry build, or measured ranges.

    Subclasses are frozen structs that can be pickled.  The default of each method means "no evidence".
    """

    __slots__ = ()

    kind: str
    """Name of the kind of evidence: its key in reports."""
    grounds: frozenset[Ground]
    """Grounds of the facts that the evidence makes available."""
    judges = True
    """Whether the evidence can confirm or refute a finding."""
    settles_targets = False
    """Whether the evidence is a real build, whose data determine the target."""

    @property
    def files(self) -> tuple[str, ...]:
        """Return the files that the evidence was read from; no report may overwrite them."""
        return ()

    def form(self, path: str) -> str:  # noqa: ARG002
        """Return the kind of one of its files, as a word for reports."""
        return "build"

    @property
    def data(self) -> object:
        """Return the data for facts; None if there are none."""
        raise NotImplementedError

    @property
    def notes(self) -> tuple[str, ...]:
        """Return sentences for the report of each target that the evidence applies to."""
        return ()

    @property
    def of_any_form(self) -> Evidence | None:
        """Return the part of the evidence that also holds for a rewritten model.  None if no part does."""
        return None

    @property
    def summary(self) -> EvidenceSummary | None:
        """Return the evidence as data for a report; None if reports contain none."""
        return None

    def conclude(
        self,
        evaluation: Evaluation,  # noqa: ARG002
        report: ModelReport,  # noqa: ARG002
        rules: RuleSet,  # noqa: ARG002
        target: Target,  # noqa: ARG002
    ) -> EvidenceSummary | None:
        """Return the evidence as data for a report, given the findings."""
        return self.summary

    def bears_on(self, target: Target) -> bool:  # noqa: ARG002
        """Return whether the evidence applies to a target."""
        return True

    def states(self, fact: str) -> bool:  # noqa: ARG002
        """Return whether the evidence provides facts of a kind.  Then only it judges findings about them."""
        return False

    def holds_for(self, fact: str, target: Target) -> bool:  # noqa: ARG002
        """Return whether the facts of a kind from this evidence hold for a target."""
        return True

    def judge(self, question: Question) -> Verdict | None:
        """Judge one place.  Return None if the evidence has no verdict."""
        raise NotImplementedError

    def citations(self, subject: Subject) -> Iterable[str]:  # noqa: ARG002
        """Return file, line and message of a finding about a log message."""
        return ()

    def times(self, subjects: Sequence[Subject], facts: Facts) -> BlockTimes | None:  # noqa: ARG002
        """Return the measured time of the blocks of a finding; None if it was not measured."""
        return None

    def reported_by(self, rule: Rule, facts: Facts) -> Iterable[str]:  # noqa: ARG002
        """Return file and line of the messages that later rules do not report again."""
        return ()


class PendingEvidence(Protocol):
    """Evidence from an experiment.  The experiment runs in the process that lints the model."""

    @property
    def grounds(self) -> frozenset[Ground]:
        """Grounds of the facts that the experiment will make available."""

    def gather(self, model: Path, targets: tuple[Target, ...]) -> tuple[Evidence, ...]:
        """Run the experiment."""

    def elsewhere(self) -> PendingEvidence:
        """Return the experiment for a machine that cannot reach the folders of this one."""
