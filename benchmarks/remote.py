"""Models elsewhere: bytes and waits that one of 340 MB costs, from a server on loopback that answers late."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import trtlint
from benchmarks.measure import report
from tests.rangeserver import serving
from tests.sparse import transformer

DELAY = 0.02
"""Seconds before each answer, as from a server in the same part of the world."""


def main() -> int:
    target = trtlint.Target(version="10.7", asked=frozenset({"fp16"}))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "encoder.onnx")
        size = transformer(path)
        (here,) = trtlint.lint(path, target).models
        with serving(path.parent, delay=DELAY) as served:
            start = time.perf_counter()
            (there,) = trtlint.lint(f"{served.url}/encoder.onnx", target).models
            seconds = time.perf_counter() - start
    print(f"a model of {size / 1e6:.0f} MB from a server that answers after {DELAY * 1000:.0f} ms:")
    print(f"  {served.requests} requests, {served.most_at_once} at once, {served.given / 1e6:.2f} MB")
    met = [
        report("bytes of the model that are fetched", 100 * served.given / size, 2, " %"),
        report("waits for the server, requests at once being one", seconds / DELAY, 150),
        report("findings that differ from those of the file", float(there.findings != here.findings), 0),
    ]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
