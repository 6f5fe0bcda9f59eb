"""Models that ``trtlint fix`` repairs, compared with other tools in the same run.

The models are exports in the shared data that TensorRT-RTX refuses. The real builder (``trtlint[rtx]``)
builds the model that each tool writes. ``trtlint[verify]`` compares the outputs of this model with the
outputs of the original. A model counts as repaired only if the outputs were compared and are equal. The table
separates tools that failed from tools whose model is still refused.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.measure import PYTHON, TRTLINT
from trtlint.compare.comparison import Pair, compare
from trtlint.dry_build.drybuild import dry_build
from trtlint.dry_build.errors import DryBuildError, WheelError

SHARED = Path(os.environ.get("TRTLINT_SHARED", Path(__file__).resolve().parents[2] / "shared"))
WANTED = 32
"""Goal: the number of the 51 refused models that the builder builds after the fix, with equal outputs."""
SETS = 8
"""Number of input sets for the comparison of outputs."""
OWN = "trtlint fix"
TARGET = ("--rtx", "1.7", "--gpu", "L4", "--isolated")

_SLIM = "import sys, onnx, onnxslim; onnx.save(onnxslim.slim(sys.argv[1]), sys.argv[2])"
_OPTIMIZE = (
    "import sys, onnx, onnxscript.optimizer as o; onnx.save(o.optimize(onnx.load(sys.argv[1])), sys.argv[2])"
)
_SANITIZE = (
    "import sys; from polygraphy.tools import main; "
    "sys.argv[1:] = ['surgeon', 'sanitize', sys.argv[1], '--fold-constants', '-o', sys.argv[2]]; main()"
)


def commands(model: Path, out: Path) -> Mapping[str, list[str]]:
    """Return the installed tools, each with the command that writes its version of a model."""
    found = {OWN: [*TRTLINT, "fix", str(model), "-o", str(out), "--format", "json", *TARGET]}
    for name, package, code in (
        ("onnxslim", "onnxslim", _SLIM),
        ("polygraphy sanitize", "polygraphy", _SANITIZE),
        ("onnxscript optimizer", "onnxscript", _OPTIMIZE),
    ):
        if importlib.util.find_spec(package) is not None:
            found[name] = [*PYTHON, "-c", code, str(model), str(out)]
    return found


def builds(model: Path) -> bool:
    """Return whether the real builder builds a model."""
    try:
        return dry_build(model, sm=89).result.built is True
    except DryBuildError:
        return False


def outcome(model: Path, out: Path, done: subprocess.CompletedProcess[bytes]) -> str:
    """Return the result of one tool for one model; only ``equal`` means repaired."""
    if not out.exists():
        refused = done.returncode in (0, 1) and b"Traceback" not in done.stderr
        return "not written" if refused else "the tool failed"
    if not builds(out):
        return "refused as before"
    found = compare(Pair(model, out))
    if found.equal is None:
        return "builds, outputs not compared"
    return "equal" if found.equal and found.sets >= SETS else "builds, outputs differ"


def left(report: bytes) -> str:
    """Return the reasons for the remaining errors in a JSON report of `trtlint fix`."""
    model: dict[str, Any] = json.loads(report)["models"][0]
    errors = [entry for entry in model["refused"] if entry["severity"] == "error"]
    return "; ".join(dict.fromkeys(f"{entry['rule']}: {entry['reason']}" for entry in errors))


def repaired(exported: Path) -> bool:
    """Print the table by cause; return whether the goals are met.

    The goals: trtlint repairs enough models, and gives a reason for each model that it does not repair.
    """
    verdicts = [json.loads(line) for line in (exported / "verdicts-rtx-1.7.1.jsonl").read_text().splitlines()]
    refused = [entry for entry in verdicts if not (entry["parse"] and entry["build"])]
    table: dict[str, Counter[str]] = defaultdict(Counter)
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    reasons: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for entry in refused:
            model, out = exported / f"{entry['model']}.onnx", Path(folder) / "out.onnx"
            cause = _cause(entry)
            table[cause]["models"] += 1
            for name, command in commands(model, out).items():
                out.unlink(missing_ok=True)
                done = subprocess.run(command, capture_output=True, check=False, timeout=600)
                found = outcome(model, out, done)
                outcomes[name][found] += 1
                table[cause][name] += found == "equal"
                if name == OWN and found != "equal":
                    reasons[f"{cause}, {found}: {left(done.stdout) or 'NO REASON'}"] += 1
    names = list(commands(Path(), Path()))
    print("  " + "cause".ljust(40) + "models".rjust(8) + "".join(name.rjust(22) for name in names))
    for cause, row in sorted(table.items(), key=lambda item: -item[1]["models"]):
        cells = "".join(str(row[name]).rjust(22) for name in names)
        print("  " + cause[:39].ljust(40) + str(row["models"]).rjust(8) + cells)
    for name in names:
        print(f"  {name}: " + ", ".join(f"{count} {what}" for what, count in outcomes[name].most_common()))
    for why, count in reasons.most_common():
        print(f"  left, {count} models, {why}")
    total = outcomes[OWN]["equal"]
    print(f"  {total} of {len(refused)} build afterwards, outputs equal on {SETS} sets; wanted: {WANTED}")
    return total >= WANTED and not any("NO REASON" in why for why in reasons)


def _cause(entry: Mapping[str, object]) -> str:
    """Return the operator that the parser names; without one, the operator at which the builder stops."""
    errors = entry["errors"]
    if isinstance(errors, list) and errors:
        return f"{errors[0]['op'] or errors[0]['func']} (parse)"
    text = str(entry["build_log_errors"])
    return "Attention (build)" if "Attention" in text else "NonMaxSuppression (build)"


def main() -> int:
    """Run the benchmark; the exit code shows whether the goals are met."""
    exported = SHARED / "data" / "exported"
    if not exported.is_dir():
        print("fix: no refused exports at hand")
        return 0
    print("fix: exports that TensorRT-RTX refuses")
    try:
        return 0 if repaired(exported) else 1
    except WheelError as error:
        print(f"  not built: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
