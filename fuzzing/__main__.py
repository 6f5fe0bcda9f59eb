"""``python -m fuzzing``: generate files and lint them.

A failed case is printed as ``model:17``; ``--replay model:17`` generates its file again and prints the
traceback. The exit code is 1 if a case failed.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

from fuzzing.inputs import INPUTS, Input, made

SLOW = 10.0
"""Seconds of processor time that no case may take."""


def main(arguments: list[str]) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="fuzzing", description=__doc__)
    parser.add_argument("--cases", type=int, default=5_000, help="number of cases of each kind")
    parser.add_argument("--first", type=int, help="number of the first case (default: random)")
    parser.add_argument("--only", choices=INPUTS, action="append", help="kind of files; repeatable")
    parser.add_argument("--replay", metavar="KIND:CASE", help="generate, keep and read the file of one case")
    options = parser.parse_args(arguments)
    if options.replay:
        name, _, number = options.replay.partition(":")
        return _replay(INPUTS[name], int(number))
    first = random.SystemRandom().randrange(1 << 32) if options.first is None else options.first
    failed = 0
    for name in options.only or INPUTS:
        began = time.monotonic()
        found = run(INPUTS[name], first, options.cases)
        failed += len(found)
        seconds = time.monotonic() - began
        print(
            f"{name}: cases {first} to {first + options.cases - 1}, {len(found)} failed, {seconds:.0f} s",
            flush=True,
        )
    return 1 if failed else 0


def run(kind: Input, first: int, cases: int) -> list[str]:
    """Generate and read files; print and return the failed cases."""
    failed = []
    with tempfile.TemporaryDirectory(prefix="trtlint-fuzz-") as folder:
        path = Path(folder, kind.file)
        for case in range(first, first + cases):
            if error := attempt(kind, case, path):
                failed.append(f"{kind.name}:{case}")
                print(f"{failed[-1]}: {error}", flush=True)
    return failed


def attempt(kind: Input, case: int, path: Path) -> str:
    """Generate and read the file of one case; return the failure, empty if there is none."""
    path.write_bytes(made(kind, case))
    began = time.process_time()
    try:
        kind.check(path)
    except Exception as error:  # noqa: BLE001 - any exception is a failure of the case
        place = traceback.extract_tb(error.__traceback__)[-1]
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return f"{text[:300]} ({Path(place.filename).name}:{place.lineno})"
    seconds = time.process_time() - began
    return f"{seconds:.0f} s" if seconds > SLOW else ""


def _replay(kind: Input, case: int) -> int:
    folder = Path(tempfile.gettempdir(), "trtlint-replay")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path = folder / kind.file
    path.write_bytes(made(kind, case))
    print(path)
    kind.check(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
