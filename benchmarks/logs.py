"""Speed of reading a long verbose log, compared with a plain line loop and ``grep -c`` on the same bytes.

    python -m benchmarks.logs [LOG] [--megabytes 200] [--rounds 5]

The benchmark repeats LOG (plain or .gz) until the file is long enough. The default is a verbose log of
trtexec in the shared data, if it exists.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from benchmarks.measure import report

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("TRTLINT_SHARED", REPOSITORY.parent / "shared"))
TRTEXEC = SHARED / "data" / "logs" / "cookbook-trt10.16.1-mnist-trtexec-fp16-verbose.log"
EXAMPLE = REPOSITORY / "examples" / "nafnet.build.log.gz"

CHILD = """
import json, resource, sys, time
start = time.perf_counter()
from trtlint.buildfiles.log import read_log
log = read_log(sys.argv[1])
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = sum(log.counts.values())
print(json.dumps({"seconds": seconds, "kilobytes": peak, "lines": log.lines, "records": found}))
"""


def bare_loop(path: Path) -> float:
    """Return the seconds of the shortest possible loop over all lines in Python."""
    start = time.perf_counter()
    with path.open("rb") as file:
        for _ in file:
            pass
    return time.perf_counter() - start


def grep(path: Path) -> float:
    """Return the seconds that grep needs to count the lines with an error; NaN without grep."""
    tool = shutil.which("grep")
    if not tool:
        return float("nan")
    start = time.perf_counter()
    subprocess.run([tool, "-c", "Error Code", str(path)], stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - start


def reading(path: Path) -> dict[str, float]:
    """Read the log in a fresh process; return the seconds with imports, peak kilobytes, lines and records."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(path)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main(arguments: Iterable[str] = ()) -> bool:
    """Time the given log or the default logs; return whether the goals are met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("log", nargs="?", type=Path)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(list(arguments))
    if options.log is not None or TRTEXEC.is_file():
        return measure(options.log or TRTEXEC, options.megabytes, options.rounds)
    print(f"logs: {TRTEXEC.name} is not here; {EXAMPLE.name} has shorter lines, and no goal is set for it")
    measure(EXAMPLE, options.megabytes, options.rounds)
    return True


def measure(source: Path, megabytes: int, rounds: int) -> bool:
    """Write the long log, time all readers in turn, and print the best time of each."""
    data = gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else source.read_bytes()
    from trtlint.buildfiles.log import read_log

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.log"
        with path.open("wb") as file:
            for _ in range(megabytes * 1_000_000 // len(data) + 1):
                file.write(data)
        size = path.stat().st_size / 1e6
        read_log(path)  # imports, and the file into the page cache
        loops, greps, reads = [], [], []
        for _ in range(rounds):
            loops.append(bare_loop(path))
            greps.append(grep(path))
            start = time.perf_counter()
            read_log(path)
            reads.append(time.perf_counter() - start)
        child = reading(path)
    loop, search, read = min(loops), min(greps), min(reads)
    print(
        f"{source.name} repeated to {size:.0f} MB: {child['lines']:.0f} lines, {child['records']:.0f} records"
    )
    print(f"  {size / read:.0f} MB/s, {read / search:.2f} times grep -c; a bare loop: {size / loop:.0f} MB/s")
    return all(
        [
            report("150 MB/s / rate of reading the log", 150 * read / size, 1),
            report("time of reading the log / time of a bare line loop", read / loop, 3),
            report("peak memory of a process that reads the log", child["kilobytes"] / 1000, 120, " MB"),
        ]
    )


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1:]) else 1)
