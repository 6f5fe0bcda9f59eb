"""Convert the keywords of the Python API to cases."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from trtlint.arguments import read, read_file, read_one
from trtlint.buildcommand import choose_command, read_commands
from trtlint.buildfiles.kinds import FILE_KINDS, BuildFiles
from trtlint.case import Case
from trtlint.dry_build.result import Level
from trtlint.engine.rulebook import load_builtin
from trtlint.engine.ruleset import RuleSet
from trtlint.errors import ArgumentError, FileError, SettingError
from trtlint.keywords import AnyPath, Keywords
from trtlint.model.memory import NAME, MemoryModel
from trtlint.policy.baseline import Baseline
from trtlint.policy.options import (
    INSTALLED,
    DryOptions,
    LintOptions,
    TargetOptions,
    as_keyword,
    ep_options_of,
)
from trtlint.policy.review import Policy, names
from trtlint.policy.selection import RuleLayer, choose, split
from trtlint.policy.settings import FileSettings
from trtlint.policy.targets import options_among, require_product, targets_of
from trtlint.runs.evidencefiles import EVIDENCE_FILES
from trtlint.runs.inputs import memory_task, tasks_of
from trtlint.runs.task import Task
from trtlint.runs.torchinputs import require_release, torch_options_of
from trtlint.target.target import Target

_SELECTORS = ("select", "extend_select", "ignore")
_DRY = ("dry_build", "dry_parse", "compare")


class NamedCase(Struct, frozen=True):
    """A case, and the name of its model in reports.

    Attributes:
        case: the case.
        name: the name of the model in reports.
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
    """Yield a case for each model, or for each build without a model.

    Raises:
        ArgumentError: a keyword is unknown or has a wrong type, or ``path`` is neither a path nor a model.
        SettingError: a keyword has an invalid value, such as an unknown release.
        FileError: the file of a keyword cannot be used, or is a measurement of another model.
        ExperimentError: the packages for a dry build are not installed.
    """
    given = _CallOptions(target, keywords)
    if isinstance(path, str | os.PathLike | Iterable):
        listed: tuple[str, ...] = read_one("path", path, name)
        if not listed and not given.has_build:
            raise ArgumentError(
                f"{name} is empty: expected a model, or a keyword with a file of a build (such as log=)"
            )
        yield from given.cases(listed)
    elif given.for_torch:
        with _saved(path, name) as file:
            yield from (replace(each, name=NAME) for each in given.cases((file,), trusted=True))
    else:
        yield given.in_memory(MemoryModel(path, name))


@contextmanager
def _saved(program: Any, name: str) -> Iterator[str]:
    """Return a context manager that saves an exported program to a temporary file.

    Raises:
        ArgumentError: ``program`` is not an exported program.
    """
    # The caller has made an object of torch, so torch is imported already.
    if not hasattr(program, "graph_signature") or "torch" not in sys.modules:
        raise ArgumentError.of(name, program, "a path, paths, or a torch.export.ExportedProgram")
    with tempfile.TemporaryDirectory(prefix="trtlint-", ignore_cleanup_errors=True) as folder:
        file = str(Path(folder, "program.pt2"))
        sys.modules["torch"].export.save(program, file)
        yield file


def one_case(
    model: Any, target: Target | Sequence[Target] | None, keywords: Mapping[str, object]
) -> NamedCase:
    """Return the case of one model.

    Raises:
        ArgumentError: ``model`` is not exactly one model, or a keyword is wrong (see :func:`cases`).
        SettingError: see :func:`cases`.
        FileError: see :func:`cases`. Also raised if a file of a build without a model cannot be read.
    """
    if isinstance(model, str | os.PathLike | bytes):
        model = read_file("model", model)
    found = [*islice(cases(model, target, keywords, "model"), 2)]
    if len(found) != 1:
        for problem in (problem for each in found for problem in each.case.problems):
            raise FileError(str(problem))
        raise ArgumentError.of("model", model, "one model")
    return found[0]


