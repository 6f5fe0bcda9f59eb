"""A job (one file to lint) and its outcome, as data for another process."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from trtlint.case import Case
from trtlint.engine.finding import ModelReport
from trtlint.runs.exits import Exit


class Store(Struct, frozen=True):
    """Place of a job's result in the cache.

    Attributes:
        entry: the file of the cache.
        model: the status of the model file when the job was made, see :func:`trtlint.runs.cache.stamp`; empty
            for a remote model.
    """

    entry: Path
    model: tuple[int, ...]


class Job(Struct, frozen=True):
    """One case to lint, in any process.

    Attributes:
        case: the case.  Its policy is applied later, in the main process.
        name: the file as the user named it.
        require_lfs: whether a file that Git LFS has not fetched is an error.
        store: the place of the result in the cache; None without a cache.
        refused: why the case cannot be linted, such as an error in the configuration; empty otherwise.
        revised: whether to add the revision of the model to the reports.
    """

    case: Case
    name: str
    require_lfs: bool = False
    store: Store | None = None
    refused: str = ""
    revised: bool = False


class Outcome(Struct, frozen=True):
    """Outcome of a job: a report for each target, and the lowest exit code."""

    reports: tuple[ModelReport, ...]
    exit: Exit = Exit.CLEAN
