"""Find the tests that run each line, with one run of all tests under coverage contexts."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath

import yaml
from coverage.numbits import numbits_to_nums

from scripts.mutants.sites import code_lines

_TABLE = Path(__file__).resolve().parents[2] / "tests" / "modules.yaml"
MOST_TESTS = 400
"""Largest number of tests for one mutant."""
MOST_SECONDS = 60.0
"""Largest total duration of the tests for one mutant, in seconds."""


class Map:
    """The tests that run each line, and the durations of the tests."""

    def __init__(self, data: Path, durations: Mapping[str, float], root: Path) -> None:
        self._root = root
        self.durations = durations
        self._lines: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        with sqlite3.connect(f"file:{data}?mode=ro", uri=True) as connection:
            query = (
                "select file.path, context.context, numbits from line_bits"
                " join file on file.id = file_id join context on context.id = context_id"
            )
            for path, context, numbits in connection.execute(query):
                test = context.rpartition("|")[0]
                if test in durations:
                    lines = self._lines["trtlint/" + path.rpartition("/trtlint/")[2]]
                    for number in numbits_to_nums(numbits):
                        lines[number].add(test)

    def tests(self, file: str, line: int) -> list[str]:
        """Return the tests of a line: first those in the module's own test module, then the fastest.

        Coverage assigns no test to a line that runs at import or only in a child process. Such a line gets
        the tests of its module and of its test module. If there are none, it gets the tests of its folder.
        """
        by_line = self._lines.get(file, {})
        bodies = list(code_lines((self._root / file).read_text("utf-8")))
        inside = any(first <= line <= last for first, last in bodies)
        found = set(by_line.get(line, ())) if inside else set()
        if not found:
            found = {
                test
                for number, tests in by_line.items()
                if any(first <= number <= last for first, last in bodies)
                for test in tests
            }
            found |= {test for test in self.durations if test.partition("::")[0] in own_tests(file)}
        if not found:
            room = f"tests/{file.split('/')[1]}/"
            found = {test for test in self.durations if test.startswith((room, "tests/test_"))}
        return self._bounded(found, PurePosixPath(file).stem.strip("_"))

    def _bounded(self, tests: Iterable[str], stem: str) -> list[str]:
        def rank(test: str) -> tuple[bool, float, str]:
            module = test.partition("::")[0]
            return stem not in module, self.durations[test], test

        chosen: list[str] = []
        seconds = 0.0
        for test in sorted(tests, key=rank)[:MOST_TESTS]:
            seconds += self.durations[test]
            if chosen and seconds > MOST_SECONDS:
                break
            chosen.append(test)
        return chosen


@cache
def own_tests(file: str) -> frozenset[str]:
    """Return the possible names of the test module of a module."""
    path = PurePosixPath(file).relative_to("trtlint")
    named = yaml.safe_load(_TABLE.read_text("utf-8")).get(path.with_suffix("").as_posix())
    rooms = (*path.parents[:-1], PurePosixPath())
    own = {(PurePosixPath("tests") / room / f"test_{path.stem.strip('_')}.py").as_posix() for room in rooms}
    return frozenset({*own, *([f"tests/{named}.py"] if named else [])})


def digest(root: Path, files: Sequence[str]) -> str:
    """Return a digest of source files; a cached map is valid for one digest."""
    found = hashlib.sha256()
    for file in files:
        found.update(file.encode())
        found.update((root / file).read_bytes())
    return found.hexdigest()[:16]
