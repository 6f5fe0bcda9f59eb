"""The evidence of a build that a lint is given, for a model or by itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trtlint.engine.finding import Problem
from trtlint.facts import Ground, grounds

if TYPE_CHECKING:
    from trtlint.build.build import Build
    from trtlint.buildcommand import BuildCommand


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


def grounds_for(evidence: Evidence | None, command: BuildCommand | None) -> frozenset[Ground]:
    """What there is to find facts in, for a lint with this evidence and this build command."""
    return grounds(
        model=evidence is None or not evidence.alone,
        build=evidence is not None and evidence.build is not None,
        command=command is not None,
    )
