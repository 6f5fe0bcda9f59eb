"""Read what builds left behind, and put together what is of one build."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from trtlint.build.build import FileRead, Role, read_file, together
from trtlint.build.errors import BuildFileError
from trtlint.engine.finding import Problem
from trtlint.evidence import Evidence


def of_model(model: Path, files: Iterable[tuple[str, Role]]) -> Evidence:
    """The evidence of the build of one model."""
    read, problems = _read(files)
    try:
        build = together(read) if read else None
    except BuildFileError as error:
        build, problems = None, [*problems, _problem(error)]
    return Evidence(model, build, tuple(problems))


def by_itself(files: Iterable[tuple[str, Role]]) -> list[Evidence]:
    """The evidence of files without a model: of one build, or of one build each.

    They are of one build unless two are of one kind, such as two logs.
    """
    listed = list(files)
    read, problems = _read(listed)
    found: list[Evidence] = []
    try:
        if read:
            found.append(Evidence(Path(read[0].path), together(read), alone=True))
    except BuildFileError:
        found = [Evidence(Path(file.path), together([file]), alone=True) for file in read]
    found += [Evidence(Path(problem.path), None, (problem,), alone=True) for problem in problems]
    order = {path: index for index, (path, _) in enumerate(reversed(listed))}
    return sorted(found, key=lambda evidence: -order.get(str(evidence.path), 0))


def _read(files: Iterable[tuple[str, Role]]) -> tuple[list[FileRead], list[Problem]]:
    read, problems = [], []
    for path, role in files:
        found = _try(path, role)
        if isinstance(found, FileRead):
            read.append(found)
        else:
            problems.append(found)
    return read, problems


def _try(path: str, role: Role) -> FileRead | Problem:
    try:
        return read_file(path, role)
    except BuildFileError as error:
        return _problem(error, path)


def _problem(error: BuildFileError, path: str = "") -> Problem:
    if path:
        return Problem(path, error.message.removeprefix(f"{path}: "), error.offset)
    name, _, message = error.message.partition(": ")
    return Problem(name, message, error.offset)
