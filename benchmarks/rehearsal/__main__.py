"""Compare ``trtlint measure`` with an independent arithmetic: errors, verdict, and sets to keep.

``python -m benchmarks.rehearsal [FOLDER [LINES.jsonl [PART/PARTS]]]`` uses one FP32 export of each family of
the shared data, with random inputs times 1, 30 and 1000. :mod:`benchmarks.rehearsal.judge` computes each
model in the three rounding schemes. It shares no code with ``trtlint.measurement``, which only makes the
inputs.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from msgspec import to_builtins

from benchmarks.measure import report
from benchmarks.rehearsal.judge import EVERY, WAYS, Judge, without_functions
from trtlint.errors import TrtlintError
from trtlint.measurement.feeds import random_feeds
from trtlint.measurement.inputs import Inputs
from trtlint.measurement.measure import MeasurementRequest
from trtlint.measurement.measuring import measured
from trtlint.model.load import load

SHARED = Path(os.environ.get("TRTLINT_SHARED", Path(__file__).resolve().parents[3] / "shared"))
SCALES = (1.0, 30.0, 1000.0)
BOUND = 0.01
_ATTEMPTS = 12
_MOST_TRIED = 64
"""Largest set from which each node is removed in turn. A larger set counts as not minimal."""
_LARGEST = 4 << 20
"""Maximum size of a model in bytes. For larger models, the reference evaluator takes too long."""


def models(folder: Path) -> Iterator[Path]:
    """Yield one FP32 export of each family."""
    families: dict[str, Path] = {}
    for file in sorted(folder.glob("*fp32.onnx")):
        families.setdefault(file.name.partition("__")[0], file)
    yield from (file for file in families.values() if file.stat().st_size <= _LARGEST)


def verdict(errors: list[float | None]) -> str:
    """Return ``fine``, ``broken`` or ``depends``."""
    good = [error is not None and error <= BOUND for error in errors]
    return "fine" if all(good) else "depends" if any(good) else "broken"


def cases(file: Path, folder: Path) -> Iterator[dict[str, Any]]:
    """Yield both results for a model at each scale."""
    model = without_functions(onnx.load(file))
    for attempt in range(_ATTEMPTS):
        made = random_feeds(load(file).graph.inputs, 1, attempt)
        if made is None:
            return
        try:
            Judge(model, made[0])
            break
        except Exception:  # noqa: BLE001 - these shapes do not fit
            continue
    else:
        return
    for scale in SCALES:
        feeds = {
            name: (array * scale).astype(array.dtype) if array.dtype.kind == "f" else array
            for name, array in made[0].items()
        }
        np.savez(folder / "feeds.npz", **feeds)  # type: ignore[arg-type]
        yield case(file, model, feeds, folder / "feeds.npz", scale)


def case(file: Path, model: onnx.ModelProto, feeds: Any, archive: Path, scale: float) -> dict[str, Any]:
    """Return both results for a model on some inputs."""
    found: dict[str, Any] = {"model": file.name, "scale": scale}
    judge = Judge(model, feeds)
    if not judge.judged:
        return {**found, "skipped": "not finite in FP32"}
    begun = time.process_time()
    try:
        request = MeasurementRequest(str(file), file.name, Inputs((str(archive),)), type="all", bound=BOUND)
        mine = measured(request, lambda _: None)
    except TrtlintError as error:
        return {**found, "skipped": str(error)[:200]}
    found["seconds"] = time.process_time() - begun
    other = {way: judge.error(way) for way in WAYS}
    kept = mine.kept
    found |= {
        "mine": to_builtins(mine.error),
        "other": other,
        "verdicts": [mine.verdict, verdict([*other.values()])],
        "tf32": [
            next(each.error.rounded for each in mine.types if each.type == "tf32"),
            judge.error("tf32"),
        ],
    }
    if kept is not None:
        keep = frozenset(kept.nodes)
        # A stored tensor is not an operator: the operators that read the tensor decide its rounding.
        constants = {site.node for site in mine.sites if site.constant}
        after = {way: judge.error(way, keep) for way in WAYS}
        found["kept"] = {
            "nodes": kept.nodes,
            "margin": kept.margin,
            "runs": kept.runs,
            "verified": kept.verified,
            "complete": kept.complete,
            "error": kept.error,
            "other": after,
            "without": [
                [
                    node,
                    max((e if (e := judge.error(way, keep - {node})) is not None else 9e9) for way in EVERY),
                ]
                for node in kept.nodes
                if node not in constants
            ]
            if len(keep) <= _MOST_TRIED
            else None,
        }
    return found


def main(folder: Path, out: Path | None, part: tuple[int, int] = (0, 1)) -> bool:
    results = []
    with tempfile.TemporaryDirectory() as scratch:
        for index, file in enumerate(models(folder)):
            if index % part[1] != part[0]:
                continue
            for each in cases(file, Path(scratch)):
                results.append(each)
                if out is not None:
                    with out.open("a", encoding="utf-8") as lines:
                        lines.write(json.dumps(each) + "\n")
    return summary(results)


def summary(results: list[dict[str, Any]]) -> bool:
    """Print the figures; return whether the goals are met."""
    told = [each for each in results if "verdicts" in each]
    print(f"rehearsal: {len(told)} cases of {len({each['model'] for each in told})} models")
    for reason, count in Counter(each["skipped"] for each in results if "skipped" in each).items():
        print(f"  skipped {count}: {reason}")
    print("  verdicts (trtlint, other):", dict(Counter(tuple(each["verdicts"]) for each in told)))
    for each in told:
        if len(set(each["verdicts"])) > 1:
            print("   ", each["model"], each["scale"], each["verdicts"], each["mine"], each["other"])
    for way in WAYS:
        ratios = sorted(
            mine / other
            for each in told
            if (mine := each["mine"][way]) and (other := each["other"][way]) and max(mine, other) > 4e-4
        )
        if ratios:
            quantiles = [ratios[int(share * (len(ratios) - 1))] for share in (0.05, 0.25, 0.5, 0.75, 0.95)]
            near = sum(0.5 <= ratio <= 2 for ratio in ratios) / len(ratios)
            print(f"  {way}: trtlint / other", [f"{each:.2f}" for each in quantiles], f"within 2x {near:.1%}")
    kept = [each["kept"] for each in told if "kept" in each]
    good = [
        each for each in kept if all(error is not None and error <= BOUND for error in each["other"].values())
    ]
    untried = [each for each in kept if each["without"] is None]
    spare = [
        each
        for each in kept
        if each not in untried
        and any(error <= BOUND and node not in each["margin"] for node, error in each["without"])
    ]
    marked = [each for each in kept if each["margin"] and each not in spare]
    sizes, runs = sorted(len(each["nodes"]) for each in kept), sorted(each["runs"] for each in kept)
    if kept:
        print(f"  sets to keep: {len(kept)}, verified {sum(e['verified'] for e in kept)}, good {len(good)}")
        print(
            f"    sizes: median {sizes[len(sizes) // 2]}, most {sizes[-1]}; runs: median "
            f"{runs[len(runs) // 2]}, most {runs[-1]}; not complete {sum(not e['complete'] for e in kept)}"
        )
        print(
            f"    sets with an unneeded node: {len(spare)}; other sets with a margin: {len(marked)};"
            f" not tried, with more than {_MOST_TRIED} nodes: {len(untried)}"
        )
    pairs = [each["tf32"] for each in told]
    wrong = sum(len({error is not None and error <= BOUND for error in pair}) > 1 for pair in pairs)
    broken = sum(error is None or error > BOUND for _, error in pairs)
    print(f"  TF32: verdicts that differ: {wrong} of {len(pairs)}; broken {broken}")
    agreed = sum(len(set(each["verdicts"])) == 1 for each in told) / max(1, len(told))
    return all(
        [
            report("verdicts that differ, %", 100 * (1 - agreed), 2.0),
            report("sets that do not repair the model, %", 100 * (1 - len(good) / max(1, len(kept))), 2.0),
            report("sets that are not minimal, %", 100 * len(spare + untried) / max(1, len(kept)), 5.0),
            report("TF32 verdicts that differ, %", 100 * wrong / max(1, len(told)), 2.0),
            report("runs of a search", max(runs, default=0), 20),
        ]
    )


if __name__ == "__main__":
    given = [Path(argument) for argument in sys.argv[1:3]]
    parts = tuple(map(int, sys.argv[3].split("/"))) if len(sys.argv) > 3 else (0, 1)
    folder = given[0] if given else SHARED / "data" / "exported"
    sys.exit(0 if main(folder, given[1] if len(given) > 1 else None, (parts[0], parts[1])) else 1)
