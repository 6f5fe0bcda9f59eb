"""Read the layers of an engine file with TensorRT, if it is installed and finds a GPU.

https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/engine-inspector.html
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.util
from pathlib import Path
from typing import Any

from trtlint.buildfiles.errors import BuildFileError
from trtlint.buildfiles.layers import LayerInfo, layers_from_json, parse_json
from trtlint.buildfiles.plan import read_plan

_MODULES = {"tensorrt": "tensorrt", "tensorrt-rtx": "tensorrt_rtx"}
_DRIVERS = ("libcuda.so.1", "nvcuda.dll")


def inspect_plan(path: Path) -> LayerInfo | str:
    """Return the layers of an engine, or a short reason why TensorRT cannot list them.

    Raises:
        BuildFileError: the file is unreadable or not an engine.
    """
    product = read_plan(path).product
    name = _MODULES[product]
    if importlib.util.find_spec(name) is None:
        return f"cannot list the layers without the Python package {name}"
    if not _has_gpu():
        return "cannot list the layers without an NVIDIA GPU"
    try:
        return _ask(importlib.import_module(name), name, path)
    except (BuildFileError, ImportError, OSError, RuntimeError, TypeError, AttributeError) as error:
        return f"{name} cannot load the engine ({' '.join(str(error).split())[:200]})"


def _ask(trt: Any, name: str, path: Path) -> LayerInfo | str:
    runtime = trt.Runtime(trt.Logger(trt.Logger.ERROR))
    engine = runtime.deserialize_cuda_engine(path.read_bytes())
    if engine is None:
        return f"{name} {trt.__version__} cannot load the engine"
    inspector = engine.create_engine_inspector()
    text: str = inspector.get_engine_information(trt.LayerInformationFormat.JSON)
    return layers_from_json(parse_json(text.encode("utf-8", "replace")))


def _has_gpu() -> bool:
    """Return whether the CUDA driver finds a device. Without a device, importing TensorRT can crash."""
    for name in _DRIVERS:
        with contextlib.suppress(OSError, AttributeError):
            driver = ctypes.CDLL(name)
            count = ctypes.c_int(0)
            if driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0:
                return count.value > 0
    return False
