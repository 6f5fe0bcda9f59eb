"""Tasks about Torch-TensorRT: scripts, calls given as text, and exported programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from trtlint.commands.tasks import Task, TaskFactory
from trtlint.files.limits import LimitError
from trtlint.files.problem import Problem, UnreadableError
from trtlint.policy.options import LintOptions
from trtlint.process.spawn import Limits

SCRIPT, PROGRAM = ".py", ".pt2"
TEXT = "--build"
"""The name in reports of a call that was given as text."""


def is_torch(path: str) -> bool:
    """Return whether a path is a Python script or an exported program."""
    return path.lower().endswith((SCRIPT, PROGRAM))


def torch_tasks(factory: TaskFactory, options: LintOptions) -> tuple[list[Task], tuple[str, ...]]:
    """Return the tasks about Torch-TensorRT, and the paths that are none of them.

    Raises:
        click.UsageError: the release is not known, or an option cannot be used.
    """
    if options.torch.release is None:
        return [], options.paths
    from trtlint.knowledge.torchreleases import TorchReleaseError, torch_release

    try:
        release = torch_release(options.torch.release)
    except TorchReleaseError as error:
        raise click.UsageError(f"--torch-tensorrt: {error}") from None
    mine = [path for path in options.paths if is_torch(path)]
    others = tuple(path for path in options.paths if not is_torch(path))
    if not mine and options.torch.build is None:
        raise click.UsageError(
            "--torch-tensorrt needs a Python script, a program (.pt2), or a call in --build"
        )
    tasks = [*_texts(factory, options, release.version)]
    for path in dict.fromkeys(mine):
        make = _script if path.lower().endswith(SCRIPT) else partial(_program, options=options)
        tasks.append(make(factory, Path(path), release.version))
    return [_for_release(task, release.tensorrt) for task in tasks], others


def _texts(factory: TaskFactory, options: LintOptions, release: str) -> Iterator[Task]:
    from trtlint.engine.evidence.torch_script import text_evidence
    from trtlint.torch_tensorrt.calls import ScriptError

    text = options.torch.build
    if text is None:
        return
    if text.endswith(SCRIPT):
        yield _script(factory, Path(text), release)
        return
    try:
        evidence = text_evidence(text, TEXT, release)
    except ScriptError as error:
        raise click.UsageError(str(error)) from None
    yield Task.of(factory.settings_of(Path(TEXT)), (evidence,), alone=True)


def _script(factory: TaskFactory, path: Path, release: str) -> Task:
    from trtlint.engine.evidence.torch_script import script_evidence
    from trtlint.torch_tensorrt.calls import ScriptError

    settings = factory.settings_of(path)
    try:
        return Task.of(settings, (script_evidence(path, release),), alone=True)
    except (ScriptError, LimitError, OSError) as error:
        return Task.of(settings, (), _problems(path, error), alone=True)


def _program(factory: TaskFactory, path: Path, release: str, options: LintOptions) -> Task:
    from trtlint.engine.evidence.torch_program import TorchProgramEvidence
    from trtlint.torch_tensorrt.program import ProgramError, read_program

    settings = factory.settings_of(path)
    try:
        program = read_program(path, release)
    except (ProgramError, LimitError, OSError) as error:
        return Task.of(settings, (), _problems(path, error), alone=True)
    if options.dry.level not in ("parse", "build"):
        return Task.of(settings, (TorchProgramEvidence(program),), alone=True)
    from trtlint.runs.torchjob import TorchJob
    from trtlint.torch_tensorrt.asking import USUAL, TorchRequest

    torch, dry = options.torch, options.dry
    request = TorchRequest(
        release=release,
        sm=0,
        python=torch.python,
        wheel=None if torch.wheel is None else str(Path(torch.wheel).absolute()),
        build=dry.level == "build",
        trusted=torch.trust_pickle,
        limits=Limits(dry.seconds or USUAL.seconds, dry.memory or USUAL.memory),
    )
    return Task.of(settings, (TorchJob(program, request),), alone=True)


def _problems(path: Path, error: UnreadableError | OSError) -> tuple[Problem, ...]:
    return (Problem.of(path, error),)


def _for_release(task: Task, tensorrt: str) -> Task:
    """Return the task for the TensorRT that the release brings, where the user names no version."""
    targets = tuple(
        target
        if target.version is not None or target.product != "tensorrt"
        else replace(target, version=tensorrt)
        for target in task.case.targets
    )
    settings = replace(task.settings, targets=targets)
    return replace(task, settings=settings, case=replace(task.case, targets=targets))
