"""Tests that every module has a test module, by name or in ``tests/modules.yaml``.

A test module of the same name lies in the folder of the room: ``trtlint/model/graph.py`` is tested in
``tests/model/**/test_graph.py``, ``trtlint/case.py`` in ``tests/test_case.py``.  A kind of facts or a fix
without one is tested by the examples of the rules that name it, a format by the reports in all formats.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path, PurePosixPath

import pytest
import yaml

from tests.conftest import REPOSITORY
from trtlint.report.formats import BINARY, DOCUMENTS, STREAMED

TABLE = REPOSITORY / "tests" / "modules.yaml"
BY_NAME = ("facts/of_*", "fixes/rewrites", "report")
"""Folders with modules loaded by name: kinds of facts, fixes and formats."""
FRONT = {("trtlint",), ("trtlint", "commands"), ("trtlint", "runs")}
"""Modules between the interface or the command line and the packages."""
ENTRIES = {"trtlint": ("trtlint/api.py",), "tests.linting": ("trtlint/cli.py",)}
"""Modules behind an import: the interface, and the command line in the same process."""
ALL_RULES = {"facts": "tests/examples/test_rules.py", "fixes": "tests/examples/test_fixed.py"}
"""By package, the test module that runs all rule examples with their facts and fixes."""
ALL_FORMATS = "tests/report/test_outputs.py"
"""The test module that writes a report in every format."""
# A search of all sources is ten times as fast as parsing them.
DEFINITION = re.compile(r"^(?:(?:async )?def |class |\w[\w, ]*(?::[^=\n]*)?= ?)", re.MULTILINE)
"""A function, a class or a value of a module."""
NAMED = re.compile(r"\btrtlint(?:\.\w+)+|(?<=^import )trtlint\b", re.MULTILINE)
"""The name of a module."""
IMPORTED = re.compile(r"^ *from ((?:trtlint|tests)[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
"""A module, and imported names, which can be modules."""
SCRIPT = re.compile(r"[\"']([\w-]+\.py)[\"']")
"""The name of a file that a process runs."""


@cache
def modules() -> tuple[str, ...]:
    """Return the modules with code, without the folder ``trtlint`` and the suffix."""
    root = REPOSITORY / "trtlint"
    files = sorted(file for file in root.rglob("*.py") if has_code(file))
    return tuple(file.relative_to(root).with_suffix("").as_posix() for file in files)


def has_code(file: Path) -> bool:
    """Return whether a module defines a function, a class or a value."""
    return file.name != "__init__.py" and DEFINITION.search(source(file)) is not None


@cache
def source(file: Path) -> str:
    """Return a source file, cached for all tests."""
    return file.read_text(encoding="utf-8")


@cache
def table() -> Mapping[str, str]:
    """Return the test modules of modules without a test module of the same name."""
    found = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


@cache
def files_of_tests() -> Mapping[str, list[Path]]:
    """Return the test modules by file name."""
    found: dict[str, list[Path]] = {}
    for file in sorted((REPOSITORY / "tests").rglob("test_*.py")):
        found.setdefault(file.name, []).append(file)
    return found


def namesakes(module: str) -> list[Path]:
    """Return the test modules with the same name and package as a module."""
    path = PurePosixPath(module)
    rooms = REPOSITORY.joinpath("tests", *path.parts[:-1][:1])
    found = files_of_tests().get(f"test_{path.name.strip('_')}.py", [])
    return [file for file in found if file.parent == rooms or (len(path.parts) > 1 and rooms in file.parents)]


def assigned(module: str) -> list[Path]:
    """Return the test modules of a module."""
    if module in table():
        return [REPOSITORY / "tests" / f"{table()[module]}.py"]
    found = namesakes(module)
    if found:
        return found
    file, ours = REPOSITORY / "trtlint" / f"{module}.py", module.partition("/")[0]
    if ours in ALL_RULES and any(file in each for each in rules().values()):
        return [REPOSITORY / ALL_RULES[ours]]
    return [REPOSITORY / ALL_FORMATS] if file in formats() else []


@cache
def formats() -> frozenset[Path]:
    """Return the modules of formats."""
    names = {**STREAMED, **DOCUMENTS, **BINARY}.values()
    return frozenset(REPOSITORY / "trtlint" / "report" / f"{name}.py" for name in names)


@cache
def imported(file: Path) -> frozenset[Path]:
    """Return the files that a file imports, lazily or in a separate process."""
    return frozenset(_imported(file))


def _imported(file: Path) -> Iterator[Path]:
    text = source(file)
    names = set(NAMED.findall(text))  # in imports, and in texts that say what a process runs
    for module, imports in IMPORTED.findall(text):
        names |= {module, *(f"{module}.{name}" for name in re.findall(r"\w+", imports))}
    yield from filter(Path.is_file, map(file.with_name, set(SCRIPT.findall(text))))
    for name in names:
        yield from (REPOSITORY / entry for entry in ENTRIES.get(name, ()))
        yield from _files(name)


@cache
def _files(name: str) -> tuple[Path, ...]:
    """Return the file of a module or package, by its name."""
    folder = REPOSITORY.joinpath(*name.split("."))
    return tuple(file for file in (folder.with_suffix(".py"), folder / "__init__.py") if file.is_file())


@cache
def loaded_by_name() -> Mapping[str, Path]:
    """Return the modules of kinds of facts and of fixes by the name that a rule or a test uses."""
    files = [file for folder in BY_NAME for file in (REPOSITORY / "trtlint").glob(f"{folder}/[a-z]*.py")]
    return {name: file for file in files for name in (file.stem, file.stem.replace("_", "-"))}


@cache
def rules() -> Mapping[str, frozenset[Path]]:
    """Return for each rule id its modules: its kind of facts and its fixes."""
    found = {}
    for file in (REPOSITORY / "rules").rglob("*.md"):
        front = file.read_text(encoding="utf-8").partition("\n---\n")[0]
        names = re.findall(r"^ *(?:- )?(?:find|fix): ([\w-]+)", front, re.MULTILINE)
        found[file.name[:6]] = frozenset(loaded_by_name()[name] for name in names if name in loaded_by_name())
    return found


@cache
def named(test: Path) -> frozenset[Path]:
    """Return the modules that a test module names by kind or fix, or through a rule."""
    text = source(test)
    own = test.relative_to(REPOSITORY).as_posix()
    ids = rules() if own in ALL_RULES.values() else re.findall(r"\b[A-Z]{3}\d{3}\b", text)
    quoted = re.findall(r"[\"']([a-z][\w-]+)[\"']", text)
    found = formats() if own == ALL_FORMATS else frozenset()
    return found.union(
        (loaded_by_name()[name] for name in quoted if name in loaded_by_name()),
        *(rules().get(each, ()) for each in ids),
    )


def room(file: Path) -> tuple[str, ...]:
    """Return the folder of a file, at most two levels deep."""
    return file.relative_to(REPOSITORY).parts[:-1][:2]


@cache
def reached(test: Path, target: str) -> frozenset[Path]:
    """Return the modules of a package that a test module runs, directly or through other imports.

    The search follows the package itself, the packages that the test imports from, and the top packages.
    """
    seen: set[Path] = set()
    waiting = [test, *named(test)]
    passed = {("trtlint", target), *FRONT, *map(room, imported(test))}
    while waiting:
        file = waiting.pop()
        if file not in seen:
            seen.add(file)
            waiting += imported(file) if room(file)[0] == "tests" or room(file) in passed else ()
    return frozenset(seen)


def exercises(test: Path, module: str) -> bool:
    """Return whether a test module runs a module."""
    return REPOSITORY / "trtlint" / f"{module}.py" in reached(test, module.partition("/")[0])


def test_every_module_has_a_test_module() -> None:
    assert [module for module in modules() if not assigned(module)] == []


@pytest.mark.slow
def test_the_test_modules_exist_and_exercise_their_module() -> None:
    missing = {str(test) for module in modules() for test in assigned(module) if not test.is_file()}
    assert missing == set()
    idle = {
        module: [test.name for test in assigned(module)]
        for module in modules()
        if not any(exercises(test, module) for test in assigned(module))
    }
    assert idle == {}


def test_the_table_names_only_modules_without_a_namesake() -> None:
    assert [module for module in table() if module not in modules()] == []
    assert [module for module in table() if any(exercises(test, module) for test in namesakes(module))] == []
    assert list(table()) == sorted(table())


def test_a_module_without_a_test_is_found() -> None:
    assert namesakes("model/graph") == [REPOSITORY / "tests/model/test_graph.py"]
    assert namesakes("case") == [REPOSITORY / "tests/test_case.py"]
    assert namesakes("model/no_such_module") == []
    assert not exercises(REPOSITORY / "tests/model/test_graph.py", "conversion/cut")
    assert not exercises(REPOSITORY / "tests/model/test_graph.py", "facts/of_model/top_k")
    assert exercises(REPOSITORY / "tests/model/test_graph.py", "model/graph")
