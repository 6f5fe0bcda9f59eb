"""Cost of dry parses and dry builds, compared with Polygraphy on TensorRT-RTX; gain of a second process."""

from __future__ import annotations

import importlib.util
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.fleet import models
from benchmarks.measure import ENVIRONMENT, TRTLINT, report
from trtlint.dry_build.drybuild import dry_build
from trtlint.dry_build.errors import WheelError
from trtlint.dry_build.wheels import find

MODELS = 20
"""Number of models. All models have static inputs, because the two tools choose different sizes."""
FOLDER = 50
RUNS = 3
RATIO, SPEEDUP = 1.3, 1.6

POLYGRAPHY = """
import resource, sys
from polygraphy.backend import trt
import tensorrt_rtx
def only(builder, network, config):
    config.num_compute_capabilities = 1
    config.set_compute_capability(tensorrt_rtx.ComputeCapability.SM89, 0)
network = trt.NetworkFromOnnxPath(sys.argv[1])
if sys.argv[2] == "parse":
    network()
else:
    trt.EngineBytesFromNetwork(network, config=trt.PostprocessConfig(trt.CreateConfig(), only))()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
"""Script that runs Polygraphy. Polygraphy imports the bindings under a name that the wheel does not have."""


def polygraphy(model: Path, level: str, folder: Path) -> tuple[float, float]:
    """Return the seconds and MB that Polygraphy needs in a separate process."""
    environment = {**ENVIRONMENT, "POLYGRAPHY_USE_TENSORRT_RTX": "1", "PYTHONPATH": str(folder)}
    start = time.perf_counter()
    command = [sys.executable, "-c", POLYGRAPHY, str(model), level]
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    return time.perf_counter() - start, int(done.stdout.split()[-1]) / 1024


def own(model: Path, level: str) -> tuple[float, float]:
    """Return the seconds (including reading of the log) and MB of a dry build."""
    start = time.perf_counter()
    dry = dry_build(model, level="parse" if level == "parse" else "build")
    return time.perf_counter() - start, (dry.result.peak or 0) / (1 << 20)


def against_polygraphy(chosen: Sequence[Path], folder: Path) -> bool:
    """Return whether both levels cost at most :data:`RATIO` times as much as in Polygraphy."""
    names = "from tensorrt_rtx_bindings import *\nfrom tensorrt_rtx_bindings import __version__\n"
    (folder / "tensorrt_rtx.py").write_text(names, encoding="utf-8")
    good = True
    for level in ("parse", "build"):
        times, peaks = [], []
        for model in chosen:
            ours = [own(model, level) for _ in range(RUNS)]
            theirs = [polygraphy(model, level, folder) for _ in range(RUNS)]
            times.append(min(t for t, _ in ours) / min(t for t, _ in theirs))
            peaks.append(max(p for _, p in ours) / max(p for _, p in theirs))
        for name, found in (("wall time", times), ("peak memory", peaks)):
            name = f"dry {level} / Polygraphy, {name}, median of {len(chosen)} models"
            good &= report(name, statistics.median(found), RATIO)
    return good


def seconds(folder: Path, jobs: int) -> float:
    """Return the wall time of the dry builds of a folder of models."""
    words = [str(folder), "--dry-build", "--no-cache", "--isolated", "-q", "-j", str(jobs)]
    start = time.perf_counter()
    done = subprocess.run([*TRTLINT, *words], env=ENVIRONMENT, capture_output=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr.decode(errors="replace"))
    return time.perf_counter() - start


def in_parallel(folder: Path) -> bool:
    """Return whether two processes are :data:`SPEEDUP` times as fast as one."""
    once: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(RUNS):
        for jobs, taken in once.items():
            taken.append(seconds(folder, jobs))
    return report(f"dry builds of {FOLDER} models, -j 2 / -j 1", min(once[2]) / min(once[1]), 1 / SPEEDUP)


def main() -> int:
    """Run the benchmark; return 1 if a goal is missed."""
    try:
        find()
    except WheelError as error:
        print(f"skipped: {error}")
        return 0
    with tempfile.TemporaryDirectory() as scratch, models(Path(scratch)) as folder:
        files = sorted(folder.glob("*.onnx"))
        some = Path(scratch, "some")
        some.mkdir()
        for file in files[:: max(1, len(files) // FOLDER)][:FOLDER]:
            shutil.copy(file, some / file.name)
        good = in_parallel(some)
        if importlib.util.find_spec("polygraphy") is None:
            print("Polygraphy is not installed: pip install '.[bench]'")
            return 0 if good else 1
        fixed = []
        for file in files[:: max(1, len(files) // 100)]:
            result = dry_build(file).result
            if result.built and not result.shapes:
                fixed.append(file)
        good &= against_polygraphy(fixed[:MODELS], Path(scratch))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
