"""Quality of conversions from FP32 to FP16, compared with other converters in the same run.

    python -m benchmarks.convert [--models DIR] [--limit N] [--build] [--others] [--json FILE]

The models are one export of each family, the public models of the shared data, and encoders whose attention
TensorRT-RTX fuses. Each conversion measures one batch of random inputs of scale 1 and one of scale 1000. A
conversion passes if ONNX's checker and NVIDIA's parser accept the result, and if its error is at most 1e-2 on
other inputs of both scales. A rehearsal in half precision computes this error.

``--build`` also builds the source and the result with TensorRT-RTX. ``--others`` also runs the converters of
onnxconverter-common, ONNX Runtime and Model-Optimizer (with and without the measured inputs), if the Python
of ``TRTLINT_CONVERTERS_PYTHON`` has these packages.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from msgspec.structs import asdict

from benchmarks import attention

SHARED = Path(os.environ.get("TRTLINT_SHARED", Path(__file__).resolve().parents[2] / "shared"))
OTHERS = ("autocast", "autocast-calibrated", "onnxconverter", "onnxruntime")
TOLERANCE = 1e-2
SCALES = (1.0, 1000.0)
_EXPORTS = 60
_SECONDS = 400

_OTHER = """
import sys
kind, source, out, inputs = sys.argv[1:]
import onnx
if kind.startswith("autocast"):
    from modelopt.onnx.autocast import convert_to_mixed_precision
    data = inputs if kind == "autocast-calibrated" else None
    found = convert_to_mixed_precision(
        source, low_precision_type="fp16", keep_io_types=True, calibration_data=data
    )
    onnx.save(found, out)
elif kind == "onnxconverter":
    from onnxconverter_common import float16
    onnx.save(float16.convert_float_to_float16(onnx.load(source), keep_io_types=True), out)
else:
    from onnxruntime.transformers.float16 import convert_float_to_float16
    onnx.save(convert_float_to_float16(onnx.load(source), keep_io_types=True), out)
"""


def models(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield one FP32 export of each family, the public models, and encoders with random weights."""
    seen: set[str] = set()
    files = sorted((folder / "exported").glob("*fp32.onnx"))
    families = sorted({file.name.split("__")[0] for file in files})
    step = max(1, len(families) / _EXPORTS)
    chosen = {families[int(index * step)] for index in range(min(_EXPORTS, len(families)))}
    for file in reversed(files):
        family = file.name.split("__")[0]
        if family in chosen and family not in seen:
            seen.add(family)
            yield file.stem, file.read_bytes()
    for file in sorted((folder / "public").glob("*.onnx.gz")):
        yield f"p_{file.name.removesuffix('.onnx.gz')}", gzip.decompress(file.read_bytes())
    yield from attention.models()


def one(name: str, source: Path, tool: str, folder: Path, *, build: bool) -> dict[str, Any]:
    """Convert one model and judge the result."""
    from trtlint.measurement.trialmodel import load_trial_model

    found: dict[str, Any] = {"model": name, "tool": tool}
    trial = _trial(load_trial_model(source))
    inputs = []
    (folder / "inputs").mkdir(exist_ok=True)
    if trial is not None:
        for index, scale in enumerate(SCALES):
            inputs.append(str(folder / "inputs" / f"{index}.npz"))
            np.savez(inputs[-1], **_scaled(trial[0], scale))
    out = folder / f"{tool}.onnx"
    began = time.monotonic()
    if tool == "trtlint":
        found.update(_ours(source, out, inputs, build=build))
    else:
        python = os.environ.get("TRTLINT_CONVERTERS_PYTHON", sys.executable)
        order = [python, "-c", _OTHER, tool, str(source), str(out), str(folder / "inputs")]
        ended = subprocess.run(order, capture_output=True, text=True, check=False)
        found["converts"] = out.exists() and ended.returncode == 0
        if not found["converts"]:
            found["why"] = (ended.stderr.strip().splitlines() or [""])[-1][-200:]
    found["seconds"] = round(time.monotonic() - began, 2)
    if out.exists():
        found.update(_judged(source, out, trial, build=build))
    return found


def _ours(source: Path, out: Path, inputs: Sequence[str], *, build: bool) -> dict[str, Any]:
    from trtlint.conversion.run import run
    from trtlint.conversion.session import ConversionRequest, ConversionSession
    from trtlint.errors import TrtlintError
    from trtlint.measurement.inputs import Inputs

    try:
        found, draft = run(ConversionRequest(source, inputs=Inputs(tuple(inputs))), None)
        if found.unchanged:
            return {"converts": True, "unchanged": found.unchanged}
        draft.write(out)
        if build:
            whole = ConversionSession(ConversionRequest(source, measure=False)).draft(kept=False)
            whole.write(out.with_name("narrow.onnx"))
    except (TrtlintError, OSError) as error:
        return {"converts": False, "why": f"{type(error).__name__}: {error}"}
    return {
        "converts": True,
        "verdict": found.verdict,
        "failed": [f"{proof.name}: {proof.text}" for proof in found.proofs if proof.verdict == "failed"],
        "kept": len(found.kept),
        "lost": [
            (round(each.share, 4), each.op, each.reason, each.node) for each in found.kept if each.product
        ],
        "error_measured": found.error,
        "notes": list(found.notes),
        "casts_reported": sum(cast.inside for cast in found.casts),
    }


