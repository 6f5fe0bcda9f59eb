"""Draw mutants, run the tests of their lines, and print how many survive.

python -m scripts.mutants --count 300 --seed 1 --rooms fixes,policy

CONTRIBUTING.md explains the purpose, and how to judge a surviving mutant.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from queue import SimpleQueue
from typing import Any

import yaml

from scripts.mutants.cover import Map, digest
from scripts.mutants.sites import Mutant, sample
from scripts.mutants.table import STATUSES, table

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "mutants"
EQUIVALENT = Path(__file__).with_name("equivalent.yaml")
_NAMESPACE = ("unshare", "--user", "--map-current-user", "--pid", "--fork", "--kill-child", "--mount-proc")
_SLOWER = 10
"""Time limit of a mutant: this multiple of the usual time of its tests, plus a minute."""


class Worker:
    """A process that runs tests in its own copy of the checkout."""

    def __init__(self, copy: Path) -> None:
        command = [*_NAMESPACE, sys.executable, "-m", "scripts.mutants.worker", str(copy)]
        self._process = subprocess.Popen(
            command, cwd=copy, env=environment(copy), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Run the tests of one mutant and return the verdict."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit("the worker ended; its last output is above")
        found: dict[str, Any] = json.loads(answer)
        if found["status"] == "broken":
            raise SystemExit(f"the tests of {request['file']} do not run: {' '.join(found['by'])}")
        return found

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def environment(copy: Path) -> dict[str, str]:
    """Return the environment of tests in a copy, so that they import and change only this copy."""
    shared = os.environ.get("TRTLINT_SHARED", str(ROOT.parent / "shared"))
    return {
        **os.environ,
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TRTLINT_SHARED": shared,
        "OPENBLAS_NUM_THREADS": "1",
        **dict.fromkeys(("TMPDIR", "HOME", "XDG_CACHE_HOME"), str(copy / "tmp")),
    }


def tracked() -> list[str]:
    """Return the files of the checkout that git tracks, and new files that git does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted(file for file in listed.split("\0") if file and (ROOT / file).is_file())


def copied(name: str, files: Iterable[str]) -> Path:
    """Make a new copy of the checkout."""
    copy = BUILD / name
    shutil.rmtree(copy, ignore_errors=True)
    for file in files:
        target = copy / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / file, target)
    (copy / "tmp").mkdir(exist_ok=True)
    return copy


def mapped(files: Sequence[str], jobs: int, folders: Sequence[str]) -> Map:
    """Return which tests run which line.

    The result is cached. When the package or a rule changes, all tests run again. When only tests change,
    only the changed test modules run again.
    """
    name = digest(ROOT, [file for file in files if file.startswith(("trtlint/", "rules/"))])
    kept = BUILD / f"{name}.coverage"
    beside = kept.with_suffix(".json")
    durations: dict[str, float] = {}
    known: dict[str, str] = {}
    if beside.exists():
        known, durations = json.loads(beside.read_text("utf-8"))
    modules = {file: digest(ROOT, [file]) for file in files if is_test(file, folders)}
    due = [file for file, found in modules.items() if known.get(file) != found]
    if due:
        copy = copied("map", files)
        own = {
            "COVERAGE_FILE": str(copy / "tmp" / "coverage"),
            "MUTANTS_DURATIONS": str(copy / "tmp" / "took"),
        }
        if kept.exists():
            shutil.copy2(kept, own["COVERAGE_FILE"])
        command = [sys.executable, "-m", "pytest", "-q", "-p", "scripts.mutants.durations", *due]
        command += ["--cov=trtlint", "--cov-append", "--cov-context=test", "--cov-report="]
        command += ["-n", str(jobs)] if jobs > 1 else ["-p", "no:xdist"]
        worker = [*_NAMESPACE, sys.executable, "-m", "scripts.mutants.worker", str(copy), *command]
        # A test that needs files outside of the checkout fails here, and the map omits this test.
        subprocess.run(worker, cwd=copy, env={**environment(copy), **own}, check=False)
        durations = {test: took for test, took in durations.items() if test.partition("::")[0] not in due}
        durations |= json.loads(Path(own["MUTANTS_DURATIONS"]).read_text("utf-8"))
        known |= {file: modules[file] for file in due}
        shutil.copy2(own["COVERAGE_FILE"], kept)
        beside.write_text(json.dumps([known, durations]), encoding="utf-8")
    return Map(kept, durations, ROOT)


