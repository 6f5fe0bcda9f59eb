"""Lint 10,000 models on a Dask cluster: client cost for each model, and equal findings.

The environment variable ``FLEET_MODELS`` sets a different number of models.
"""

from __future__ import annotations

import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import onnx

from benchmarks.fleet import Done, run
from benchmarks.measure import report

MODELS = int(os.environ.get("FLEET_MODELS", "10000"))
SETTINGS = ["--trt", "10.8", "--gpu", "L4", "--fp16", "--isolated", "--no-cache"]
MODEL = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[N,{width}] x) => (float[N,{width}] y)
< float[{width},{width}] w = {{}}, float two = {{2}}, float eps = {{0.00001}} >
{{
  h = MatMul (x, w)
  {body}
}}
"""
BODIES = (
    "y = Relu (h)",
    "y = Sigmoid (h)",
    "s = Pow (h, two) m = ReduceMean <axes = [-1], keepdims = 1> (s) a = Add (m, eps) r = Sqrt (a) "
    "y = Div (h, r)",
)


def generate(folder: Path, count: int) -> None:
    """Write models that differ in widths and in the operators after the product."""
    for number in range(count):
        model = onnx.parser.parse_model(
            MODEL.format(width=8 + number // len(BODIES), body=BODIES[number % len(BODIES)])
        )
        weight = model.graph.initializer[0]
        weight.ClearField("float_data")
        weight.raw_data = bytes(4 * weight.dims[0] * weight.dims[1]) if weight.dims[0] <= 64 else b""
        if not weight.raw_data:  # the file stays small: its weights are computed
            del model.graph.initializer[0]
            model.graph.input.append(
                onnx.helper.make_tensor_value_info("w", onnx.TensorProto.FLOAT, list(weight.dims))
            )
        (folder / f"{number:05d}.onnx").write_bytes(model.SerializeToString())


def main() -> bool:
    # Its functions are not annotated.
    LocalCluster: Any = import_module("distributed").LocalCluster  # noqa: N806
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        one, many = folder / "one", folder / "many"
        for place, count in ((one, 1), (many, MODELS)):
            place.mkdir()
            generate(place, count)
        print(
            f"{MODELS:,} models, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} before the start"
        )
        alone = scan(many, folder / "alone.jsonl", "-j", "1")
        with LocalCluster(
            n_workers=os.cpu_count() or 1, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster:
            address = cluster.scheduler_address.replace("tcp://", "dask://")
            idle = scan(one, folder / "one.jsonl", "--executor", address)
            spread = scan(many, folder / "spread.jsonl", "--executor", address)
        print(f"  one process {alone.seconds:.1f} s, cluster {spread.seconds:.1f} s")
        same = (folder / "alone.jsonl").read_bytes() == (folder / "spread.jsonl").read_bytes()
        print(f"  {'the cluster gives the same rows':<64} {'yes' if same else 'NO'}")
        each = 1000 * (spread.processor - idle.processor) / MODELS
        return report("processor time of the client for a model", each, 0.5, " ms") and same


def scan(models: Path, rows: Path, *how: str) -> Done:
    """Lint a folder and write the findings as rows to a file."""
    return run(str(models), *SETTINGS, "--quiet", "--output", f"jsonl:{rows}", *how)


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
