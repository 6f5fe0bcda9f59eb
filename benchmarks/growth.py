"""Cost of a lint, compared with another checkout of trtlint: a small model, and a graph of 10,000 nodes.

    python -m benchmarks.growth --against DIR

DIR is the other checkout, for example from `git worktree add DIR v0.1.0`. Both checkouts run in turn with
this Python, so that the load of the machine affects both. The goal limits the cost of new rules.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx

from benchmarks.measure import ENVIRONMENT, report
from benchmarks.scaling import transformer

REPOSITORY = Path(__file__).resolve().parent.parent
ROUNDS = 9
GOAL = 1.15
NODES = {"a small model": 100, "10,000 nodes": 10_000}


def seconds(checkout: Path, model: Path) -> float:
    """Return the processor time of one lint by the trtlint of a checkout.

    Raises:
        subprocess.CalledProcessError: the lint failed. Findings are not a failure.
    """
    command = [sys.executable, "-m", "trtlint", "--no-cache", "--isolated", "--exit-zero", "--quiet"]
    command += ["--trt", "10.8", "--gpu", "L4", str(model)]
    before = os.times()
    subprocess.run(command, cwd=checkout, env=ENVIRONMENT, stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    user, system = after.children_user - before.children_user, after.children_system - before.children_system
    return user + system


def main() -> bool:
    """Print the times and their ratios; return whether they meet the goal."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--against", type=Path, required=True, metavar="DIR", help="the other checkout")
    other = parser.parse_args().against
    met = True
    with tempfile.TemporaryDirectory() as folder:
        for name, nodes in NODES.items():
            path = Path(folder) / f"{nodes}.onnx"
            onnx.save(transformer(nodes), path)
            pairs = [(seconds(REPOSITORY, path), seconds(other, path)) for _ in range(ROUNDS)]
            own, others = (min(column) for column in zip(*pairs, strict=True))
            print(f"{name}: {own:.2f} s here, {others:.2f} s in {other}")
            met = report(f"seconds here / seconds there, {name}", own / others, GOAL) and met
    return met


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