def is_test(file: str, folders: Sequence[str]) -> bool:
    """Return whether a file is a test module in one of the folders; without folders, in any folder."""
    path = PurePosixPath(file)
    inside = not folders or any(path.is_relative_to(folder) for folder in folders)
    return inside and path.is_relative_to("tests") and path.name.startswith("test_") and path.suffix == ".py"


def judged(
    mutants: Sequence[Mutant], found: Map, jobs: int, files: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield the verdict on each mutant, in their order."""
    free: SimpleQueue[Worker] = SimpleQueue()
    workers = [Worker(copied(f"copy-{number}", files)) for number in range(min(jobs, len(mutants)))]
    for worker in workers:
        free.put(worker)
    known = {(each["file"], each["before"], each.get("after")) for each in equivalent()}

    def control(mutant: Mutant) -> None:
        """Check that the tests of a mutant pass without this mutant."""
        code = (ROOT / mutant.file).read_text("utf-8")
        tests = found.tests(mutant.file, mutant.line)
        answer = workers[0].ask({"file": mutant.file, "code": code, "tests": tests, "seconds": 600})
        if answer["status"] != "survived":
            raise SystemExit(f"a test fails without a mutant: {' '.join(answer['by'])}")

    def judge(mutant: Mutant) -> dict[str, Any]:
        row = {"room": mutant.room, "file": mutant.file, "line": mutant.line, "operator": mutant.operator}
        row |= {"before": mutant.before, "after": mutant.after}
        if not known.isdisjoint({mutant.key, (mutant.file, mutant.before, None)}):
            return {**row, "status": "equivalent"}
        tests = found.tests(mutant.file, mutant.line)
        seconds = 60 + _SLOWER * sum(found.durations[test] for test in tests)
        if not tests:
            return {**row, "status": "survived", "by": ["no test"]}
        worker = free.get()
        try:
            request = {"file": mutant.file, "code": mutant.code, "tests": tests, "seconds": seconds}
            return {**row, "tests": len(tests), **worker.ask(request)}
        finally:
            free.put(worker)

    try:
        if mutants:
            control(mutants[0])
        with ThreadPoolExecutor(max(1, len(workers))) as pool:
            yield from pool.map(judge, mutants)
    finally:
        for worker in workers:
            worker.close()


def equivalent() -> list[dict[str, str]]:
    """Return the mutants that a reviewer judged equivalent: the line before and after, and the reason.

    An entry without ``after`` is about all changes of a constant.
    """
    found: list[dict[str, str]] = yaml.safe_load(EQUIVALENT.read_text("utf-8")) or []
    return found


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Mutation testing on a sample of the package.")
    parser.add_argument(
        "--count", type=int, default=300, help="number of mutants for the whole package (300)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the random numbers (1)")
    parser.add_argument("--rooms", default="", help="folders of the package, separated by commas")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (one per CPU)")
    parser.add_argument("--most", type=int, default=0, help="number of mutants to judge per folder (0: all)")
    parser.add_argument("--tests", nargs="*", default=[], help="folders of tests to run (all)")
    options = parser.parse_args()
    files = tracked()
    rooms = [room for room in options.rooms.split(",") if room]
    BUILD.mkdir(parents=True, exist_ok=True)
    found = mapped(files, options.jobs, options.tests)
    seen: Counter[str] = Counter()
    mutants = []
    for mutant in sample(ROOT, options.count, options.seed, rooms):
        seen[mutant.room] += 1
        if not options.most or seen[mutant.room] <= options.most:
            mutants.append(mutant)
    rows = []
    with (BUILD / "results.jsonl").open("a", encoding="utf-8") as results:
        for row in judged(mutants, found, options.jobs, files):
            rows.append(row)
            print(json.dumps({"seed": options.seed, **row}), file=results, flush=True)
            print(".ts="[STATUSES.index(row["status"])], end="", flush=True)
    print()
    for row in rows:
        if row["status"] == "survived":
            print(f"\n{row['file']}:{row['line']}  {row['operator']}  ({row.get('tests', 0)} tests)")
            print(f"- {row['before']}\n+ {row['after']}")
    print("", *table(rows), sep="\n")


if __name__ == "__main__":
    main()
