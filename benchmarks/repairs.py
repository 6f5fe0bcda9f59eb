"""Findings that `trtlint fix` leaves, and the real builder's messages before and after.

The models are the exports of the shared data, if it exists. For each rule below, a table shows the places
before and after the fix, and the reasons for the remaining places. With ``trtlint[rtx]``, it also shows the
builder's warnings about normalizations, the fused attention, and whether all models that build still build
with equal outputs. At the end come generated models and small reproductions that the builder refuses and
that have a rewrite. With the environment variable ``EVERY=N``, only one of N models is built (default: 5).
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.fixes import SHARED, TARGET
from trtlint import Target, lint
from trtlint.cli import run
from trtlint.compare.comparison import Pair, compare
from trtlint.dry_build.drybuild import dry_build
from trtlint.dry_build.errors import DryBuildError, WheelError
from trtlint.dry_build.result import DryBuild

RULES = ("ACC101", "ACC102", "ACC103", "PERF103", "PERF104", "ACC107")
WEAK = ("--trt", "10.7", "--gpu", "L4", "--fp16", "--isolated")
"""The target for the rules: the release that the rules are about, with FP16."""
EVERY = int(os.environ.get("EVERY", "5"))
"""Sampling interval: the benchmark builds one of this many models."""


def fixed(model: Path, out: Path, *options: str) -> dict[str, Any]:
    """Return the JSON report of `trtlint fix` for a model. The fixed model, if any, is in ``out``."""
    out.unlink(missing_ok=True)
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        run(["fix", str(model), "-o", str(out), "--format", "json", *options])
    reports: list[dict[str, Any]] = json.loads(said.getvalue())["models"]
    return reports[0] if reports else {"applied": [], "refused": []}


def built(model: Path) -> DryBuild | None:
    """Build a model for SM 8.9; return None if the build fails."""
    try:
        return dry_build(model, sm=89)
    except DryBuildError:
        return None


def warnings(found: DryBuild) -> int:
    """Return 1 if the builder warned about a normalization in FP16, else 0."""
    log = found.record.log if found.record is not None else None
    return 0 if log is None else int(any(name in log.counts for name in ("norm_fp16", "norm_overflow")))


def fused(found: DryBuild) -> int:
    """Return the number of fused attention kernels."""
    layers = found.record.layers if found.record is not None else None
    return 0 if layers is None else sum("mha" in layer.name.lower() for layer in layers.layers)


def places(model: Path) -> Counter[str]:
    """Return the number of places at which each rule fires."""
    found: Counter[str] = Counter()
    for report in lint(model, Target(version="10.7", gpu="L4", asked=frozenset({"fp16"}))).models:
        for finding in report.findings:
            if finding.rule in RULES:
                found[finding.rule] += len(finding.sites)
    return found


def rules(exported: Path, folder: Path) -> bool:
    """Print the places before and after by rule, the reasons of refusals, and the builder's messages."""
    there: Counter[str] = Counter()
    after: Counter[str] = Counter()
    left: dict[str, Counter[str]] = defaultdict(Counter)
    seen: Counter[str] = Counter()
    changed: list[tuple[Path, frozenset[str]]] = []
    out = folder / "fixed.onnx"
    for model in sorted(exported.glob("*.onnx")):
        report = fixed(model, out, *WEAK, *[part for rule in RULES for part in ("--select", rule)])
        found = places(model)
        there.update(found)
        after.update(places(out) if out.exists() else found)
        for entry in report["refused"]:
            left[entry["rule"]][entry["reason"]] += 1
        seen.update(found.keys())
        if out.exists():
            changed.append((model, frozenset(found)))
    print(f"  {'rule':<10}{'models':>8}{'places':>10}{'after':>8}{'refused':>10}   why")
    for rule in RULES:
        why = "; ".join(f"{count} × {reason}" for reason, count in left[rule].most_common(3))
        counts = f"{seen[rule]:>8}{there[rule]:>10}{after[rule]:>8}{left[rule].total():>10}"
        print(f"  {rule:<10}{counts}   {why}")
    taken_back = sum(
        count
        for reasons in left.values()
        for reason, count in reasons.items()
        if "withdrawn because" in reason
    )
    print(f"  {taken_back} places whose rewrite was withdrawn: the finding stayed, or a new finding appeared")
    _said(changed[::EVERY], folder)
    return True


