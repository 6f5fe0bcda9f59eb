"""Define a job (one file to lint) and its outcome, as data that another process can receive."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from trtlint.case import Case
from trtlint.engine.finding import ModelReport
from trtlint.runs.exits import Exit


class Store(Struct, frozen=True):
    """The cache entry for the result of a job.  The entry may not exist yet.

    Attributes:
        entry: the file of the cache entry.
        model: the status of the model file when the job was created, see :func:`trtlint.runs.cache.stamp`;
            empty for a remote model.
    """

    entry: Path
    model: tuple[int, ...]


class Job(Struct, frozen=True):
    """One case to lint, in this or another process.

    Attributes:
        case: the case.  The main process applies the policy of the case, after the job.
        name: the file as the user named it.
        require_lfs: True if a file that Git LFS has not fetched is an error.
        store: the cache entry for the result; None to cache nothing.
        refused: the reason why the case cannot be linted, such as an error in the configuration; empty if
            there is none.
        revised: True to add the revision of the model to the reports.
    """

    case: Case
    name: str
    require_lfs: bool = False
    store: Store | None = None
    refused: str = ""
    revised: bool = False


class Outcome(Struct, frozen=True):
    """The outcome of a job: a report for each target, and an exit code.

    The run exits with at least this code.
    """

    reports: tuple[ModelReport, ...]
    exit: Exit = Exit.CLEAN
