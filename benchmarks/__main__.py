"""Run every benchmark; the exit code says whether each met its goals."""

from __future__ import annotations

import sys

from benchmarks import fleet, logs, parser_verdicts, reading, scaling, startup, versions

if __name__ == "__main__":
    benchmarks = (startup, scaling, versions, reading, logs, fleet, parser_verdicts)
    results = [benchmark.main() for benchmark in benchmarks]
    sys.exit(0 if all(results) else 1)
