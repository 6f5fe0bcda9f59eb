"""The evidence of a build that a lint is given, for a model or by itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trtlint.engine.finding import Problem
from trtlint.records import dataclass

if TYPE_CHECKING:
    from trtlint.build.build import Build


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a build left behind, for one model or by itself.

    Attributes:
        path: the file that stands for the build where there is no model.
        build: what was read, None where nothing could be.
        problems: the files that could not be read.
        alone: whether there is no model.
    """

    path: Path
    build: Build | None
    problems: tuple[Problem, ...] = ()
    alone: bool = False
