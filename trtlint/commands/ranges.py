"""Measurements given to other commands: each goes to the model that it is of, and a stale one is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trtlint.commands.tasks import Task
from trtlint.model.errors import ModelError
from trtlint.policy.review import Ran

if TYPE_CHECKING:
    from trtlint.measure.measurement import Measurement


def with_ranges(tasks: Sequence[Task], files: Sequence[str]) -> list[Task]:
    """The tasks, each with the measurement of its model where one was given.

    Raises:
        click.UsageError: a file holds no measurement, or one of no model that is linted.
    """
    if not files:
        return list(tasks)
    from trtlint.measure.identity import digest
    from trtlint.measure.measurement import MeasurementError, read_measurement

    try:
        read = {file: read_measurement(Path(file)) for file in files}
    except MeasurementError as error:
        raise click.UsageError(str(error)) from None
    measured = {found.digest: found for found in read.values()}
    done, used = [], set()
    for task in tasks:
        try:
            known = digest(task.file)
        except (ModelError, OSError):  # whoever lints it says why
            known = ""
        used.add(known)
        done.append(_measured(task, measured[known]) if known in measured else task)
    for file, found in read.items():
        if found.digest not in used:
            raise click.UsageError(
                f"{file}: measured on another model ({found.path}, or what it was then): measure it again"
            )
    return done


def kept(task: Task) -> tuple[str, ...]:
    """The operators of a task's model that were measured to need FP32; none without a measurement.

    Raises:
        click.UsageError: the measurement names none that Casts can keep there.
    """
    if task.measurement is None:
        return ()
    from trtlint.measure.measurement import MeasurementError

    try:
        return to_keep(task.measurement)
    except MeasurementError as error:
        raise click.UsageError(f"{task.file}: {error}") from None


def to_keep(found: Measurement) -> tuple[str, ...]:
    """The operators that were measured to need FP32.

    Raises:
        MeasurementError: it names none that Casts can keep there.
    """
    from trtlint.measure.measurement import MeasurementError
    from trtlint.report.measureadvice import autocast, misfit

    if not found.rehearsed:
        raise MeasurementError("measured with --no-rehearse, which finds nothing to keep in FP32")
    nodes = () if found.kept is None else found.kept.nodes
    if found.kept is not None and found.kept.verified and not found.fits:
        raise MeasurementError(f"{found.type.upper()} does not fit this model: {misfit(found.kept)}")
    if not found.typed:
        how = f": {autocast(found, nodes)}" if nodes else ", and nothing need be kept"
        raise MeasurementError(f"its floats are FP32 already; keep operators there on conversion{how}")
    if found.kept is not None and not found.kept.verified:
        raise MeasurementError("measured, and no operators were found that are enough to keep in FP32")
    return nodes


def _measured(task: Task, found: Measurement) -> Task:
    task = replace(task, measurement=found)
    return replace(task, policy=replace(task.policy, ran=Ran(task.entries, task.targets)))
