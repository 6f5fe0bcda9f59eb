"""Define a case: one model with its targets, rules, policy and evidence.

The command line, the Python API, the workers and the fixes all use cases.  Only this module creates facts,
completes targets, and selects the rules whose data are available.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from trtlint.buildcommand import BuildCommand
from trtlint.engine.evidence.base import Evidence, PendingEvidence
from trtlint.engine.finding import ModelReport
from trtlint.engine.ruleset import RuleSet
from trtlint.facts.kinds import Ground, available_grounds
from trtlint.files.problem import Problem
from trtlint.policy.review import ApplicableRules, Policy, Review
from trtlint.remote.addresses import Address
from trtlint.target.completion import CompletedTarget, built_with, complete
from trtlint.target.target import Target

if TYPE_CHECKING:
    from trtlint.buildfiles.record import BuildRecord
    from trtlint.engine.evaluate import Evaluation
    from trtlint.engine.finding import Suggestion
    from trtlint.facts.facts import Facts
    from trtlint.model.load import Model, ModelSource


_Data = TypeVar("_Data")


class Case(Struct, frozen=True, dict=True):
    """One model with its settings and evidence.

    A case can be pickled, unless ``source`` is a model in memory.

    Attributes:
        path: the file, or the name for reports if the model is remote or in memory.
        targets: the requested targets. Rules are evaluated for the targets in :attr:`completed`.
        rules: the selected rules. Only the rules in :attr:`applicable` run.
        policy: severities, suppressions and the baseline.
        command: the command that builds the model; None if unknown.
        evidence: builds, dry builds, measured ranges, and experiments that have not run yet.
        weights: whether to read all weights.
        source: a model in memory, or the source of a remote model; None for a local file.
        alone: True if the case has evidence, such as a log, but no model.
        problems: build files that could not be read.
    """

    path: Path
    targets: tuple[Target, ...]
    rules: RuleSet
    policy: Policy = field(default_factory=Policy)
    command: BuildCommand | None = None
    evidence: tuple[Evidence | PendingEvidence, ...] = ()
    weights: bool = False
    source: Address | ModelSource | Model | None = None
    alone: bool = False
    problems: tuple[Problem, ...] = ()

    @cached_property
    def completed(self) -> tuple[CompletedTarget, ...]:
        """The targets without duplicates.  Missing settings are filled in.

        The missing settings come from the build command and from the files of a build.
        """
        found: dict[Target, CompletedTarget] = {}
        for target in dict.fromkeys(built_with(self.targets, self.command)):
            each = complete(target, self._record)
            found.setdefault(each.target, each)
        return tuple(found.values())

    @property
    def built_for(self) -> tuple[Target, ...]:
        """The targets in :attr:`completed`, without notes about conflicts with the build."""
        return tuple(each.target for each in self.completed)

    @property
    def address(self) -> Address | None:
        """The address of a remote model; None for a local model."""
        return self.source if isinstance(self.source, Address) else None

    @property
    def grounds(self) -> frozenset[Ground]:
        """The kinds of data that are available, such as the model or a build."""
        return available_grounds(
            (each.grounds for each in self.evidence),
            model=not self.alone,
            command=self.command is not None,
            weights=self.weights,
        )

    @property
    def applicable(self) -> RuleSet:
        """The selected rules whose kind of data is available."""
        return self.rules.looking_at(self.grounds)

    @property
    def build_files(self) -> tuple[str, ...]:
        """The build files that were read."""
        return tuple(file for each in self._gathered for file in each.files)

    def data(self, type_: type[_Data]) -> _Data | None:
        """Return the evidence data of the type ``type_``, or None if no evidence has such data."""
        return next((each.data for each in self._gathered if isinstance(each.data, type_)), None)

    def gathered(self) -> Case:
        """Run the pending experiments, and return a copy with their results as evidence.

        Raises:
            WheelError: a dry build needs NVIDIA's wheels, which are not installed.
        """
        if len(self._gathered) == len(self.evidence):
            return self
        found: list[Evidence] = []
        for each in self.evidence:
            found += [each] if isinstance(each, Evidence) else each.gather(self.path, self.built_for)
        return replace(self, evidence=tuple(found))

    def without_experiments(self) -> Case:
        """Return a copy without pending experiments.  Evidence that is already available stays."""
        return replace(self, evidence=self._gathered)

    def with_model(self, model: Model) -> Case:
        """Return a copy for a rewritten model, without evidence that is only about the original model."""
        kept = (each.of_any_form for each in self._gathered)
        evidence = tuple(each for each in kept if each is not None)
        return replace(self, source=model, targets=self.built_for, evidence=evidence, problems=())

    def at(self, folder: Path) -> Case:
        """Return a copy with absolute paths, for a process with a different current folder.

        Args:
            folder: the current folder of the calling process.
        """
        evidence = tuple(each if isinstance(each, Evidence) else each.elsewhere() for each in self.evidence)
        return replace(self, path=folder / self.path, evidence=evidence)

    def load(self) -> Model | None:
        """Load the model.  Return None if the case has no model.

        Raises:
            ModelError: the file is not a readable ONNX model.
            OSError: the file cannot be read.
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
        """Load the model and run the experiments once, for several queries.

        Raises:
            ModelError, OSError, WheelError: as for :meth:`load` and :meth:`gathered`.
        """
        case = self.gathered()
        return OpenCase(case, case.load())

    def facts(self, target: Target | None = None) -> Facts:
        """Return the facts of the model for a target of :attr:`built_for`, by default the first target.

        Raises:
            ModelError, OSError, WheelError: as for :meth:`open`.
        """
        return self.open().facts(target)

    def evaluate(self, target: Target | None = None) -> ModelReport:
        """Return the findings for a target of :attr:`built_for`, by default the first target.

        Raises:
            ModelError, OSError, WheelError: as for :meth:`open`.
        """
        return self.open().evaluate(target)

    def evaluated(self) -> tuple[ModelReport, ...]:
        """Return the findings for each target, before the policy is applied.

        If a file cannot be read, the report has an error.  Any exception except WheelError is a bug in
        trtlint or in a rule.

        Raises:
            WheelError: as for :meth:`gathered`.
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
        form = "file" if self.alone else "model"
        return tuple(
            ModelReport(str(self.path), each.target.words, errors=problems, form=form)
            for each in self.completed
        )

    def report(self, review: Review | None = None) -> tuple[ModelReport, ...]:
        """Return the findings for each target, after the policy is applied.

        Args:
            review: the :class:`Review` object that all models of a run share; by default a new object.

        Raises:
            WheelError: as for :meth:`gathered`.
        """
        return self.reviewed(self.evaluated(), review or Review())

    def reviewed(self, reports: Iterable[ModelReport], review: Review) -> tuple[ModelReport, ...]:
        """Apply the policy to the reports of the model.

        ``reports`` has one report for each target.
        """
        return review.apply(self.path, tuple(reports), self.policy, _ran(self.applicable, self.built_for))

    @property
    def _gathered(self) -> tuple[Evidence, ...]:
        return tuple(each for each in self.evidence if isinstance(each, Evidence))

    @property
    def _record(self) -> BuildRecord | None:
        """The files of a real build. Target settings that the user left out are taken from these files."""
        if not self._gathered:
            return None
        from trtlint.buildfiles.record import BuildRecord

        return self.data(BuildRecord)


class OpenCase:
    """A case with its loaded model.  Targets with the same evidence share their facts.

    Args:
        case: the case, without pending experiments.
        model: the model of the case; None if the case has only evidence, such as a log.
    """

    def __init__(self, case: Case, model: Model | None) -> None:
        self.case = case
        self.model = model
        self._evaluations: dict[tuple[int, ...], Evaluation] = {}

    def facts(self, target: Target | None = None) -> Facts:
        """Return the facts for a target of the case; by default, for the first target."""
        return self._evaluation(target or self.case.built_for[0]).facts

    def evaluate(self, target: Target | None = None) -> ModelReport:
        """Return the findings for a target of the case; by default, for the first target."""
        target = target or self.case.built_for[0]
        evidence = self._evidence(target)
        evaluation, rules = self._evaluation(target), self.case.applicable
        report = evaluation.report(rules, target)
        settled = (each.notes for each in self.case.completed if each.target == target)
        flags = (each.flag_notice for each in self.case.targets if each.version == target.version)
        notes = (
            *report.notes,
            *next(settled, ()),
            *(note for note in dict.fromkeys(flags) if note is not None),
            *(note for each in evidence for note in each.notes),
        )
        return replace(
            report,
            notes=tuple(note.removeprefix(f"{report.path}: ") for note in notes),
            errors=self.case.problems,
            further=self._further(evaluation.facts, report, target),
            form="model" if self.model is not None else self._form(report.path),
            evidence=tuple(
                found
                for each in evidence
                if (found := each.conclude(evaluation, report, rules, target)) is not None
            ),
        )

    def _form(self, path: str) -> str:
        """Return the kind of an evidence file, such as ``log``, for a case without a model."""
        return next((each.form(path) for each in self.case._gathered if path in each.files), "build")

    def _further(self, facts: Facts, report: ModelReport, target: Target) -> tuple[Suggestion, ...]:
        """Return suggestions of files that would answer open questions about a log or a local model."""
        if self.model is None:
            from trtlint.engine.further import further

            return further(facts, report.findings)
        if self.case.source is not None or any(each.kind == "ranges" for each in self.case._gathered):
            return ()
        from trtlint.engine.furtherinputs import measuring

        return measuring(facts, report.findings, self.case.applicable, target)

    def evaluated(self) -> tuple[ModelReport, ...]:
        """Return the findings for each target of the case."""
        return tuple(map(self.evaluate, self.case.built_for))

    def _evidence(self, target: Target) -> tuple[Evidence, ...]:
        return tuple(each for each in self.case._gathered if each.bears_on(target))

    def _evaluation(self, target: Target) -> Evaluation:
        from trtlint.engine.evaluate import Evaluation

        evidence = tuple(each for each in self._evidence(target) if each.judges)
        key = tuple(map(id, evidence))
        if key not in self._evaluations:
            case = self.case
            facts = facts_of(self.model, command=case.command, evidence=evidence, weights=case.weights)
            self._evaluations[key] = Evaluation(facts)
        return self._evaluations[key]


def facts_of(
    model: Model | None,
    *,
    command: BuildCommand | None = None,
    evidence: Iterable[Evidence] = (),
    weights: bool = False,
) -> Facts:
    """Return the facts about a loaded model, without rules and targets.

    Args:
        model: the model; None if there is only evidence.
        command: the build command of the model.
        evidence: builds of the model, and results of experiments.
        weights: whether to read the weights.
    """
    from trtlint.facts.facts import Facts

    return Facts(model, command=command, evidence=evidence, weights=weights)


@lru_cache(maxsize=64)
def _ran(rules: RuleSet, targets: tuple[Target, ...]) -> ApplicableRules:
    """Return the rules that run for the given targets.  All models of a run share the cached result."""
    return ApplicableRules(rules.entries, targets)


@contextmanager
def _collection_held() -> Iterator[None]:
    """Return a context manager that disables the garbage collector while many objects are created.

    The collector would visit all objects of the graph again and again.  So the time of a lint would grow
    faster than the number of nodes.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
