"""Compare refusals with the verdicts of the parsers of TensorRT 8.6 and 10.0 to 10.10.

    python -m benchmarks.release_verdicts [--verdicts DIR] [--misses 8.6 10.0]

The verdicts are files ``tensorrt-<release>.jsonl`` with one model a line: ``taken`` or ``refused``. The
verdicts ``network``, ``plugin`` and ``crash`` are not about the parser, and are ignored. The models are
ONNX's backend tests, exported models and probes.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.parser_verdicts import SHARED, write_models
from trtlint.case import Case
from trtlint.engine.rule import Rule
from trtlint.engine.rulebook import builtin_rules, load_rules
from trtlint.engine.ruleset import RuleSet
from trtlint.target.target import Target

RELEASES = ("8.6", *(f"10.{minor}" for minor in range(11)))
GOALS = {"8.6": (0.98, 0.97)}
"""Minimum precision and recall by release. The goals for all remaining releases are 0.99 and 0.99."""
GPU = 89


@dataclass(frozen=True)
class Answer:
    """Predicted parser refusals of one model for one release, as (rule, message)."""

    refusals: tuple[tuple[str, str], ...]


@cache
def _rules() -> tuple[Rule, ...]:
    return tuple(rule for rule in load_rules([builtin_rules()]) if rule.id.startswith("BLD"))


def answers(path: Path) -> list[Answer]:
    """Return the parse refusals of a model, by release."""
    targets = [Target(product="tensorrt", version=release, sm=GPU) for release in RELEASES]
    return [
        Answer(
            tuple(
                (finding.rule, finding.message)
                for finding in report.findings
                if finding.refusal is not None and finding.refusal.stage == "parse"
            )
        )
        for report in Case(path, tuple(targets), RuleSet.of(_rules())).evaluated()
    ]


def verdicts(folder: Path) -> dict[str, dict[str, dict[str, str]]]:
    """Return the verdict lines by release and model."""
    found = {}
    for release in RELEASES:
        lines = (folder / f"tensorrt-{release}.jsonl").read_text(encoding="utf-8").splitlines()
        found[release] = {row["model"]: row for row in map(json.loads, lines)}
    return found


def models(names: Iterable[str], scratch: Path) -> dict[str, Path]:
    """Return the available model files; backend tests and probes are written once."""
    backend, probes = scratch / "trtlint-backend-models", scratch / "trtlint-probes"
    write_models(backend)
    archive = SHARED / "data" / "probes" / "models.zip"
    if archive.exists() and not probes.exists():
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(probes)
    of_probe = {path.stem: path for path in probes.rglob("*.onnx")}
    found = {}
    for name in names:
        kind, _, rest = name.partition("/")
        path = {
            "backend": backend / f"{rest}.onnx",
            "exported": SHARED / "data" / "exported" / f"{rest}.onnx",
            "probes": of_probe.get(rest, probes / "none"),
        }[kind]
        if path.exists():
            found[name] = path
    return found


def table(
    truth: Mapping[str, Mapping[str, Mapping[str, str]]],
    said: Mapping[str, Sequence[Answer]],
    shown: Iterable[str],
) -> bool:
    """Print precision and recall by release, and some misses; return whether the goals are met."""
    met = True
    print("  release  precision  recall   both refused   only trtlint refuses   only parser refuses")
    for index, release in enumerate(RELEASES):
        counts: Counter[tuple[str, bool]] = Counter()
        missed: defaultdict[str, list[str]] = defaultdict(list)
        for name, row in truth[release].items():
            if row["verdict"] not in ("taken", "refused") or name not in said:
                continue
            refusals = said[name][index].refusals
            counts[row["verdict"], bool(refusals)] += 1
            if row["verdict"] == "refused" and not refusals:
                missed[f"missed: {row.get('op', '')}: {row.get('message', '')[:100]}"].append(name)
            if row["verdict"] == "taken" and refusals:
                missed[f"false: {refusals[0][0]}: {refusals[0][1][:100]}"].append(name)
        right, false, lost = counts["refused", True], counts["taken", True], counts["refused", False]
        precision = right / (right + false) if right + false else 1.0
        recall = right / (right + lost) if right + lost else 1.0
        print(f"  {release:>7}  {precision:9.4f}  {recall:6.4f}  {right:13d}  {false:21d}  {lost:20d}")
        least = GOALS.get(release, (0.99, 0.99))
        met &= precision >= least[0] and recall >= least[1]
        if release in shown:
            for text, names in sorted(missed.items(), key=lambda each: -len(each[1])):
                print(f"      {len(names):3d} {text}  ({', '.join(names[:3])})")
    return met


def main(arguments: Iterable[str] = ()) -> bool:
    """Print the table; return whether the goals are met. Without data, return true."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--verdicts", type=Path, default=SHARED / "data" / "parser-releases")
    parser.add_argument(
        "--misses", nargs="*", default=(), metavar="RELEASE", help="also print wrong predictions"
    )
    options = parser.parse_args(list(arguments))
    print("parser verdicts by release of TensorRT, on models that the conditions were tuned on")
    if not (options.verdicts / "tensorrt-10.7.jsonl").exists():
        print(f"  no verdicts in {options.verdicts}: left out")
        return True
    truth = verdicts(options.verdicts)
    paths = models(sorted({name for rows in truth.values() for name in rows}), Path(tempfile.gettempdir()))
    print(f"  {len(paths)} models")
    with ProcessPoolExecutor() as pool:
        said = dict(zip(paths, pool.map(answers, paths.values(), chunksize=20), strict=True))
    met = table(truth, said, options.misses)
    print(f"goals: 0.99 and 0.99, 8.6: 0.98 and 0.97: {'met' if met else 'MISSED'}")
    return met


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1:]) else 1)
