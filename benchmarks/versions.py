"""Time of a check for all known releases, compared with a check for one release.

python -m benchmarks.versions
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import onnx

from benchmarks.measure import report
from benchmarks.scaling import transformer
from trtlint import Target, lint
from trtlint.knowledge.releases import PRODUCTS, minors

NODES = 10_000
ROUNDS = 3
GOAL = 2.0


def every_release() -> list[Target]:
    """Return a target for each release line of each product."""
    return [Target(product=product, version=line) for product in PRODUCTS for line in minors(product)]


def seconds(path: Path, targets: Sequence[Target]) -> float:
    """Return the time of one check."""
    start = time.perf_counter()
    lint(path, target=targets)
    return time.perf_counter() - start


def main() -> bool:
    """Print both times and their ratio; return whether the ratio meets the goal."""
    targets = every_release()
    one = [Target(version="10.7")]
    print(f"a graph of {NODES:,} nodes against {len(targets)} releases")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(transformer(NODES), path)
        seconds(path, one)  # rules and tables are loaded once
        # In turn, so that the load of the machine affects both measurements equally.
        times = [(seconds(path, one), seconds(path, targets)) for _ in range(ROUNDS)]
    single, every = (min(column) for column in zip(*times, strict=True))
    print(f"  one release {single:.2f} s, all {every:.2f} s")
    return report("seconds for all / seconds for one", every / single, GOAL)


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
