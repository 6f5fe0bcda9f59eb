"""Cost of ``--weights`` for a gigabyte of weights in the model file and in external data."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from benchmarks.measure import TRTLINT, costs, report

LAYERS, WIDTH = 16, 4096
GIGABYTES = LAYERS * WIDTH * WIDTH * 4 / 1e9
MOST_SECONDS = 1.0
"""Maximum processor time in seconds for each gigabyte."""
MOST_MEMORY = 64.0
"""Maximum additional memory in megabytes, compared with a lint without ``--weights``."""


def model(folder: Path) -> tuple[Path, Path]:
    """Write a model of matrix products twice: with weights in the file, and in external data."""
    generator = np.random.default_rng(0)
    drawn = generator.standard_normal((WIDTH, WIDTH), dtype=np.float32) / 64
    weights = [numpy_helper.from_array(drawn, f"w{layer}") for layer in range(LAYERS)]
    nodes = [
        helper.make_node("MatMul", [f"x{layer}", f"w{layer}"], [f"x{layer + 1}"]) for layer in range(LAYERS)
    ]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, WIDTH]) for name in ("x0", f"x{LAYERS}")
    ]
    graph = helper.make_graph(nodes, "products", ends[:1], ends[1:], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    inside, outside = folder / "inside.onnx", folder / "outside.onnx"
    onnx.save(made, inside)
    onnx.save(made, outside, save_as_external_data=True, location="outside.data")
    return inside, outside


def main() -> bool:
    """Print the figures; return whether the goals are met."""
    print(f"reading weights, {GIGABYTES:.1f} GB")
    good = True
    with tempfile.TemporaryDirectory(prefix="trtlint-weights-") as folder:
        for place in model(Path(folder)):
            command = [*TRTLINT, str(place), "--trt", "10.7", "--fp16", "--no-cache"]
            plain, reading = costs([command, [*command, "--weights"]], runs=3)
            seconds = (reading.processor - plain.processor) / GIGABYTES
            more = reading.megabytes - plain.megabytes
            good &= report(f"{place.stem}: processor for a gigabyte", seconds, MOST_SECONDS, " s")
            good &= report(f"{place.stem}: memory beyond a lint without it", more, MOST_MEMORY, " MB")
    return good


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
