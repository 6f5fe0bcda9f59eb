"""Find the evidence for the range of releases of each refusal condition.

    python -m benchmarks.release_basis [--verdicts DIR] [--write]

The verdicts are those of :mod:`benchmarks.release_verdicts`. A range is ``measured`` if the verdicts confirm
its two ends:

* The first and the last measured release of the range refuse models for which only this condition gives a
  reason. More of these models are refused by the parser than by the network definition.
* The measured releases just outside of the range accept models for which the condition is true, or refuse
  these models because of a different condition on the same operator.

Releases without measurements (9.x, 10.11 and newer) do not count: if the range ends at such a release, the
nearest measured releases decide. A range without measured releases, or without confirmation, gets its
value from the source of the condition: ``source`` for the code of a parser, otherwise ``documented``.

``--write`` writes the results to ``trtlint/knowledge/conditions.yaml``; the default is to print the
differences.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from benchmarks.parser_verdicts import SHARED
from benchmarks.release_verdicts import RELEASES, models, verdicts
from trtlint.facts.blocks.conditions import PATH, entries
from trtlint.facts.blocks.reasons import Known
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.mixed_types import MixedTypes
from trtlint.facts.of_model.rejection import rejections
from trtlint.knowledge.parsers import lines_of
from trtlint.knowledge.releases import Product
from trtlint.knowledge.tables import written
from trtlint.model.errors import ModelError
from trtlint.model.load import load

_CODE = re.compile(r"^https://github\.com/onnx/onnx-tensorrt/blob/[0-9a-f]+/\w+\.(?:cpp|hpp)$")
_KNOWN = re.compile(r"^  known: .*\n", re.MULTILINE)
_SOURCE = re.compile(r"^  source: .*\n", re.MULTILINE)


@dataclass(frozen=True)
class Held:
    """A condition that is true for a model, or another reason for a refusal.

    Attributes:
        line: line of the condition in the table; None for another reason.
        op: the refused operator; empty for an input or a stored tensor.
        releases: the measured releases that refuse the model for this reason.
    """

    line: int | None
    op: str
    releases: frozenset[str]


@cache
def _lines() -> Mapping[int, int]:
    return {id(entry.condition): entry.line for entry in entries()}


def _measured(versions: Mapping[Product, str] | None) -> frozenset[str]:
    if versions is None:
        return frozenset(RELEASES)
    return lines_of("tensorrt", versions.get("tensorrt", "<0")) & frozenset(RELEASES)


def reasons(path: Path) -> list[Held]:
    """Return the reasons why parsers of any release refuse a model."""
    try:
        facts = Facts(load(path))
    except ModelError:
        return []
    found = [
        Held(
            None if condition is None else _lines()[id(condition)],
            rejection.op,
            _measured(rejection.versions),
        )
        for condition, rejection in rejections(facts)
        if rejection.stage == "parse"
    ]
    found.extend(
        Held(None, mixed.op, _measured(mixed.applies))
        for mixed in facts.of("mixed_types")
        if isinstance(mixed, MixedTypes) and mixed.refusal is not None and mixed.refusal.stage == "parse"
    )
    return found


@dataclass
class Support:
    """Models that confirm the range of one condition, counted by release.

    Attributes:
        refused: models that the parser refuses, and for which only this condition gives a reason.
            Models that the network definition refuses are subtracted.
        others: accepted models for which the condition is true, and models refused because of a different
            condition on the same operator.
    """

    refused: Counter[str]
    others: Counter[str]


def supports(
    truth: Mapping[str, Mapping[str, Mapping[str, str]]], held: Mapping[str, Iterable[Held]]
) -> Mapping[int, Support]:
    """Return the support of each condition, by its line."""
    found: defaultdict[int, Support] = defaultdict(lambda: Support(Counter(), Counter()))
    for release, rows in truth.items():
        for name, row in rows.items():
            every = tuple(held.get(name, ()))
            active = [reason for reason in every if release in reason.releases]
            lines, ops = {reason.line for reason in active}, {reason.op for reason in active}
            for reason in every:
                if reason.line is None or row["verdict"] not in ("taken", "refused", "network"):
                    continue
                alone = lines == {reason.line} and (not row.get("op") or row["op"] in ops or "" in ops)
                if row["verdict"] == "refused" and alone:
                    found[reason.line].refused[release] += 1
                elif row["verdict"] == "network" and alone:
                    found[reason.line].refused[release] -= 1
                elif row["verdict"] == "taken" or (
                    row["verdict"] == "refused" and reason.line not in lines and reason.op in ops
                ):
                    found[reason.line].others[release] += 1
    return found


def is_measured(releases: frozenset[str], support: Support) -> bool:
    """Return whether verdicts confirm a range.

    Args:
        releases: the measured releases in the range.
        support: the models for which the condition is true.
    """
    inside = [release for release in RELEASES if release in releases]
    if not inside:
        return False
    edges, outside = {inside[0], inside[-1]}, set()
    for one, next_ in pairwise(RELEASES):
        if (one in releases) != (next_ in releases):
            edges.add(one if one in releases else next_)
            outside.add(next_ if one in releases else one)
    return all(support.refused[edge] > 0 for edge in edges) and all(support.others[edge] for edge in outside)


def bases(
    held: Mapping[str, Iterable[Held]], truth: Mapping[str, Mapping[str, Mapping[str, str]]]
) -> dict[int, Known]:
    """Return the evidence for the range of each condition, by line."""
    found = supports(truth, held)
    result: dict[int, Known] = {}
    for entry in entries():
        condition = entry.condition
        support = found.get(entry.line, Support(Counter(), Counter()))
        if condition.stage == "parse" and is_measured(_measured(condition.applies), support):
            result[entry.line] = "measured"
        else:
            result[entry.line] = "source" if _CODE.match(condition.source) else "documented"
    return result


def annotated(text: str, known: Mapping[int, Known]) -> str:
    """Return the table with the evidence of each range after its source."""
    for entry in reversed(written("conditions")):
        block = _KNOWN.sub("", entry.text)
        source = _SOURCE.search(block)
        assert source is not None
        block = f"{block[: source.end()]}  known: {known[entry.line]}\n{block[source.end() :]}"
        start = sum(map(len, text.splitlines(keepends=True)[: entry.line - 1]))
        text = text[:start] + block + text[start + len(entry.text) :]
    return text


def main(arguments: Iterable[str] = ()) -> bool:
    """Print or write the changes; return whether the table agrees with the verdicts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--verdicts", type=Path, default=SHARED / "data" / "parser-releases")
    parser.add_argument("--write", action="store_true", help="write the results into the table")
    options = parser.parse_args(list(arguments))
    if not (options.verdicts / "tensorrt-10.7.jsonl").exists():
        print(f"  no verdicts in {options.verdicts}: left out")
        return True
    truth = verdicts(options.verdicts)
    paths = models(sorted({name for rows in truth.values() for name in rows}), Path(tempfile.gettempdir()))
    with ProcessPoolExecutor() as pool:
        held = dict(zip(paths, pool.map(reasons, paths.values(), chunksize=20), strict=True))
    found = bases(held, truth)
    print(
        "ranges of conditions:",
        ", ".join(f"{n} {known}" for known, n in Counter(found.values()).most_common()),
    )
    differing = [entry for entry in entries() if entry.condition.known != found[entry.line]]
    for entry in differing:
        print(f"  line {entry.line}: {entry.ops}: {entry.condition.known}, and is {found[entry.line]}")
    if options.write:
        PATH.write_text(annotated(PATH.read_text(encoding="utf-8"), found), encoding="utf-8")
    return options.write or not differing


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1:]) else 1)
