"""Run every benchmark; the exit code says whether each met its goals."""

from __future__ import annotations

import sys

from benchmarks import reading, scaling, startup

if __name__ == "__main__":
    results = [benchmark.main() for benchmark in (startup, scaling, reading)]
    sys.exit(0 if all(results) else 1)