def _trial(model: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return two batches of inputs on which the model runs; None if there are none."""
    from trtlint.measurement.feeds import random_feeds
    from trtlint.measurement.trial import Trial
    from trtlint.measurement.trialmodel import TrialError

    for attempt in range(8):
        try:
            feeds = random_feeds(model.graph.inputs, 2, attempt)
            if feeds is None:
                return None
            Trial(model, feeds[:1])
        except (TrialError, ValueError):
            continue
        return feeds[0], feeds[1]
    return None


def _scaled(feeds: dict[str, Any], scale: float) -> dict[str, Any]:
    return {
        name: (array * scale).astype(array.dtype) if array.dtype.kind == "f" else array
        for name, array in feeds.items()
    }


def _judged(source: Path, out: Path, trial: Any, *, build: bool) -> dict[str, Any]:
    from trtlint.conversion._rehearse import _errors, _rewritten
    from trtlint.dry_build.drybuild import dry_build
    from trtlint.measurement.formats import FP16
    from trtlint.measurement.session import RehearsalSession
    from trtlint.measurement.trial import Trial
    from trtlint.measurement.trialmodel import load_trial_model

    found: dict[str, Any] = {"checker": _checked(out), "checker_source": _checked(source)}
    level: Any = "build" if build else "parse"
    try:
        after, before = dry_build(out, level=level), dry_build(source, level=level)
    except Exception as error:  # noqa: BLE001 - whatever keeps the parser from an answer
        return {**found, "judge": f"{type(error).__name__}: {error}"}
    found["parser"], found["parser_source"] = after.result.parsed, before.result.parsed
    if not after.result.parsed and after.result.errors:
        found["parser_error"] = after.result.errors[0].text[:200]
    if build:
        from trtlint.conversion.proving import counts

        found["builder"], found["builder_source"] = after.result.built, before.result.built
        found["engine"], found["engine_source"] = asdict(counts(after)), asdict(counts(before))
        narrow = out.with_name("narrow.onnx")
        if narrow.exists() and (all_narrow := dry_build(narrow, level=level)).result.built:
            found["engine_narrow"] = asdict(counts(all_narrow))
    found.update(shares(source, out))
    for scale in SCALES:
        if trial is None:
            continue
        try:
            reference = Trial(load_trial_model(source), [_scaled(trial[1], scale)])
            errors = _errors(reference, RehearsalSession(_rewritten(reference, out, FP16)))
        except Exception as error:  # noqa: BLE001 - whatever ONNX Runtime says
            found["judge"] = f"{type(error).__name__}: {error}"[:200]
            continue
        found[f"error_{scale:g}"] = (
            None if None in errors.values() else max((each or 0.0 for each in errors.values()), default=0.0)
        )
    return found


def _checked(path: Path) -> bool:
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except Exception:  # noqa: BLE001 - the bindings have several
        return False
    return True


def shares(source: Path, out: Path) -> dict[str, Any]:
    """Return the share of FLOPs in 16 bits, and the number of Casts added inside the model."""
    from trtlint.conversion.weight import flops, is_product
    from trtlint.model.load import load

    model = load(out)
    total = narrow = 0
    for node in model.graph.nodes:
        if is_product(node):
            cost = flops(node)
            total += cost
            first = node.input(0)
            narrow += cost if first is not None and first.dtype in ("f16", "bf16") else 0
    casts = [
        node
        for node in model.graph.nodes
        if node.op == "Cast" and node.input(0) is not None and _between(node.inputs[0], node.output)
    ]
    inside = [
        cast
        for cast in casts
        if not (cast.inputs[0] and cast.inputs[0].is_input) and not cast.output.is_output
    ]
    before = [
        node
        for node in load(source).graph.nodes
        if node.op == "Cast" and _between(node.input(0), node.output)
    ]
    return {
        "share": narrow / total if total else None,
        "casts": len(casts) - len(before),
        "inside": len(inside) - len(before),
    }


def _between(first: Any, second: Any) -> bool:
    return first is not None and {first.dtype, second.dtype} in ({"f32", "f16"}, {"f32", "bf16"})


def good(found: dict[str, Any]) -> bool:
    """Return whether a conversion passes every check that its source passes, at both scales."""
    if found.get("unchanged"):
        return True
    errors = [found.get(f"error_{scale:g}") for scale in SCALES]
    fits = all(error is not None and error <= TOLERANCE for error in errors)
    checks = [(found.get(name), found.get(f"{name}_source")) for name in ("checker", "parser", "builder")]
    return bool(found.get("converts")) and fits and all(after or not before for after, before in checks)


def summary(rows: Sequence[dict[str, Any]]) -> str:
    """Describe the figures of one converter."""
    changed = [row for row in rows if not row.get("unchanged")]
    parsed = [row for row in changed if row.get("parser_source")]
    judged = [row for row in parsed if any(f"error_{scale:g}" in row for scale in SCALES)]
    usable = [row["share"] if good(row) else 0.0 for row in judged if row.get("share") is not None]
    exports = [
        row["share"] if good(row) else 0.0
        for row in judged
        if row.get("share") is not None and not row["model"].startswith(("p_", "g_"))
    ]
    failures: Counter[str] = Counter()
    for row in changed:
        if not row.get("converts"):
            failures["does not convert"] += 1
        for name in ("checker", "parser", "builder"):
            if row.get(f"{name}_source") and not row.get(name):
                failures[name] += 1
        for scale in SCALES:
            error = row.get(f"error_{scale:g}", -1.0)
            if error is None or error > TOLERANCE:
                failures[f"error at {scale:g}"] += 1
    return "\n".join(
        [
            f"{rows[0]['tool']}: {len(rows)} models, {len(rows) - len(changed)} with no FP32 to convert",
            f"  converts {sum(bool(row.get('converts')) for row in changed)} of {len(changed)},"
            f" checker {sum(bool(row.get('checker')) for row in changed)},"
            f" parser {sum(bool(row.get('parser')) for row in parsed)} of {len(parsed)},"
            f" builder {sum(bool(row.get('builder')) for row in changed)}"
            f" of {sum(bool(row.get('builder_source')) for row in changed)}",
            f"  all at both scales: {sum(map(good, judged))} of {len(judged)}",
            f"  usable share of FLOPs in FP16: {np.mean(usable or [0]):.3f} ({len(usable)} models),"
            f" exports {np.mean(exports or [0]):.3f} ({len(exports)})",
            f"  Casts inside: {sum(row.get('inside', 0) for row in judged)}",
            *_engines(changed),
            f"  failures: {dict(failures)}",
            f"  seconds: median {np.median([row['seconds'] for row in rows]):.1f},"
            f" largest {max(row['seconds'] for row in rows):.1f}",
        ]
    )


def _engines(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the total number of engine layers: source, the smaller of source and all-FP16, and result."""
    built = [row for row in rows if row.get("builder") and row.get("builder_source")]
    if not built:
        return
    for name in ("attention", "norms", "layers", "warnings"):
        source = sum(row["engine_source"][name] for row in built)
        narrow = [row.get("engine_narrow", row["engine_source"])[name] for row in built]
        best = sum(max(row["engine_source"][name], all16) for row, all16 in zip(built, narrow, strict=True))
        lost = [row["model"] for row in built if row["engine"][name] < row["engine_source"][name]]
        result = sum(row["engine"][name] for row in built)
        text = f"  {name}: source {source}, all FP16 {sum(narrow)}, better of both {best}, result {result}"
        yield f"{text}; fewer than the source in {len(lost)} models" if lost else text


def main() -> None:
    """Convert the models and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, default=SHARED / "data")
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--only", default="")
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--others", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", nargs=3, metavar=("NAME", "FILE", "TOOL"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        name, file, tool = given.one
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(one(name, Path(file), tool, Path(folder), build=given.build)))
        return
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, data in list(models(given.models))[: given.limit]:
            if given.only not in name:
                continue
            source = Path(folder, "source.onnx")
            source.write_bytes(data)
            for tool in ("trtlint", *(OTHERS if given.others else ())):
                row = _apart(name, source, tool, build=given.build)
                rows.append(row)
                if not good(row):
                    print(json.dumps(row), flush=True)
                if given.json is not None:
                    with given.json.open("a", encoding="utf-8") as lines:
                        lines.write(json.dumps(row) + "\n")
    for tool in ("trtlint", *OTHERS):
        if own := [row for row in rows if row["tool"] == tool]:
            print(summary(own))


def _apart(name: str, source: Path, tool: str, *, build: bool) -> dict[str, Any]:
    """Convert and judge a model in a separate process, because native code may crash."""
    command = [sys.executable, "-m", "benchmarks.convert", "--one", name, str(source), tool]
    nothing = {"model": name, "tool": tool, "converts": False, "seconds": 0.0}
    try:
        ended = subprocess.run(
            [*command, *(["--build"] if build else [])],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {**nothing, "why": "out of time", "seconds": float(_SECONDS)}
    lines = ended.stdout.strip().splitlines()
    if ended.returncode or not lines:
        return {**nothing, "why": (ended.stderr.strip().splitlines() or ["no answer"])[-1][-300:]}
    found: dict[str, Any] = json.loads(lines[-1])
    return found


if __name__ == "__main__":
    main()