def _said(models: list[tuple[Path, frozenset[str]]], folder: Path) -> None:
    """Print the builder's messages before and after."""
    table: dict[str, Counter[str]] = defaultdict(Counter)
    out = folder / "fixed.onnx"
    for model, names in models:
        fixed(model, out, *WEAK, *[part for rule in RULES for part in ("--select", rule)])
        before, after = built(model), built(out) if out.exists() else None
        if before is None or after is None or not before.result.built:
            continue
        row = Counter(
            models=1,
            builds=int(after.result.built is True),
            warned=warnings(before),
            warns=warnings(after),
            fused=fused(before),
            fuses=fused(after),
        )
        for name in names:
            table[name].update(row)
    print(f"  of every {EVERY}th that builds:   models   build after   norm warnings   fused attention")
    for rule in RULES:
        row = table[rule]
        warned, fuses = f"{row['warned']} -> {row['warns']}", f"{row['fused']} -> {row['fuses']}"
        print(f"  {rule:<26}{row['models']:>10}{row['builds']:>14}{warned:>16}{fuses:>18}")


def unharmed(exported: Path, folder: Path) -> bool:
    """Return whether all rewrites for TensorRT-RTX leave models buildable, with equal outputs."""
    verdicts = [json.loads(line) for line in (exported / "verdicts-rtx-1.7.1.jsonl").read_text().splitlines()]
    good = [entry["model"] for entry in verdicts if entry["parse"] and entry["build"]]
    tally: Counter[str] = Counter()
    out = folder / "fixed.onnx"
    for name in good[::EVERY]:
        model = exported / f"{name}.onnx"
        fixed(model, out, *TARGET)
        if not out.exists():
            tally["unchanged"] += 1
            continue
        after = built(out)
        builds = after is not None and after.result.built is True
        equal = compare(Pair(model, out)).equal
        tally["rewritten"] += 1
        tally["build"] += builds
        tally["equal"] += equal is True
        tally["not comparable"] += equal is None
        if not builds or equal is False:
            tally["worse"] += 1
            print(f"  worse: {name}: builds {builds}, equal {equal}")
    print(f"  every {EVERY}th that builds: " + ", ".join(f"{count} {what}" for what, count in tally.items()))
    return not tally["worse"]


def refused(folder: Path) -> bool:
    """Return whether refused models that have a rewrite build after this rewrite."""
    table: dict[str, Counter[str]] = defaultdict(Counter)
    out = folder / "fixed.onnx"
    for model in _refused_models(folder):
        report = fixed(model, out, *TARGET)
        if not out.exists():
            continue
        after = built(out)
        row = Counter(models=1, builds=int(after is not None and after.result.built is True))
        equal = compare(Pair(model, out)).equal
        row |= Counter(equal=int(equal is True), differ=int(equal is False))
        for name in {entry["fix"] for entry in report["applied"]}:
            table[name].update(row)
        if row["differ"]:
            print(f"  differs: {model.name}")
    print(f"  {'rewrite':<28}{'models':>8}{'build after':>14}{'outputs equal':>16}{'differ':>9}")
    for name, row in sorted(table.items(), key=lambda item: -item[1]["models"]):
        print(f"  {name:<28}{row['models']:>8}{row['builds']:>14}{row['equal']:>16}{row['differ']:>9}")
    return not any(row["differ"] for row in table.values())


def _refused_models(folder: Path) -> Iterator[Path]:
    """Yield the probes that the builder refuses, and all reproductions."""
    probes, repro = SHARED / "data" / "probes", SHARED / "data" / "repro"
    lines = (probes / "verdicts-rtx-1.7.1.jsonl").read_text().splitlines()
    wanted = {f"{entry['model']}.onnx" for entry in map(json.loads, lines) if entry["build"] is not True}
    with zipfile.ZipFile(probes / "models.zip") as archive:
        for name in archive.namelist():
            if Path(name).name in wanted:
                path = folder / Path(name).name
                path.write_bytes(archive.read(name))
                yield path
                path.unlink()
    yield from sorted(repro.glob("*.onnx"))


def main() -> int:
    exported = SHARED / "data" / "exported"
    if not exported.is_dir():
        print("repairs: no exports at hand")
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            print("repairs: findings on the exports, before and after")
            met = rules(exported, folder)
            print("repairs: exports that build")
            met = unharmed(exported, folder) and met
            print("repairs: generated models and reproductions that the builder refuses")
            met = refused(folder) and met
        except WheelError as error:
            print(f"  not built: {error}")
            return 0
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
