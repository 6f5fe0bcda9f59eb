"""A file to lint, with its settings and its case."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from trtlint.case import Case
from trtlint.policy.settings import FileSettings
from trtlint.remote.addresses import Address
from trtlint.runs.evidence import ModelEvidence

if TYPE_CHECKING:
    from trtlint.model.load import ModelSource


class SettingsSource(Protocol):
    """The settings of files: a :class:`SettingsReader`, or the keywords of the Python API."""

    def settings(self, files: Iterable[Path]) -> list[FileSettings]:
        """Return the settings of each file.

        Raises:
            SettingError: an option cannot be used.
        """

    def settings_of(self, file: Path) -> FileSettings:
        """Return the settings of one file.

        Raises:
            SettingError: an option cannot be used.
        """


class Task(Struct, frozen=True):
    """One file to lint, explain, fix or upgrade.

    Attributes:
        settings: the settings of the file.
        case: the model with its evidence.
    """

    settings: FileSettings
    case: Case

    @classmethod
    def of(
        cls,
        settings: FileSettings,
        found: ModelEvidence = ModelEvidence(),  # noqa: B008 - the struct is frozen
        *,
        source: Address | ModelSource | None = None,
        alone: bool = False,
    ) -> Task:
        """Return the task for a file.

        Args:
            settings: the settings of the file.
            found: the evidence about the model.
            source: the address of a remote model, or a model in memory; None for a local file.
            alone: True if there is evidence, such as a log, but no model.
        """
        case = Case(
            settings.file,
            settings.targets,
            settings.rules,
            settings.policy,
            settings.command,
            found.evidence,
            weights=settings.weights,
            source=source,
            alone=alone,
            problems=found.problems,
        )
        return cls(settings, case)

    @property
    def file(self) -> Path:
        """The path of the model."""
        return self.case.path

    @property
    def name(self) -> str:
        """The name of the model in reports."""
        return str(self.file) if self.address is None else self.address.name

    @property
    def address(self) -> Address | None:
        """The address of a remote model."""
        return self.case.address

    @property
    def problem(self) -> str:
        """The reason why the configuration cannot be used; empty for a valid configuration."""
        return self.settings.problem

    @property
    def has_build(self) -> bool:
        """True if build files are given, even if they cannot be read."""
        return bool(self.case.alone or self.case.problems or self.case.build_files)
