"""Table of the verdicts on mutants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

STATUSES = ("killed", "timeout", "survived", "equivalent")


def table(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table by folder. Equivalent mutants have a column of their own."""
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        for room in (row["room"], "all"):
            counts.setdefault(room, Counter())[row["status"]] += 1
    yield f"{'room':<14}{'mutants':>8}" + "".join(f"{name:>11}" for name in STATUSES) + f"{'share':>8}"
    for room in sorted(counts, key=lambda name: (name == "all", name)):
        count = counts[room]
        real = count.total() - count["equivalent"]
        share = f"{count['survived'] / real:.0%}" if real else "-"
        yield f"{room:<14}{real:>8}" + "".join(f"{count[name]:>11}" for name in STATUSES) + f"{share:>8}"
