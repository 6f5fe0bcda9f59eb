"""What a run costs before any work: the command line against the imports it cannot do without."""

from __future__ import annotations

from pathlib import Path

from benchmarks.measure import PYTHON, TRTLINT, cost, report

MODEL = Path(__file__).resolve().parent.parent / "examples" / "nafnet.onnx"


def main() -> bool:
    print("start-up")
    nothing = cost([*PYTHON, "-c", "pass"], runs=15)
    version = cost([*TRTLINT, "--version"], runs=15)
    imports = cost([*PYTHON, "-c", "import onnx, networkx"])
    lint = cost([*TRTLINT, str(MODEL), "--trt", "10.7"])
    return all(
        [
            report("trtlint --version / python -c pass", version.seconds / nothing.seconds, 4),
            report(
                "trtlint of a small model / python -c 'import onnx, networkx'",
                lint.seconds / imports.seconds,
                1.6,
            ),
        ]
    )


if __name__ == "__main__":
    main()
