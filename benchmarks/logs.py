"""How fast a long verbose log is read, beside a bare line loop and ``grep -c`` over the same bytes.

    python benchmarks/logs.py [LOG] [--megabytes 200] [--rounds 5]

LOG (plain or .gz) is repeated until the file is long enough; without it, the first log in examples/ is.
Prints the rate, the ratio to the loop and to grep, and the peak memory of a process that does nothing else.
Exits with 1 when the reader is slower than 150 MB/s or than a third of the loop, or needs 120 MB or more.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent

CHILD = """
import json, resource, sys, time
start = time.perf_counter()
from trtlint.build.log import read_log
log = read_log(sys.argv[1])
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = sum(log.counts.values())
print(json.dumps({"seconds": seconds, "kilobytes": peak, "lines": log.lines, "records": found}))
"""


def bare_loop(path: Path) -> float:
    """Seconds of the least that Python can do with every line."""
    start = time.perf_counter()
    with path.open("rb") as file:
        for _ in file:
            pass
    return time.perf_counter() - start


def grep(path: Path) -> float:
    """Seconds of counting the lines that name an error; NaN without grep."""
    tool = shutil.which("grep")
    if not tool:
        return float("nan")
    start = time.perf_counter()
    subprocess.run([tool, "-c", "Error Code", str(path)], stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - start


def reading(path: Path) -> dict[str, float]:
    """What a fresh process says of reading the log: seconds with imports, peak kilobytes, lines, records."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(path)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main() -> int:
    """Make the log, time everything in turns, print the best of each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("log", nargs="?", type=Path)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    source = options.log or next(iter(sorted(REPOSITORY.glob("examples/**/*.log*"))), None)
    if source is None:
        parser.error("no log given, and none in examples/")
    data = gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else source.read_bytes()
    from trtlint.build.log import read_log

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.log"
        with path.open("wb") as file:
            for _ in range(options.megabytes * 1_000_000 // len(data) + 1):
                file.write(data)
        size = path.stat().st_size / 1e6
        read_log(path)  # imports, and the file into the page cache
        loops, greps, reads = [], [], []
        for _ in range(options.rounds):
            loops.append(bare_loop(path))
            greps.append(grep(path))
            start = time.perf_counter()
            read_log(path)
            reads.append(time.perf_counter() - start)
        child = reading(path)
    loop, search, read = min(loops), min(greps), min(reads)
    peak = child["kilobytes"] / 1000
    print(
        f"{source.name} repeated to {size:.0f} MB, {child['lines']:.0f} lines, {child['records']:.0f} records"
    )
    print(f"bare line loop  {size / loop:6.0f} MB/s")
    print(f"grep -c         {size / search:6.0f} MB/s")
    print(
        f"read_log        {size / read:6.0f} MB/s   {read / loop:.2f} x the loop   {read / search:.2f} x grep"
    )
    print(f"a fresh process {size / child['seconds']:6.0f} MB/s with all imports, peak {peak:.0f} MB")
    return 0 if size / read >= 150 and read <= 3 * loop and peak < 120 else 1


if __name__ == "__main__":
    sys.exit(main())