class _CallOptions:
    """The keywords of one call of the Python API, checked and converted to options and settings."""

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
            entries = (*choose(entries, [layer], preview=keywords.get("preview", False)),)
        self._rules = RuleSet(entries)
        files: BuildFiles = {kind: keywords[kind] for kind in FILE_KINDS if kind in keywords}
        build = keywords.get("command")
        torch = torch_options_of(keywords, build, as_keyword)
        self._options = LintOptions(
            paths=(),
            target=options_among(keywords),
            build=build if torch.build is None else None,
            build_files=files,
            record=keywords.get("record"),
            dry=_dry_options(keywords),
            torch=torch,
            ep=ep_options_of(keywords.get("ep"), keywords.get("ep_options", {}), as_keyword),
            evidence={each.name: (keywords[each.name],) for each in EVIDENCE_FILES if each.name in keywords},
            spelling=as_keyword,
        )
        if self._options.ep.provider is not None:
            require_product(self._options.ep.provider, self._targets)
        self._commands = read_commands(self._options.build) or self._options.ep.commands

    @property
    def for_torch(self) -> bool:
        """True if the keyword ``torch_tensorrt`` is given: the files may be scripts or exported programs."""
        return self._options.torch.release is not None

    @property
    def has_build(self) -> bool:
        """True if the keywords have a build that can be linted without a model."""
        return bool(self._options.build_files) or "record" in self._keywords or self.for_torch

    def settings(self, files: Iterable[Path]) -> list[FileSettings]:
        """Return the settings of each file."""
        return [self.settings_of(file) for file in files]

    def settings_of(self, file: Path) -> FileSettings:
        """Return the settings of one file.  The build command can come from the Triton configuration."""
        return FileSettings(
            file,
            self._targets,
            command=choose_command(file, self._commands, lambda _: None),
            rules=self._rules,
            policy=self._policy,
            weights=self._keywords.get("weights", False),
        )

    def cases(self, paths: tuple[str, ...], *, trusted: bool = False) -> Iterator[NamedCase]:
        """Yield a case for each file. ``trusted`` is True if the caller has made the files."""
        torch = self._options.torch
        require_release(paths, torch, as_keyword)
        torch = replace(torch, trust_pickle=trusted or torch.trust_pickle)
        for task in tasks_of(self, replace(self._options, paths=paths, torch=torch)):
            yield self._named(task)

    def in_memory(self, model: MemoryModel) -> NamedCase:
        """Return the case of a model in memory."""
        if self._options.dry.level in ("parse", "build"):
            asked = next(name for name in _DRY if self._keywords.get(name))
            raise SettingError(f"{NAME}: {asked} needs a file; save the model first")
        return self._named(memory_task(self, self._options, NAME, model))

    def _named(self, task: Task) -> NamedCase:
        own = [each.arguments for each in self._targets]
        explicit = own[0] if len(own) == 1 and not self._options.target.arguments else ()
        return NamedCase(task.case, task.name, (*explicit, *self._options.arguments))

    def _read_targets(self, target: Target | Sequence[Target] | None) -> tuple[Target, ...]:
        options = options_among(self._keywords)
        if target is None:
            return tuple(targets_of(options))
        if options != TargetOptions():
            raise SettingError(
                "target cannot be used with keywords such as trt and fp16; omit target or these keywords"
            )
        return tuple(read_one("target", target))


def _dry_options(keywords: Mapping[str, Any]) -> DryOptions:
    """Return the options of a dry build among the keywords."""
    wanted, compare = keywords.get("dry_build"), keywords.get("compare") or None
    level: Literal["off", "parse", "build"] | None = "off" if wanted is False else None
    if wanted == "parse" or keywords.get("dry_parse") or (compare and not wanted):
        level = "parse"
    elif wanted:
        level = "build"
    return DryOptions(
        level=level,
        version=wanted if isinstance(wanted, str) and wanted not in get_args(Level) else INSTALLED,
        rtx_path=keywords.get("rtx_path"),
        shapes=keywords.get("shapes", ()),
        seconds=keywords.get("dry_build_seconds"),
        memory=keywords.get("dry_build_memory"),
        logs=keywords.get("dry_build_logs"),
        compare=compare,
    )
