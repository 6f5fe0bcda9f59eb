"""Read build files, and group them by build."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from trtlint.buildfiles.errors import BuildFileError
from trtlint.buildfiles.kinds import GivenAs
from trtlint.buildfiles.record import FOREIGN, BuildRecord, FileContents, read_file, together
from trtlint.buildfiles.records import Log
from trtlint.files.limits import LimitError, limit_work
from trtlint.files.problem import Problem


class BuildInput(Struct, frozen=True):
    """The files of one build.

    Attributes:
        path: the file whose name reports show if there is no model.
        record: the contents; None if the files are unreadable, or do not come from one build with TensorRT.
        problems: the files that trtlint cannot read or use.
    """

    path: Path
    record: BuildRecord | None
    problems: tuple[Problem, ...] = ()


def of_model(model: Path, files: Iterable[tuple[str, GivenAs]]) -> BuildInput:
    """Read the files of the build of a model. Each file is a pair of path and role."""
    read, problems = _read(files)
    try:
        record = together(read) if read else None
    except BuildFileError as error:
        record, problems = None, [*problems, Problem.of(model, error)]
    return BuildInput(model, record, tuple(problems))


def by_itself(files: Iterable[tuple[str, GivenAs]]) -> list[BuildInput]:
    """Read build files that have no model, and group them by build.

    If all files differ in kind, they belong to one build. If two files have the same kind, such as two logs,
    each file is a separate build.  If a build has only a log, and no line of this log is from TensorRT, the
    result has a problem instead of the contents.
    """
    listed = list(files)
    read, problems = _read(listed)
    found: list[BuildInput] = []
    try:
        if read:
            found.append(_alone(read))
    except BuildFileError:
        found = [_alone([file]) for file in read]
    found += [BuildInput(Path(problem.path), None, (problem,)) for problem in problems]
    first: dict[Path, int] = {}
    for index, (path, _) in enumerate(listed):
        first.setdefault(Path(path), index)
    return sorted(found, key=lambda gathered: first[gathered.path])


def _alone(read: Sequence[FileContents]) -> BuildInput:
    path = read[0].path
    if _is_foreign(read):
        problem = Problem(path, f"{FOREIGN}; save the output of the build, with standard error (2>&1)")
        return BuildInput(Path(path), None, (problem,))
    return BuildInput(Path(path), together(read))


def _is_foreign(read: Sequence[FileContents]) -> bool:
    """Return whether the files are only logs, and no line of a log is from TensorRT or names TensorRT."""
    return all(
        isinstance(file.content, Log) and file.note is not None and not file.content.named for file in read
    )


def _read(files: Iterable[tuple[str, GivenAs]]) -> tuple[list[FileContents], list[Problem]]:
    read, problems = [], []
    for path, role in files:
        found = _try(path, role)
        if isinstance(found, FileContents):
            read.append(found)
        else:
            problems.append(found)
    return read, problems


def _try(path: str, role: GivenAs) -> FileContents | Problem:
    try:
        with limit_work(path):
            return read_file(path, role)
    except (BuildFileError, LimitError) as error:
        return Problem.of(path, error)
