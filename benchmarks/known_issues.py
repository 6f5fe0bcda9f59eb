"""Number of known TensorRT issues that a rule reports.

    python -m benchmarks.known_issues [--open]

The list is tests/data/known_issues.yaml: NVIDIA's documents and sources, and threads of users.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, get_args

import yaml

from benchmarks.measure import report

MAP = Path(__file__).resolve().parent.parent / "tests" / "data" / "known_issues.yaml"
GOAL = 190
"""Minimum number of issues that a rule reports."""

Verdict = Literal["covered", "partly", "open", "undecidable"]


def verdict(row: dict[str, Any]) -> Verdict:
    """Return the verdict of an entry on its issue."""
    if "rules" in row:
        return "partly" if "left" in row else "covered"
    return "open" if "open" in row else "undecidable"


def counts(rows: Iterable[dict[str, Any]]) -> Counter[Verdict]:
    """Count the issues by verdict."""
    return Counter(map(verdict, rows))


def main() -> bool:
    """Print the counts by source and, with ``--open``, the open issues; return whether the goal is met."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--open", action="store_true", help="list the issues that no rule reports fully")
    named = parser.parse_args().open
    sources: dict[str, list[dict[str, Any]]] = yaml.safe_load(MAP.read_text(encoding="utf-8"))
    total: Counter[Verdict] = Counter()
    for source, rows in sources.items():
        found = counts(rows)
        total += found
        print(f"{source:<6}" + "".join(f"{found[word]:5} {word}" for word in get_args(Verdict)))
        for row in rows if named else ():
            if why := row.get("left") or row.get("open"):
                print(f"    {verdict(row):<7} {row['id']}: {why}")
    print("in all" + "".join(f"{total[word]:5} {word}" for word in get_args(Verdict)))
    return report(
        "issues that no rule reports fully",
        total.total() - total["covered"],
        total.total() - GOAL,
    )


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
