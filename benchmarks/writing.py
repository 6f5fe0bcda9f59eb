"""Cost of ``trtlint fix``, compared with copying the file, and with tools that load the weights.

The copy uses Python's ``shutil.copyfile`` in its own process, like all other commands. Source and copy are in
the page cache, the output file is new, and nothing waits for the disk: data of earlier runs are on the disk
before the next run.

Each command has a fixed cost: it starts Python, imports onnx and numpy, and lints the graph before and after
each rewrite. It also has a cost for each gigabyte. The same graph with a few megabytes of weights separates
the two costs.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from benchmarks.measure import PYTHON, TRTLINT, Cost, costs, report
from benchmarks.reading import LARGE, SMALL, peak, transformer, write

LARGER = 1360
"""Width of a model of two gigabytes, which protobuf cannot hold."""
RUNS = 5

_COPY = "import shutil, sys; shutil.copyfile(sys.argv[1], sys.argv[2])"
_LOAD_SAVE = "import sys, onnx; onnx.save(onnx.load(sys.argv[1]), sys.argv[2])"
_SURGEON = (
    "import sys, onnx, onnx_graphsurgeon as gs; "
    "onnx.save(gs.export_onnx(gs.import_onnx(onnx.load(sys.argv[1])).cleanup().toposort()), sys.argv[2])"
)


def write_outside(path: Path, width: int) -> None:
    """Write the model of :mod:`benchmarks.reading` with weights of zero in external data."""
    graph, weights = transformer(width)
    data = path.with_suffix(".data")
    size = 0
    for name, dims in weights.items():
        tensor = graph.initializer.add(name=name, dims=dims, data_type=TensorProto.FLOAT)
        tensor.data_location = TensorProto.EXTERNAL
        length = 4 * dims[0] * (dims[1] if len(dims) > 1 else 1)
        for key, value in {"location": data.name, "offset": str(size), "length": str(length)}.items():
            tensor.external_data.add(key=key, value=value)
        size += length
    data.touch()
    os.truncate(data, size)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def fix(model: Path, out: Path) -> list[str]:
    """Return the command that fixes a model."""
    return [*TRTLINT, "fix", str(model), "-o", str(out), "--trt", "10.7", "--isolated"]


def copy(model: Path, out: Path) -> list[str]:
    """Return the command that copies a file."""
    return [*PYTHON, "-c", _COPY, str(model), str(out)]


def commands(folder: Path, models: dict[str, Path], out: Path) -> dict[str, list[str]]:
    """Return the measured commands by name."""
    outside = folder / "outside.onnx"
    write_outside(outside, LARGE)
    found = {"importing onnx": [*PYTHON, "-c", "import onnx"]}
    for size, model in models.items():
        found |= {f"copying {size}": copy(model, out), f"trtlint fix, {size}": fix(model, out)}
    found["trtlint fix, 1 GB beside the model"] = fix(outside, out)
    found["onnx.load and save, 1 GB"] = [*PYTHON, "-c", _LOAD_SAVE, str(models["1 GB"]), str(out)]
    if importlib.util.find_spec("onnx_graphsurgeon") is not None:
        found["graphsurgeon, 1 GB"] = [*PYTHON, "-c", _SURGEON, str(models["1 GB"]), str(out)]
    return found


def main() -> bool:
    """Print the figures; return whether the goals are met."""
    with tempfile.TemporaryDirectory(prefix="trtlint-writing-") as name:
        folder = Path(name)
        out = folder / "out.onnx"
        models = {"few MB": folder / "small.onnx", "1 GB": folder / "1.onnx", "2 GB": folder / "2.onnx"}
        for model, width in zip(models.values(), (SMALL, LARGE, LARGER), strict=True):
            write(model, width)

        def settle() -> None:
            out.unlink(missing_ok=True)
            os.sync()

        tools = commands(folder, models, out)
        found = dict(zip(tools, costs(list(tools.values()), RUNS, settle), strict=True))
        gigabytes = {size: model.stat().st_size / 1e9 for size, model in models.items()}
        print(f"writing models of {gigabytes['1 GB']:.2f} and {gigabytes['2 GB']:.2f} GB")
        for tool, each in found.items():
            seconds = f"{each.seconds:6.2f} s, {each.processor:6.2f} s of the processor"
            print(f"  {tool:<36} {seconds}, {each.megabytes:6.0f} MB")
        met = _for_a_gigabyte(found, gigabytes)
        for size in ("1 GB", "2 GB"):
            times = found[f"trtlint fix, {size}"].seconds / found[f"copying {size}"].seconds
            met = report(f"trtlint fix of {size}, times the copy", times, 3.0, "x") and met
        times = found["trtlint fix, 1 GB beside the model"].processor / found["trtlint fix, few MB"].processor
        met = report("1 GB beside the model, times a few MB in it", times, 1.3, "x") and met
        return report("memory of trtlint fix, 2 GB", peak(fix(models["2 GB"], out)), 250, " MB") and met


def _for_a_gigabyte(found: dict[str, Cost], gigabytes: dict[str, float]) -> bool:
    """Print the cost of each gigabyte; return whether it is small enough, relative to a copy."""
    size = gigabytes["2 GB"] - gigabytes["few MB"]
    fixed, copied = (
        (found[f"{what} 2 GB"].processor - found[f"{what} few MB"].processor) / size
        for what in ("trtlint fix,", "copying")
    )
    start = found["trtlint fix, few MB"].processor
    print(f"  of the processor: {start:.2f} s whatever the weights, and {fixed:.2f} s for each gigabyte")
    return report("each gigabyte beyond the start, times the copy", fixed / copied, 2.0, "x")


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
