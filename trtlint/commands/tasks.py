"""Read the settings and the evidence of the files of a command."""

from __future__ import annotations

from trtlint.errors import ExperimentError, FileError, SettingError
from trtlint.policy.options import LintOptions
from trtlint.policy.settings import SettingsReader
from trtlint.runs.inputs import tasks_of
from trtlint.runs.progress import Activity
from trtlint.runs.task import Task


def read_tasks(reader: SettingsReader, options: LintOptions) -> list[Task]:
    """Return a task for each model or build.

    Args:
        reader: reader of the settings of each file.
        options: the options of the command.

    Raises:
        SettingError: an option, or the file of an option, cannot be used.
    """
    with Activity("reading the files of builds"):
        try:
            return tasks_of(reader, options)
        except (FileError, ExperimentError) as error:
            raise SettingError(str(error)) from None
