"""Start-up time of the command line, compared with importing onnx and networkx."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.measure import PYTHON, TRTLINT, costs, report

MODEL = Path(__file__).resolve().parent.parent / "examples" / "nafnet.onnx"


def main() -> bool:
    print("start-up")
    nothing, version = costs([[*PYTHON, "-c", "pass"], [*TRTLINT, "--version"]], runs=20)
    imports, lint = costs(
        [[*PYTHON, "-c", "import onnx, networkx"], [*TRTLINT, str(MODEL), "--trt", "10.7", "--no-cache"]],
        runs=20,
    )
    with tempfile.TemporaryDirectory() as folder:
        kept = [*TRTLINT, str(MODEL), "--trt", "10.7", "--cache-dir", folder]
        costs([kept], runs=1)
        cold, warm = costs([[*TRTLINT, str(MODEL), "--trt", "10.7", "--no-cache"], kept], runs=20)
    return all(
        [
            report("trtlint --version / python -c pass", version.seconds / nothing.seconds, 4),
            report(
                "trtlint of a small model / python -c 'import onnx, networkx'",
                lint.seconds / imports.seconds,
                1.6,
            ),
            report("results all in the cache / linted anew", warm.seconds / cold.seconds, 0.5),
        ]
    )


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
