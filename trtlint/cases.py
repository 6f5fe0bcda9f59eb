"""Convert the keywords of the Python API to cases."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from msgspec import Struct
from msgspec.structs import replace

from trtlint.arguments import read, read_file, read_one
from trtlint.buildcommand import BuildCommand, choose_command, read_commands
from trtlint.buildfiles.witnesses import WITNESSES, BuildFiles
from trtlint.case import Case
from trtlint.dry_build.result import Level
from trtlint.engine.evidence.base import Evidence, PendingEvidence
from trtlint.engine.rulebook import load_builtin
from trtlint.engine.ruleset import RuleSet
from trtlint.errors import ArgumentError, SettingError
from trtlint.files.expand import expand
from trtlint.files.problem import Problem
from trtlint.keywords import AnyPath, Keywords
from trtlint.model.memory import NAME, MemoryModel
from trtlint.policy.baseline import Baseline
from trtlint.policy.options import TargetOptions
from trtlint.policy.review import Policy, names
from trtlint.policy.selection import RuleLayer, choose_by_layers, split
from trtlint.policy.targets import options_among, require_product, targets_of
from trtlint.remote.addresses import Address, is_address, parse
from trtlint.remote.file import require_packages
from trtlint.runs.evidencefiles import EVIDENCE_FILES
from trtlint.target.target import Target

if TYPE_CHECKING:
    from trtlint.runs.dryjob import DryJob

_SELECTORS = ("select", "extend_select", "ignore")
_DRY = ("dry_build", "dry_parse", "compare")


class NamedCase(Struct, frozen=True):
    """A case, and the name of its model in reports.

    Attributes:
        case: the case.
        name: the name.
        options: the command-line options that describe the targets and the build command of the case.
    """

    case: Case
    name: str
    options: tuple[str, ...] = ()


def cases(
    path: AnyPath | Iterable[AnyPath] | Any,
    target: Target | Sequence[Target] | None,
    keywords: Mapping[str, object],
    name: str = "path",
) -> Iterator[NamedCase]:
    """Yield a case for each model, or the case of a build without a model.

    Raises:
        ArgumentError: a keyword is unknown or has a wrong type, or ``path`` is neither a path nor a model.
        SettingError: a keyword has an invalid value, such as an unknown release.
        FileError: the file of a keyword cannot be used, or is a measurement of another model.
    """
    given = _Given(target, keywords)
    options = given.options
    yield from (replace(each, options=options) for each in _cases(given, path, name))


def _cases(given: _Given, path: Any, name: str) -> Iterator[NamedCase]:
    if given.for_torch:
        yield from given.torch(path)
        return
    if not isinstance(path, str | os.PathLike | bytes | Iterable):
        yield NamedCase(given.case(Path(NAME), MemoryModel(path, name)), NAME)
        return
    listed: tuple[str, ...] = read_one("path", path, name)
    if not listed:
        if not given.has_build:
            raise ArgumentError(f"{name} is empty: expected a model, or files of a build such as log=")
        yield given.alone()
        return
    files = [*expand(each for each in listed if not is_address(each))]
    given.single = len(files) == 1
    for file in files:
        yield NamedCase(given.case(file), str(file))
    for address in (parse(each) for each in listed if is_address(each)):
        require_packages(address)
        given.require_here(address)
        yield NamedCase(given.case(Path(address.name), address), address.name)


def one_case(
    model: Any, target: Target | Sequence[Target] | None, keywords: Mapping[str, object]
) -> NamedCase:
    """Return the case of one model.

    Raises:
        ArgumentError: ``model`` is not exactly one model, or a keyword is wrong (see :func:`cases`).
        SettingError, FileError: see :func:`cases`.
    """
    if isinstance(model, str | os.PathLike | bytes):
        model = read_file("model", model)
    found = [*islice(cases(model, target, keywords, "model"), 2)]
    if len(found) != 1:
        raise ArgumentError.of("model", model, "one model")
    return found[0]


class _Given:
    """The keywords of one call of the Python API, checked and converted.

    Attributes:
        single: True if the call is about one model.
    """

    single = True

    def __init__(self, target: Target | Sequence[Target] | None, keywords: Mapping[str, object]) -> None:
        self._keywords = keywords = read(keywords, Keywords.__annotations__)
        self._targets = self._read_targets(target)
        chosen = keywords.get("rules")
        entries = (*load_builtin().entries,) if chosen is None else RuleSet.of(chosen).entries
        self._policy = Policy(
            min_confidence=keywords.get("min_confidence", "low"),
            baseline=Baseline.read(Path(keywords["baseline"])) if "baseline" in keywords else None,
            known=names(entries),
            own=not keywords.get("isolated", False),
        )
        select, extend, ignore = (tuple(split(keywords.get(name, ()))) for name in _SELECTORS)
        layer = RuleLayer(select, extend, ignore)
        if chosen is None or layer != RuleLayer():
            entries = (*choose_by_layers(entries, [layer], preview=keywords.get("preview", False)),)
        self._rules = RuleSet(entries)
        self._commands = self._with_provider(read_commands(keywords.get("command")))
        self._files: BuildFiles = {kind: keywords[kind] for kind in WITNESSES if kind in keywords}
        if self._files and "record" in keywords:
            raise SettingError("record already contains these files; omit log, layers and profile")
        if self.has_build and self._level is not None:
            asked = next(name for name in _DRY if keywords.get(name))
            raise SettingError(
                f"{asked} runs a dry build, so it cannot be used with a log, layers or a "
                f"profile of a real build; omit {asked}, or the files of the real build"
            )

    @property
    def _level(self) -> Level | None:
        """The last stage of the dry build; None if no dry build is requested."""
        wanted = self._keywords.get("dry_build", False)
        if wanted == "parse" or self._keywords.get("dry_parse"):
            return "parse"
        return "build" if wanted else "parse" if self._keywords.get("compare") else None

    @property
    def options(self) -> tuple[str, ...]:
        """The command-line options that describe the targets and the build command."""
        given = options_among(self._keywords).arguments
        if not given:
            own = [each.arguments for each in self._targets]
            given = own[0] if len(own) == 1 else ()
        command = self._keywords.get("command")
        return given if command is None else (*given, "--build", str(command))

    @property
    def for_torch(self) -> bool:
        """True if the keyword ``torch_tensorrt`` is given: the files are scripts or exported programs."""
        return "torch_tensorrt" in self._keywords

    @property
    def has_build(self) -> bool:
        return bool(self._files) or "record" in self._keywords

    def _with_provider(self, commands: tuple[BuildCommand, ...]) -> tuple[BuildCommand, ...]:
        """Return ``commands``. If there are none, return the options of the keyword ``ep`` as a command."""
        provider, options = self._keywords.get("ep"), self._keywords.get("ep_options")
        if provider is None and options:
            raise ArgumentError("ep_options needs ep")
        if provider is not None:
            require_product(provider, self._targets)
        if provider is None or commands:
            return commands
        from trtlint.buildcommand.providers import of_options

        return (of_options(provider, options or {}),)

    def case(self, path: Path, source: Address | MemoryModel | None = None) -> Case:
        evidence, problems = self._build(path)
        found = (*evidence, *self._found_out(path, source))
        return self._case(path, (*found, *self._partition(path, found)), problems, source=source)

    def alone(self) -> NamedCase:
        """Return the case of a build without a model."""
        evidence, problems = self._build(Path(), alone=True)
        files = (file for each in evidence for file in each.files)
        path = Path(next(files, problems[0].path if problems else ""))
        return NamedCase(self._case(path, evidence, problems, alone=True), str(path))

    def torch(self, path: Any) -> Iterator[NamedCase]:
        """Yield a case for each script and exported program for Torch-TensorRT."""
        from trtlint.runs.torchcases import program_saved, torch_inputs

        with program_saved(path) as (paths, own):
            inputs = torch_inputs(paths, self._targets, self._keywords, self._level, trusted=own)
            for each, targets in inputs:
                case = self._case(each.path, each.evidence, each.problems, alone=True)
                yield NamedCase(replace(case, targets=targets), NAME if own else str(each.path))

    def require_here(self, address: Address) -> None:
        """Raise an error if the model is remote, but a keyword needs a local model."""
        for name in (*(kind.name for kind in EVIDENCE_FILES), *_DRY):
            if self._keywords.get(name):
                raise SettingError(f"{address.name}: {name} needs a local model; download it first")

    def _case(
        self,
        path: Path,
        evidence: tuple[Evidence | PendingEvidence, ...],
        problems: tuple[Problem, ...],
        *,
        source: Address | MemoryModel | None = None,
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
        options = options_among(self._keywords)
        if target is None:
            return tuple(targets_of(options))
        if options != TargetOptions():
            raise SettingError(
                "target cannot be used with keywords such as trt and fp16; omit target or these keywords"
            )
        return tuple(read_one("target", target))

    def _command_for(self, file: Path) -> BuildCommand | None:
        """Return the command that builds a model.

        The command can come from the model's Triton configuration.
        """
        return choose_command(file, self._commands, lambda _: None)

    def _build(self, path: Path, *, alone: bool = False) -> tuple[tuple[Evidence, ...], tuple[Problem, ...]]:
        record = self._keywords.get("record")
        problems: tuple[Problem, ...] = ()
        if self._files:
            from trtlint.buildfiles.gather import of_model

            files = [(file, kind) for kind, file in self._files.items()]
            gathered = of_model(path, files, alone=alone)
            record, problems = gathered.record, gathered.problems
        if record is None:
            return (), problems
        from trtlint.engine.evidence.build import BuildEvidence

        return (BuildEvidence(record),), problems

    def _partition(
        self, path: Path, found: tuple[Evidence | PendingEvidence, ...]
    ) -> Iterator[Evidence | PendingEvidence]:
        command = self._command_for(path)
        provider = self._keywords.get("ep") or (None if command is None else command.provider)
        if provider is not None:
            from trtlint.runs.partitionjob import evidence_of

            yield evidence_of(provider, command, found)

    def _found_out(
        self, path: Path, source: Address | MemoryModel | None
    ) -> Iterator[Evidence | PendingEvidence]:
        if self._level is not None:
            if source is not None:
                asked = next(name for name in _DRY if self._keywords.get(name))
                raise SettingError(f"{path}: {asked} needs a file; save the model first")
            yield self._dry_job(path, self._level)
        for kind in EVIDENCE_FILES:
            if kind.name in self._keywords:
                yield kind.load().of_keyword(self._keywords[kind.name], path if source is None else None)

    def _dry_job(self, path: Path, level: Level) -> DryJob:
        from trtlint.dry_build.given import command_shapes, fixed_shapes
        from trtlint.dry_build.wheels import find
        from trtlint.network.compare import request_of
        from trtlint.process.spawn import Limits
        from trtlint.runs.dryjob import DryJob

        keywords, usual = self._keywords, Limits()
        wanted, folder, logs = (keywords.get(name) for name in ("dry_build", "rtx_path", "dry_build_logs"))
        release = wanted if isinstance(wanted, str) and wanted not in get_args(Level) else None
        asked = (*fixed_shapes(keywords.get("shapes", ())),)
        shapes = (*command_shapes(self._command_for(path)), *asked)
        compare = keywords.get("compare", ())
        return DryJob(
            find(release, None if folder is None else Path(folder)).version,
            None if folder is None else os.path.abspath(folder),  # noqa: PTH100 - keeps symbolic links
            level,
            shapes,
            Limits(
                keywords.get("dry_build_seconds", usual.seconds),
                keywords.get("dry_build_memory", usual.memory),
            ),
            logs=None if logs is None else Path(logs),
            compare=request_of(compare, tuple((each.name, each.shapes[1]) for each in shapes))
            if compare
            else None,
            asked=asked,
            alone=self.single,
        )
