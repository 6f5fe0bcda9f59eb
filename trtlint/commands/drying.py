"""Which models get a dry build: what the command line and the configuration say, made into jobs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trtlint.buildcommand.shapes import read_shapes, shapes_of
from trtlint.commands.tasks import Task
from trtlint.policy.options import INSTALLED, DryOptions
from trtlint.policy.review import Ran

if TYPE_CHECKING:
    from trtlint.dry_build.shapes import Given
    from trtlint.network.compare import CompareRequest
    from trtlint.runs.dryjob import DryJob


class Drying:
    """Gives tasks their dry build.

    Args:
        options: the command line, which has the last word.
        models: all models of the run.
    """

    def __init__(self, options: DryOptions, models: Iterable[Path]) -> None:
        self._options = options
        self._names = Counter(model.stem for model in models)
        self._versions: dict[str, str] = {}

    def add(self, task: Task) -> Task:
        """The task with its dry build, if one is wanted; what a real build left behind says more.

        Raises:
            click.UsageError: the wheels are not there, or a shape cannot be read.
        """
        if task.gathered is not None:
            return task
        said = [choices.dry for choices in task.configuration.choices(task.file)]
        wanted = next((each for each in (self._options, *reversed(said)) if each.level is not None), None)
        if wanted is None or wanted.level is None or wanted.level == "off":
            return task
        shapes = [*_said(said, str(task.configuration.file)), *_of_command(task)]
        shapes += _said([self._options], "--shapes")
        with_dry = replace(task, dry=self._job(task.file, wanted, tuple(shapes)))
        ran = Ran(with_dry.entries, with_dry.targets)
        return replace(with_dry, policy=replace(task.policy, ran=ran))

    def _job(self, model: Path, wanted: DryOptions, shapes: tuple[Given, ...]) -> DryJob:
        from trtlint.process.spawn import Limits
        from trtlint.runs.dryjob import DryJob

        options, usual = self._options, Limits()
        return DryJob(
            version=self._version(wanted.version or INSTALLED),
            folder=None if options.rtx_path is None else os.path.abspath(options.rtx_path),  # noqa: PTH100
            level="parse" if wanted.level == "parse" else "build",
            shapes=shapes,
            limits=Limits(options.seconds or usual.seconds, options.memory or usual.memory),
            logs=None if options.logs is None else self._folder(Path(options.logs), model),
            compare=self._comparison(shapes) if options.compare else None,
        )

    def _comparison(self, shapes: tuple[Given, ...]) -> CompareRequest:
        """Return what to compare on.

        Raises:
            click.UsageError: the inputs cannot be used.
        """
        from trtlint.measure.inputs import InputsError
        from trtlint.network.compare import request_of

        try:
            return request_of(self._options.compare, tuple((each.name, each.shapes[1]) for each in shapes))
        except InputsError as error:
            raise click.UsageError(f"--compare: {error}") from None

    def _folder(self, logs: Path, model: Path) -> Path:
        """Where the log of a model goes: of models with one name, into folders called like theirs."""
        if self._names[model.stem] == 1:
            return logs
        return logs.joinpath(*(part for part in model.parent.parts if part not in (model.anchor, "..")))

    def _version(self, wanted: str) -> str:
        """The release that is there, which must be the one that is wanted."""
        if wanted not in self._versions:
            from trtlint.dry_build.errors import WheelError
            from trtlint.dry_build.wheels import find

            folder = None if self._options.rtx_path is None else Path(self._options.rtx_path)
            try:
                self._versions[wanted] = find(None if wanted == INSTALLED else wanted, folder).version
            except WheelError as error:
                raise click.UsageError(str(error)) from None
        return self._versions[wanted]


def _said(options: Sequence[DryOptions], where: str) -> Iterator[Given]:
    from trtlint.dry_build.shapes import Given

    for text in (text for each in options for text in each.shapes):
        for name, shape in read_shapes(text):
            if shape is None or not name:
                raise click.UsageError(f"{where}: {text!r} is no shape such as NAME:1x3x224x224")
            yield Given(name, (shape, shape, shape))


def _of_command(task: Task) -> Iterator[Given]:
    """The shapes of the first profile of the command that builds the model."""
    from trtlint.dry_build.shapes import Given

    if task.command is None:
        return
    specs = shapes_of(task.command).specs
    for spec in specs:
        usual = spec.opt or spec.max or spec.min
        if usual is not None and spec.profile == specs[0].profile:
            yield Given(spec.name, (spec.min or usual, usual, spec.max or usual))
