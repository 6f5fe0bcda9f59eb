"""Cost of `trtlint measure` on a transformer of 300 MB, compared with a plain run and with Polygraphy."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.measure import PYTHON, TRTLINT, costs, report
from benchmarks.transformer import LAYERS, TOKENS, WIDTH

PLAIN = (
    "import sys, numpy, onnxruntime\n"
    "session = onnxruntime.InferenceSession(sys.argv[1])\n"
    "session.run(None, dict(numpy.load(sys.argv[2])))\n"
)


def main() -> bool:
    print(f"half precision: a transformer of {LAYERS} layers, {TOKENS} tokens")
    with tempfile.TemporaryDirectory() as folder:
        model, inputs = Path(folder, "transformer.onnx"), Path(folder, "inputs.npz")
        # In a separate process: the peak memory of this process would count for its child processes.
        costs([[*PYTHON, "-m", "benchmarks.transformer", str(model)]], runs=1)
        numbers = np.random.default_rng(1).standard_normal((1, TOKENS, WIDTH))
        np.savez(inputs, x=numbers.astype(np.float32))
        json, saved = (
            Path(folder, "inputs.json"),
            "import sys, numpy\nfrom polygraphy.json import save_json\n",
        )
        saved += "save_json([dict(numpy.load(sys.argv[1]))], sys.argv[2])\n"
        given = [str(model), "--inputs", str(inputs), "--format", "json"]
        commands = [
            [*PYTHON, "-c", PLAIN, str(model), str(inputs)],
            [*TRTLINT, "measure", *given, "--no-rehearse"],
            [*TRTLINT, "measure", *given],
        ]
        plain, ranges, band = costs(commands, runs=3)
        print(f"  plain run: {plain.seconds:.1f} s, {plain.processor:.1f} s of processor")
        marked = ["run", str(model), "--onnxrt", "--onnx-outputs", "mark", "all", "--validate"]
        script = Path(sys.executable).with_name("polygraphy")
        if script.exists():
            costs([[*PYTHON, "-c", saved, str(inputs), str(json)]], runs=1)
            (all_marked,) = costs([[str(script), *marked, "--load-inputs", str(json)]], runs=1)
            times = all_marked.seconds / plain.seconds, all_marked.megabytes / plain.megabytes
            print(f"  polygraphy, all validated: {times[0]:.1f} times the time, {times[1]:.1f} the memory")
        return all(
            [
                report("ranges / plain run, processor time", ranges.processor / plain.processor, 1.4),
                report("ranges / plain run, memory", ranges.megabytes / plain.megabytes, 2.5),
                report("band / plain run, processor time", band.processor / plain.processor, 4),
                report("band / plain run, memory", band.megabytes / plain.megabytes, 5),
            ]
        )


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
