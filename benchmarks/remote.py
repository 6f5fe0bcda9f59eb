"""Bytes and requests of a lint for a model of 340 MB at a URL, with a local server."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import trtlint
from benchmarks.measure import report
from tests.rangeserver import serving
from tests.sparse import transformer


def main() -> int:
    target = trtlint.Target(version="10.7", asked=frozenset({"fp16"}))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "encoder.onnx")
        size = transformer(path)
        (here,) = trtlint.lint(path, target).models
        with serving(path.parent) as served:
            (there,) = trtlint.lint(f"{served.url}/encoder.onnx", target).models
    print(f"a model of {size / 1e6:.0f} MB: {served.given / 1e6:.2f} MB are fetched")
    met = [
        report("bytes of the model that are fetched", 100 * served.given / size, 2, " %"),
        report("requests", served.requests, 100),
        report("findings that differ from those of the file", float(there.findings != here.findings), 0),
    ]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
