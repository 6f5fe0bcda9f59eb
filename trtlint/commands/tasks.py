"""Read the settings and the evidence of the files of a command."""

from __future__ import annotations

from trtlint.commands.streams import notify
from trtlint.errors import ExperimentError, FileError, SettingError
from trtlint.policy.options import LintOptions
from trtlint.policy.settings import SettingsReader
from trtlint.runs.inputs import tasks_of
from trtlint.runs.progress import Activity
from trtlint.runs.task import Task


def read_tasks(options: LintOptions, *, compare: bool = True) -> tuple[list[Task], SettingsReader]:
    """Return a task for each model or build, and the reader of the settings.

    Args:
        options: the options of the command.
        compare: whether to remove the findings that are in a baseline.

    Raises:
        SettingError: an option, or the file of an option, cannot be used.
    """
    reader = SettingsReader(options, notify, compare=compare)
    with Activity("reading the files of builds"):
        try:
            return tasks_of(reader, options), reader
        except (FileError, ExperimentError) as error:
            raise SettingError(str(error)) from None
