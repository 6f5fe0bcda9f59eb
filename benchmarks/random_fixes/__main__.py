"""Draw, fix, compare: ``python -m benchmarks.random_fixes --seeds 0 2000``.

The exit code is 1 if the outputs of a fixed model differ, although trtlint reports all rewrites as proven.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import onnx

from benchmarks.random_fixes.bounds import Bounds, bounds_of
from benchmarks.random_fixes.judging import Judgement, judge
from benchmarks.random_fixes.models import draw

TARGETS = (
    ("--trt", "10.7", "--gpu", "L4", "--fp16"),
    ("--trt", "11.4", "--gpu", "L4"),
    ("--rtx", "1.7", "--gpu", "L4"),
    ("--trt", "8.6", "--gpu", "T4", "--fp16"),
    ("--trt", "10.0", "--gpu", "A10"),
)
BATCH = 40
"""Number of models for one call of `trtlint fix`."""
_SECONDS = 1200
_JUDGED = 120


def _valid(model: onnx.ModelProto) -> bool:
    try:
        onnx.checker.check_model(model, full_check=False)
    except Exception:  # noqa: BLE001  (the checker raises several kinds)
        return False
    return True


def _judged(work: tuple[str, str, int, Bounds]) -> Judgement | str:
    try:
        return judge(Path(work[0]), Path(work[1]), work[2], work[3])
    except RuntimeError as error:
        return str(error)


def fixed(folder: Path, seeds: Iterable[int], options: Iterable[str]) -> Mapping[str, Any]:
    """Write and fix the models of some seeds; return the report of `trtlint fix`."""
    files = []
    for seed in seeds:
        model, places = draw(seed)
        if not _valid(model):
            continue
        file = folder / f"m{seed}.onnx"
        onnx.save(model, file)
        file.with_suffix(".txt").write_text(" ".join(places))
        files.append(file.name)
    command = [
        sys.executable,
        "-m",
        "trtlint",
        "fix",
        *options,
        "--isolated",
        "--format",
        "json",
        "--",
        *files,
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=_SECONDS, check=False)
    if done.returncode not in (0, 1, 3):
        raise SystemExit(f"exit code {done.returncode}: {done.stderr.decode()[-2000:]}")
    return dict(json.loads(done.stdout))


def main() -> int:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 2000), metavar=("FROM", "TO"))
    parser.add_argument("--keep", type=Path, help="folder for the models, instead of a temporary one")
    parser.add_argument("--no-verify", action="store_true", help="fix without proofs")
    asked = parser.parse_args()
    counts: Counter[str] = Counter()
    rewrites: Counter[str] = Counter()
    bad = 0
    with tempfile.TemporaryDirectory() as scratch, multiprocessing.Pool(1, maxtasksperchild=20) as pool:
        folder = asked.keep or Path(scratch)
        folder.mkdir(exist_ok=True)
        for start in range(asked.seeds[0], asked.seeds[1], BATCH):
            seeds = range(start, min(start + BATCH, asked.seeds[1]))
            options = [*TARGETS[start // BATCH % len(TARGETS)], *([] if asked.no_verify else ["--verify"])]
            report = fixed(folder, seeds, options)
            counts["errors"] += len(report["errors"])
            for error in report["errors"]:
                print("error:", json.dumps(error)[:300])
            for model in report["models"]:
                bad += _report(folder, model, options, counts, rewrites, pool)
            print(f"{seeds.stop}: {dict(counts)}", flush=True)
    print("rewrites:", dict(rewrites.most_common()))
    return 1 if bad else 0


def _report(
    folder: Path,
    model: Mapping[str, Any],
    options: list[str],
    counts: Counter[str],
    rewrites: Counter[str],
    pool: Any,
) -> int:
    """Judge one model of the report. Return 1 if the model is wrong although it is reported as proven."""
    counts["models"] += 1
    if not model["applied"]:
        return 0
    if not model.get("output") or not (folder / model["output"]).exists():
        counts["not written"] += 1
        return 0
    counts["fixed"] += 1
    applied = Counter(each["fix"] for each in model["applied"])
    rewrites.update(applied)
    proven = all((each.get("proof") or {}).get("equal") for each in model["applied"])
    counts["proven"] += proven
    path = folder / model["path"]
    seed = int(path.stem[1:])
    found = pool.apply_async(
        _judged, ((str(path), str(folder / model["output"]), seed, bounds_of(model["applied"])),)
    ).get(_JUDGED)
    if isinstance(found, str):
        counts["original does not load"] += 1
        return 0
    counts["compared"] += found.runs > 0
    counts["runs"] += found.runs
    counts["runs beyond bounds"] += len(found.excluded)
    counts["settled"] += bool(found.settled and not found.wrong)
    counts["undecided"] += bool(found.undecided and not found.wrong)
    if not found.wrong and not found.lost:
        return 0
    kind = "wrong" if found.wrong else "lost"
    counts[kind] += 1
    places = path.with_suffix(".txt").read_text()
    print(f"\n{kind}{' PROVEN' if proven else ''}: seed {seed} {' '.join(options)}: {places}")
    for each in model["applied"]:
        proof = each.get("proof") or {}
        print(f"   {each['rule']} {each['fix']} at {each['place']}: {proof.get('says')}")
    print("  ", *(found.wrong + found.lost)[:4], sep="\n   ")
    return int(proven and bool(found.wrong))


if __name__ == "__main__":
    sys.exit(main())
