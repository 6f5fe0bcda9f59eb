"""Cases from the keywords of the Python API, which are those of the command line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast, get_args

from trtlint.buildcommand import BuildCommand, commands_for, config_beside, read_commands, read_config
from trtlint.buildfiles.witnesses import WITNESSES, BuildFiles
from trtlint.case import Case
from trtlint.engine.evidence.base import Evidence, PendingEvidence
from trtlint.engine.finding import Confidence
from trtlint.engine.rule import Rule
from trtlint.engine.rulebook import load_builtin
from trtlint.engine.ruleset import RuleSet
from trtlint.errors import SettingError
from trtlint.files.expand import expand
from trtlint.files.problem import Problem
from trtlint.knowledge.nearest import did_you_mean
from trtlint.lean import dataclass
from trtlint.model.memory import NAME, HeldModel
from trtlint.policy.options import TargetOptions
from trtlint.policy.review import Policy, names
from trtlint.policy.selection import choose
from trtlint.policy.targets import targets_of
from trtlint.remote.addresses import Address, is_address, parse
from trtlint.remote.file import require_packages
from trtlint.target.flags import Flag
from trtlint.target.target import Target

if TYPE_CHECKING:
    from trtlint.buildfiles.record import BuildRecord
    from trtlint.measurement.measurement import Measurement

AnyPath = str | os.PathLike[str]
Texts = str | Iterable[str]


class Keywords(TypedDict, total=False):
    """The keywords that all functions share; each means what the option of the command line means.

    What is not given about the target is unknown, not off.
    """

    trt: Texts
    """TensorRT versions, such as ``"10.7"`` or a range ``"10.7..11.4"``."""
    rtx: Texts
    """TensorRT-RTX versions, such as ``"1.4"``."""
    gpu: str
    """A GPU such as ``"L4"`` or ``"sm89"``, or several: ``"sm75,sm89"``."""
    fp16: bool
    bf16: bool
    int8: bool
    fp8: bool
    best: bool
    strongly_typed: bool
    tf32: bool
    plugins: Iterable[str]
    """Plugins that the build loads besides TensorRT's own."""
    rules: Iterable[Rule]
    """The rules to apply, from :func:`trtlint.load_rules`; by default those that come with trtlint."""
    select: Texts
    """Only these rules: ids, id prefixes, names or groups."""
    ignore: Texts
    """Not these rules."""
    preview: bool
    """Also run preview rules."""
    command: str
    """The trtexec command that builds the model, or a file with such commands."""
    log: AnyPath
    """The log of a build."""
    layers: AnyPath
    """The layers of the engine, or the engine."""
    profile: AnyPath
    """The times of the layers."""
    record: BuildRecord
    """The files of a build, from :func:`trtlint.read_build`, in place of the three."""
    ranges: AnyPath | Measurement
    """The measurement of the model, from :func:`trtlint.measure` or the file that the command wrote."""
    weights: bool
    """Read all weights: NaN, infinity, values beyond FP16."""
    dry_build: bool | Literal["parse", "build"]
    """Ask NVIDIA's parser and builder, without a GPU."""
    isolated: bool
    """Ignore suppressions that a model carries in its own metadata."""
    min_confidence: Confidence
    """Hide findings below this confidence."""


@dataclass(frozen=True, slots=True)
class NamedCase:
    """A case and the name of its model in reports."""

    case: Case
    name: str


def cases(
    path: AnyPath | Iterable[AnyPath] | Any,
    target: Target | Sequence[Target] | None,
    keywords: Keywords,
) -> Iterator[NamedCase]:
    """Yield the cases of some models; without a model, that of a build.

    Raises:
        SettingError: a keyword has a value that cannot be used.
        TypeError: there is no such keyword, or ``path`` is neither a path nor a model.
        FileError: a file that a keyword names cannot be used.
    """
    given = _Given(target, keywords)
    if not isinstance(path, str | os.PathLike | Iterable):
        yield NamedCase(given.case(Path(NAME), HeldModel(path)), NAME)
        return
    listed = [os.fspath(each) for each in ([path] if isinstance(path, str | os.PathLike) else path)]
    if not listed and given.has_build:
        yield given.alone()
        return
    for file in expand(name for name in listed if not is_address(name)):
        yield NamedCase(given.case(file), str(file))
    for address in (parse(name) for name in listed if is_address(name)):
        require_packages(address)
        given.require_here(address)
        yield NamedCase(given.case(Path(address.name), address), address.name)


