"""Describe the build files that a lint reads, with or without a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from trtlint.files.problem import Problem

if TYPE_CHECKING:
    from trtlint.buildfiles.record import BuildRecord


class BuildInput(Struct, frozen=True):
    """The files of one build.

    Attributes:
        path: the file that names the build in reports if there is no model.
        record: the contents; None if no file was readable.
        problems: the unreadable files.
        alone: True if the user gives the build without a model.
    """

    path: Path
    record: BuildRecord | None
    problems: tuple[Problem, ...] = ()
    alone: bool = False
