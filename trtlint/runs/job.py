"""What is to be done with one file, and what came of it, as data that can go to another process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trtlint.buildcommand import BuildCommand
from trtlint.buildfiles.gathered import Gathered
from trtlint.engine.finding import ModelReport
from trtlint.lean import dataclass
from trtlint.remote.addresses import Address
from trtlint.runs.dryjob import DryJob
from trtlint.runs.exits import Exit
from trtlint.target.target import Target

if TYPE_CHECKING:
    from trtlint.measure.measurement import Measurement


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Rules by name; compiled ones cannot be sent, so every process loads them from their files.

    Attributes:
        folders: where rules are, besides those that come with trtlint.
        ids: the rules to run.
        digest: of the files of these rules; a process that finds other files there must not lint.
    """

    folders: tuple[str, ...]
    ids: tuple[str, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class Store:
    """Where the result of a job is to be kept.

    Attributes:
        entry: the file of the cache.
        model: what the model was known by when the job was made, see :func:`trtlint.runs.cache.stamp`; empty
            for one elsewhere.
    """

    entry: Path
    model: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """One file to lint.

    Attributes:
        path: the file, where the process that lints it finds it.
        name: the file as the user named it.
        targets: what to lint it for.
        rules: what to look for.
        command: the command line that builds it, None where it is not known.
        require_lfs: whether what Git LFS has not fetched is an error.
        gathered: what a build of it left behind, None where nothing was given; such a job stays here.
        dry: what to ask of NVIDIA's parser and builder, None for nothing.
        measurement: what was measured of it, None where nothing was.
        weights: whether all its weights are read.
        store: where to keep the result, None for nowhere.
        refused: why it is not to be linted, such as a wrong configuration; empty where it is.
        far: where the model lies, if that is elsewhere.
        revised: whether the reports are to say which revision of the model they are about.
    """

    path: Path
    name: str
    targets: tuple[Target, ...]
    rules: RuleSet
    command: BuildCommand | None = None
    require_lfs: bool = False
    gathered: Gathered | None = None
    dry: DryJob | None = None
    measurement: Measurement | None = None
    weights: bool = False
    store: Store | None = None
    refused: str = ""
    far: Address | None = None
    revised: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a job: a report for each target, and what the exit code must be at least."""

    reports: tuple[ModelReport, ...]
    exit: Exit = Exit.CLEAN
