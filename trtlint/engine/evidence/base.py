"""The protocol of evidence: the targets that it bears on, its verdicts, and the lines that reports show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from trtlint.engine.finding import Confidence, EvidenceSummary, Standing
from trtlint.facts.kinds import Ground
from trtlint.lean import dataclass
from trtlint.target.target import Target

if TYPE_CHECKING:
    from pathlib import Path

    from trtlint.engine.evaluate import Evaluation
    from trtlint.engine.finding import ModelReport
    from trtlint.engine.rule import Rule
    from trtlint.engine.ruleset import RuleSet
    from trtlint.engine.subjects import Subject
    from trtlint.facts.facts import Facts


@dataclass(frozen=True, slots=True)
class Question:
    """One place of a finding.

    Attributes:
        rule: the rule that has a finding there.
        facts: the facts of the model.
        subject: the place.
        target: what the engine is built for.
        holds: whether the rule holds there for sure, and not only with options that are not given.
    """

    rule: Rule
    facts: Facts
    subject: Subject
    target: Target
    holds: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """What evidence shows of one place.

    Attributes:
        standing: whether it confirms the finding, refutes it, or leaves it open.
        said: its words for that, each with file and line, layer or tensor.
        cited: file and line of the messages among these.
        support: the lowest confidence of a finding that it supports and cannot confirm; None for no support.
        doubt: the highest confidence of a finding that it puts in doubt; None for no doubt.
        ended: whether a real build failed with what it cites.
        everywhere: whether it confirms by a message that names no place: a refutation weighs more.
    """

    standing: Standing = "open"
    said: tuple[str, ...] = ()
    cited: frozenset[str] = frozenset()
    support: Confidence | None = None
    doubt: Confidence | None = None
    ended: bool = False
    everywhere: bool = False


@dataclass(frozen=True, slots=True)
class BlockTimes:
    """The measured time of the blocks of a finding.

    Attributes:
        words: the line that a report shows.
        ms: milliseconds that the layers of the blocks take in one run.
        share: their share of the time of all layers, 0 to 1.
    """

    words: str
    ms: float
    share: float


class Evidence:
    """One piece of evidence about a model: a build, a dry build, measured ranges.

    Subclasses are frozen dataclasses that can be pickled.  A method that a kind does not need keeps its
    default, which shows nothing.
    """

    __slots__ = ()

    kind: str
    """The name of the kind, which is its key in reports."""
    grounds: frozenset[Ground]
    """The grounds that it lets facts be found in."""
    judges = True
    """Whether it can confirm or refute a finding."""
    settles_targets = False
    """Whether its data are of a real build, which says for what the engine was built."""

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it was read from, which no report may replace."""
        return ()

    @property
    def data(self) -> object:
        """The data that facts are found in; None where there are none."""
        raise NotImplementedError

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the report of each target that it bears on."""
        return ()

    @property
    def of_any_form(self) -> Evidence | None:
        """Return the evidence without all that is of this form of the model alone; None for nothing."""
        return None

    @property
    def summary(self) -> EvidenceSummary | None:
        """The evidence as data of a report; None where reports hold none."""
        return None

    def conclude(
        self,
        evaluation: Evaluation,  # noqa: ARG002
        report: ModelReport,  # noqa: ARG002
        rules: RuleSet,  # noqa: ARG002
        target: Target,  # noqa: ARG002
    ) -> EvidenceSummary | None:
        """Return the evidence as data of a report whose findings are known."""
        return self.summary

    def bears_on(self, target: Target) -> bool:  # noqa: ARG002
        """Whether it is evidence about a target."""
        return True

    def states(self, fact: str) -> bool:  # noqa: ARG002
        """Whether facts of a kind come from it: then no other evidence judges a finding about them."""
        return False

    def holds_for(self, fact: str, target: Target) -> bool:  # noqa: ARG002
        """Whether facts of a kind that come from it hold for a target."""
        return True

    def judge(self, question: Question) -> Verdict | None:
        """Judge one place; None where it is silent."""
        raise NotImplementedError

    def citations(self, subject: Subject) -> Iterable[str]:  # noqa: ARG002
        """Lines that stand where they are the finding itself: file, line and message."""
        return ()

    def times(self, subjects: Sequence[Subject], facts: Facts) -> BlockTimes | None:  # noqa: ARG002
        """The measured time of the blocks of a finding; None where it was not measured."""
        return None

    def reported_by(self, rule: Rule, facts: Facts) -> Iterable[str]:  # noqa: ARG002
        """File and line of messages that nobody need report after a rule was evaluated."""
        return ()


class PendingEvidence(Protocol):
    """Evidence that an experiment gives, which runs where the model is linted."""

    @property
    def grounds(self) -> frozenset[Ground]:
        """The grounds that it will let facts be found in."""

    def gather(self, model: Path, targets: tuple[Target, ...]) -> tuple[Evidence, ...]:
        """Run the experiment."""

    def elsewhere(self) -> PendingEvidence:
        """The experiment as a machine can run it that does not reach the folders of this one."""
