"""What is to be done with one file, and what came of it, as data that can go to another process."""

from __future__ import annotations

from pathlib import Path

from trtlint.case import Case
from trtlint.engine.finding import ModelReport
from trtlint.lean import dataclass
from trtlint.runs.exits import Exit


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
    """One case to lint, in any process.

    Attributes:
        case: the case; its policy stays where the reports are reviewed.
        name: the file as the user named it.
        require_lfs: whether what Git LFS has not fetched is an error.
        store: where to keep the result, None for nowhere.
        refused: why it is not to be linted, such as a wrong configuration; empty where it is.
        revised: whether the reports are to say which revision of the model they are about.
    """

    case: Case
    name: str
    require_lfs: bool = False
    store: Store | None = None
    refused: str = ""
    revised: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a job: a report for each target, and what the exit code must be at least."""

    reports: tuple[ModelReport, ...]
    exit: Exit = Exit.CLEAN
