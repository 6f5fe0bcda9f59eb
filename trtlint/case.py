"""One model with its targets, its rules, its policy and its evidence: all that a verdict about it needs.

The command line, the Python API, the workers and the fixes make cases and ask them.  Facts are made here
only, targets are completed here only, and rules are chosen by what there is to look at here only.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field, fields, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from trtlint.buildcommand import BuildCommand
from trtlint.engine.evidence.base import Evidence, PendingEvidence
from trtlint.engine.finding import ModelReport
from trtlint.engine.ruleset import RuleSet
from trtlint.facts.kinds import Ground
from trtlint.files.problem import Problem
from trtlint.lean import dataclass
from trtlint.policy.review import Policy, Ran, Review
from trtlint.remote.addresses import Address
from trtlint.target.completion import Completed, built_with, complete_all
from trtlint.target.target import Target

if TYPE_CHECKING:
    from trtlint.engine.evaluate import Evaluation
    from trtlint.engine.finding import Further
    from trtlint.facts.facts import Facts
    from trtlint.model.load import Elsewhere, Model


_Data = TypeVar("_Data")


@dataclass(frozen=True)
class Case:
    """One model, and what is known and wanted of it.  It can be pickled, unless it holds a model in memory.

    Attributes:
        path: the file; where the model is elsewhere or in memory, the name that reports give it.
        targets: the targets as they were asked for; :attr:`completed` are those that count.
        rules: the rules that are wanted; :attr:`applicable` are those that run.
        policy: severities, suppressions and the baseline.
        command: the command that builds the model, None where it is not known.
        evidence: a build, dry builds, measured ranges; and experiments that are still to be made.
        weights: whether all weights are read.
        source: the model, where it is not the file.
        alone: whether there is evidence and no model.
        problems: the files of a build that could not be read.
    """

    path: Path
    targets: tuple[Target, ...]
    rules: RuleSet
    policy: Policy = field(default_factory=Policy)
    command: BuildCommand | None = None
    evidence: tuple[Evidence | PendingEvidence, ...] = ()
    weights: bool = False
    source: Address | Elsewhere | Model | None = None
    alone: bool = False
    problems: tuple[Problem, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @cached_property
    def completed(self) -> tuple[Completed, ...]:
        """The targets with what the command and the build settle of them, none twice."""
        from_command = dict.fromkeys(built_with(self.targets, self.command))
        found: dict[Target, Completed] = {}
        for each in complete_all(tuple(from_command), self._record):
            found.setdefault(each.target, each)
        return tuple(found.values())

    @property
    def built_for(self) -> tuple[Target, ...]:
        """The completed targets."""
        return tuple(each.target for each in self.completed)

    @property
    def address(self) -> Address | None:
        """Where the model is, if not on this machine."""
        return self.source if isinstance(self.source, Address) else None

    @property
    def grounds(self) -> frozenset[Ground]:
        """What there is to find facts in."""
        found: set[Ground] = set() if self.alone else {"model"}
        if self.weights and not self.alone:
            found.add("weights")
        if self.command is not None:
            found.add("command")
        return frozenset(found.union(*(each.grounds for each in self.evidence)))

    @property
    def applicable(self) -> RuleSet:
        """The rules to run: those that look at what is there."""
        return self.rules.looking_at(self.grounds)

    @property
    def build_files(self) -> tuple[str, ...]:
        """The files of a build that were read."""
        return tuple(file for each in self._gathered for file in each.files)

    def data(self, type_: type[_Data]) -> _Data | None:
        """The data of a kind of evidence, None where there is none."""
        return next((each.data for each in self._gathered if isinstance(each.data, type_)), None)

    def gathered(self) -> Case:
        """The case after its experiments were made.

        Raises:
            WheelError: a dry build is wanted, and NVIDIA's wheels are not there.
        """
        if len(self._gathered) == len(self.evidence):
            return self
        found: list[Evidence] = []
        for each in self.evidence:
            found += [each] if isinstance(each, Evidence) else each.gather(self.path, self.built_for)
        return replace(self, evidence=tuple(found))

    def without_experiments(self) -> Case:
        """The case with the evidence that is there, and no experiments to be made."""
        return replace(self, evidence=self._gathered)

    def with_model(self, model: Model) -> Case:
        """The case of another form of the model: what is known of its build is not of that form."""
        kept = (each.of_any_form for each in self._gathered)
        evidence = tuple(each for each in kept if each is not None)
        return replace(self, source=model, targets=self.built_for, evidence=evidence, problems=())

    def at(self, folder: Path) -> Case:
        """The case as a process with another current folder can take it.

        Args:
            folder: the current folder.
        """
        evidence = tuple(each if isinstance(each, Evidence) else each.elsewhere() for each in self.evidence)
        return replace(self, path=folder / self.path, evidence=evidence)

    def load(self) -> Model | None:
        """The model, None where there is evidence alone.

        Raises:
            ModelError: it cannot be read, or is no ONNX model.
            OSError: it cannot be read.
        """
        if self.alone:
            return None
        from trtlint.model.load import Model, load

        if isinstance(self.source, Model):
            return self.source
        if isinstance(self.source, Address):
            from trtlint.remote.model import RemoteModel

            return load(self.path, RemoteModel(self.source))
        return load(self.path, self.source)

    def open(self) -> OpenCase:
        """The case with its model read and its experiments made: for several questions about one model.

        Raises:
            ModelError, OSError, WheelError: as :meth:`load` and :meth:`gathered` do.
        """
        case = self.gathered()
        return OpenCase(case, case.load())

    def facts(self, target: Target | None = None) -> Facts:
        """The facts of the model, for a target of :attr:`built_for`; None for the first.

        Raises:
            ModelError, OSError, WheelError: as :meth:`open` does.
        """
        return self.open().facts(target)

    def evaluate(self, target: Target | None = None) -> ModelReport:
        """The findings for a target of :attr:`built_for`; None for the first.

        Raises:
            ModelError, OSError, WheelError: as :meth:`open` does.
        """
        return self.open().evaluate(target)

    def evaluated(self) -> tuple[ModelReport, ...]:
        """The findings for each target, before any review.

        What is wrong with a file is in the reports; any other exception is a bug in trtlint or in a rule,
        and is raised.

        Raises:
            WheelError: as :meth:`gathered` does.
        """
        from trtlint.model.errors import ModelError

        case, problems = self.gathered(), self.problems
        with _collection_held():
            try:
                opened = OpenCase(case, case.load())
            except (ModelError, OSError) as error:
                problems = (Problem.of(self.path, error), *problems)
            else:
                if opened.model is not None or case._gathered:
                    return opened.evaluated()
        return tuple(
            ModelReport(str(self.path), each.target.words, errors=problems) for each in self.completed
        )

    def report(self, review: Review | None = None) -> tuple[ModelReport, ...]:
        """The findings for each target as the policy wants to see them.

        Args:
            review: reviews all models of a run; a new one if left out.

        Raises:
            WheelError: as :meth:`gathered` does.
        """
        return self.reviewed(self.evaluated(), review or Review())

    def reviewed(self, reports: Iterable[ModelReport], review: Review) -> tuple[ModelReport, ...]:
        """Reports of the model, one a target, as the policy wants to see them."""
        return review.apply(self.path, tuple(reports), self.policy, _ran(self.applicable, self.built_for))

    @property
    def _gathered(self) -> tuple[Evidence, ...]:
        return tuple(each for each in self.evidence if isinstance(each, Evidence))

    @property
    def _record(self) -> Any:
        """The files of a real build, which settle a target."""
        return next((each.data for each in self._gathered if each.settles_targets), None)


class OpenCase:
    """A case whose model was read; targets about which the evidence is the same share their facts.

    Args:
        case: the case, its experiments made.
        model: its model, None where there is evidence alone.
    """

    def __init__(self, case: Case, model: Model | None) -> None:
        self.case = case
        self.model = model
        self._evaluations: dict[tuple[int, ...], Evaluation] = {}

    def facts(self, target: Target | None = None) -> Facts:
        """The facts for a target of the case; None for the first."""
        return self._evaluation(target or self.case.built_for[0]).facts

    def evaluate(self, target: Target | None = None) -> ModelReport:
        """The findings for a target; None for the first of the case."""
        target = target or self.case.built_for[0]
        evidence = self._evidence(target)
        evaluation, rules = self._evaluation(target), self.case.applicable
        report = evaluation.report(rules, target)
        settled = (each.notes for each in self.case.completed if each.target == target)
        notes = (*report.notes, *next(settled, ()), *(note for each in evidence for note in each.notes))
        return replace(
            report,
            notes=tuple(note.removeprefix(f"{report.path}: ") for note in notes),
            errors=self.case.problems,
            further=self._further(evaluation.facts, report) if self.model is None else (),
            evidence=tuple(
                found
                for each in evidence
                if (found := each.conclude(evaluation, report, rules, target)) is not None
            ),
        )

    def _further(self, facts: Facts, report: ModelReport) -> tuple[Further, ...]:
        """Return what else to give beside a log."""
        from trtlint.engine.further import further

        return further(facts, report.findings)

    def evaluated(self) -> tuple[ModelReport, ...]:
        """The findings for each target of the case."""
        return tuple(map(self.evaluate, self.case.built_for))

    def _evidence(self, target: Target) -> tuple[Evidence, ...]:
        return tuple(each for each in self.case._gathered if each.bears_on(target))

    def _evaluation(self, target: Target) -> Evaluation:
        from trtlint.engine.evaluate import Evaluation
        from trtlint.facts.facts import Facts

        evidence = tuple(each for each in self._evidence(target) if each.judges)
        key = tuple(map(id, evidence))
        if key not in self._evaluations:
            case = self.case
            facts = Facts(self.model, command=case.command, evidence=evidence, weights=case.weights)
            self._evaluations[key] = Evaluation(facts)
        return self._evaluations[key]


@lru_cache(maxsize=64)
def _ran(rules: RuleSet, targets: tuple[Target, ...]) -> Ran:
    """The rules that ran for some targets: models of one run share them, as they have to be read."""
    return Ran(rules.entries, targets)


@contextmanager
def _collection_held() -> Iterator[None]:
    """Hold the cyclic garbage collector while many objects are made that all stay.

    It would visit the whole graph again and again as facts are found, so that the time of a lint
    would grow faster than its nodes.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
