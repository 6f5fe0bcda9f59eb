"""What a lint is given of a build, for a model or by itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trtlint.files.problem import Problem
from trtlint.lean import dataclass

if TYPE_CHECKING:
    from trtlint.buildfiles.record import BuildRecord


@dataclass(frozen=True, slots=True)
class Gathered:
    """What there is of a build, of one model or by itself.

    Attributes:
        path: the file that stands for the build where there is no model.
        record: what was read, None where nothing could be.
        problems: the files that could not be read.
        alone: whether there is no model.
    """

    path: Path
    record: BuildRecord | None
    problems: tuple[Problem, ...] = ()
    alone: bool = False