class _Given:
    """The keywords of one call, read."""

    def __init__(self, target: Target | Sequence[Target] | None, keywords: Keywords) -> None:
        known = Keywords.__annotations__
        for name in keywords:
            if name not in known:
                raise TypeError(f"no keyword {name!r}{did_you_mean(name, known)}")
        self._keywords = keywords
        self._targets = self._read_targets(target)
        chosen = keywords.get("rules")
        entries = (*load_builtin().entries,) if chosen is None else RuleSet.of(chosen).entries
        self._policy = Policy(
            min_confidence=keywords.get("min_confidence", "low"),
            known=names(entries),
            own=not keywords.get("isolated", False),
        )
        select, ignore = (_texts(keywords.get(name)) for name in ("select", "ignore"))
        if chosen is None or select or ignore:
            preview = keywords.get("preview", False)
            entries = (*choose(entries, select=select, ignore=ignore, preview=preview),)
        self._rules = RuleSet(entries)
        text = keywords.get("command")
        self._commands = () if text is None else read_commands(text)
        self._files: BuildFiles = {
            kind: os.fspath(file) for kind in WITNESSES if (file := keywords.get(kind)) is not None
        }
        if self._files and "record" in keywords:
            raise SettingError("record is a build that was read: leave out log, layers and profile")
        if self.has_build and keywords.get("dry_build"):
            raise SettingError("a real build says more than a dry one: leave out dry_build, or the build")

    @property
    def has_build(self) -> bool:
        """Whether there is a build."""
        return bool(self._files) or "record" in self._keywords

    def case(self, path: Path, source: Address | HeldModel | None = None) -> Case:
        """The case of one model."""
        evidence, problems = self._build(path)
        return self._case(path, (*evidence, *self._found_out(path, source)), problems, source=source)

    def alone(self) -> NamedCase:
        """The case of a build without a model."""
        evidence, problems = self._build(Path())
        files = (file for each in evidence for file in each.files)
        path = Path(next(files, problems[0].path if problems else ""))
        return NamedCase(self._case(path, evidence, problems, alone=True), str(path))

    def require_here(self, address: Address) -> None:
        """Refuse what can only be done with models of this machine.

        Raises:
            SettingError: it is asked for.
        """
        for name in ("ranges", "dry_build"):
            if self._keywords.get(name):
                raise SettingError(f"{address.name}: {name} needs the model here: download it")

    def _case(
        self,
        path: Path,
        evidence: tuple[Evidence | PendingEvidence, ...],
        problems: tuple[Problem, ...],
        *,
        source: Address | HeldModel | None = None,
        alone: bool = False,
    ) -> Case:
        return Case(
            path,
            self._targets,
            self._rules,
            self._policy,
            self._command_for(path),
            evidence,
            weights=self._keywords.get("weights", False),
            source=source,
            alone=alone,
            problems=problems,
        )

    def _read_targets(self, target: Target | Sequence[Target] | None) -> tuple[Target, ...]:
        keywords = self._keywords
        switches = ((flag, keywords.get(flag.replace("-", "_"))) for flag in get_args(Flag))
        plugins = keywords.get("plugins")
        options = TargetOptions(
            _texts(keywords.get("trt")),
            _texts(keywords.get("rtx")),
            keywords.get("gpu"),
            tuple((flag, bool(on)) for flag, on in switches if on is not None),
            None if plugins is None else tuple(plugins),
        )
        if target is None:
            return tuple(targets_of(options))
        if options != TargetOptions():
            raise SettingError("the target is given twice: as target, and by keywords such as trt or fp16")
        return (target,) if isinstance(target, Target) else tuple(target)

    def _command_for(self, file: Path) -> BuildCommand | None:
        """The command that builds a model, or the configuration of Triton beside it."""
        if not self._commands and (config := config_beside(file)) is not None:
            return read_config(config)
        return next(iter(commands_for(file, self._commands)), None)

    def _build(self, path: Path) -> tuple[tuple[Evidence, ...], tuple[Problem, ...]]:
        record = self._keywords.get("record")
        problems: tuple[Problem, ...] = ()
        if self._files:
            from trtlint.buildfiles.gather import of_model

            gathered = of_model(path, [(file, kind) for kind, file in self._files.items()])
            record, problems = gathered.record, gathered.problems
        if record is None:
            return (), problems
        from trtlint.engine.evidence.build import BuildEvidence

        return (BuildEvidence(record),), problems

    def _found_out(
        self, path: Path, source: Address | HeldModel | None
    ) -> Iterator[Evidence | PendingEvidence]:
        wanted = self._keywords.get("dry_build", False)
        if wanted:
            if source is not None:
                raise SettingError(f"{path}: dry_build needs a file: save the model")
            from trtlint.dry_build.wheels import find
            from trtlint.process.spawn import Limits
            from trtlint.runs.dryjob import DryJob

            yield DryJob(find().version, None, "parse" if wanted == "parse" else "build", (), Limits())
        ranges = self._keywords.get("ranges")
        if ranges is not None:
            from trtlint.engine.evidence.ranges import RangeEvidence

            yield RangeEvidence(_measurement(ranges, path if source is None else None))


def _measurement(given: AnyPath | Measurement, model: Path | None) -> Measurement:
    """A measurement, which must be one of the model where that is a file.

    Raises:
        MeasurementError: the file holds none, or it was measured on another model.
    """
    from trtlint.measurement.identity import digest
    from trtlint.measurement.measurement import Measurement, MeasurementError, read_measurement

    found = given if isinstance(given, Measurement) else read_measurement(Path(given))
    if model is not None and found.digest != digest(model):
        name = found.path if isinstance(given, Measurement) else os.fspath(given)
        raise MeasurementError(f"{name}: measured on another model ({found.path}, or what it was then)")
    return found


def _texts(given: object) -> tuple[str, ...]:
    """One text or several as a tuple."""
    return (given,) if isinstance(given, str) else tuple(cast("Iterable[str]", given or ()))
