"""``trtlint doctor``: show installed and missing packages, and how to install them."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import distributions
from pathlib import Path

from msgspec import Struct
from packaging.utils import canonicalize_name

from trtlint import __version__
from trtlint.knowledge.extras import how_to_install

_SECONDS = 10.0
"""Time limit of nvidia-smi, in seconds."""
_MOST_FILES = 200_000
"""Largest number of cache files that are counted."""
_RTX = ("tensorrt-rtx", "tensorrt-rtx-cu13-bindings", "tensorrt-rtx-cu12-bindings")


class Check(Struct, frozen=True):
    """One line of the report: a package or a device that trtlint can use.

    Attributes:
        name: the package or device.
        found: the version or state; empty if the package or device is missing.
        needed: the feature that needs the package; empty if every feature needs it.
        install: the command that installs the package.
        without: the text to show if the package or device is missing.
    """

    name: str
    found: str
    needed: str = ""
    install: str = ""
    without: str = "not installed"


def checks() -> Iterator[Check]:
    """Yield a line for each package and device of this machine, without changing or downloading anything."""
    yield Check("trtlint", __version__)
    yield Check("Python", f"{platform.python_version()} ({sys.executable})")
    yield Check("system", f"{platform.system()} {platform.machine()}, {os.cpu_count() or 1} CPUs")
    yield Check("onnx", _version("onnx"))
    yield Check(
        "ONNX Runtime",
        _version("onnxruntime", "onnxruntime-gpu"),
        "trtlint measure, trtlint convert, --verify, --compare",
        how_to_install("measure"),
    )
    yield Check(
        "TensorRT-RTX",
        _version(*_RTX),
        "--dry-build, --dry-parse, --compare, --verify-build",
        how_to_install("rtx"),
    )
    yield Check(
        "TensorRT",
        _version("tensorrt", "tensorrt-cu12", "tensorrt-cu13"),
        "for engine builds, not for trtlint",
    )
    yield Check("GPU", _gpu(), "for engine builds, not for trtlint", without="none found")
    yield Check("pyarrow", _version("pyarrow"), "--output parquet:FILE", how_to_install("parquet"))
    yield Check(
        "fsspec",
        _version("fsspec"),
        "models at https://, s3:// and hf://",
        how_to_install("remote"),
    )
    yield Check("distributed", _version("distributed"), "--executor dask://", how_to_install("dask"))
    yield Check("cache", _cache())


def run_doctor() -> int:
    """Print the report.  The exit code is always 0, because linting needs no optional package."""
    listed = list(checks())
    wide = max(len(check.name) for check in listed)
    for check in listed:
        needed = f"  ({check.needed})" if check.needed else ""
        print(f"{check.name:{wide}}  {check.found or check.without}{needed}")
    if missing := [check for check in listed if not check.found and check.install]:
        print("\nTo install the missing packages:")
        for check in missing:
            print(f"  {check.needed}: {check.install}")
    return 0


def _version(*names: str) -> str:
    """Return the version of the first package in ``names`` that is installed.

    The result is an empty string if no package is installed.
    """
    installed = {canonicalize_name(found.name): found.version for found in distributions() if found.name}
    for name in names:
        if known := installed.get(canonicalize_name(name)):
            return known if name == names[0] else f"{known} ({name})"
    return ""


def _gpu() -> str:
    """Return the names and the driver of the GPUs from nvidia-smi, or an empty string if there is no GPU."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ""
    query = [program, "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    return "; ".join(lines[:8]) if done.returncode == 0 else ""


def _cache() -> str:
    """Return the folder and the size of the cache, in words."""
    from trtlint.runs.cache import folder as cache_folder

    folder = cache_folder()
    if folder is None:
        return "off (no usable folder)"
    files = size = 0
    for base, _, names in os.walk(folder):
        for name in names:
            files += 1
            if files > _MOST_FILES:
                return f"{folder}, more than {_MOST_FILES:,} files"
            with suppress(OSError):
                size += Path(base, name).lstat().st_size
    return f"{folder}, {size / 1e6:.1f} MB in {files:,} files" if files else f"{folder}, empty"
