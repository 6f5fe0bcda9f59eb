"""Run the Python part of Torch-TensorRT without a GPU, with TensorRT-RTX instead of TensorRT.

This module runs in a separate process, in a Python with torch, a torch-tensorrt wheel and tensorrt-rtx. The
compiled parts of the wheel are its run time and its TorchScript front end. Without the compiled parts, the
package can still be imported, but these two features are disabled
(https://github.com/pytorch/TensorRT/blob/v2.13.0/py/torch_tensorrt/_features.py).

The Python code of the package needs a GPU from torch and a builder from ``tensorrt``. This module provides a
stand-in for the GPU and another one for the builder.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.metadata
import importlib.util
import re
import shutil
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trtlint.errors import ExperimentError

_MEMORY = 24 << 30
_ALGORITHMS = (
    "IAlgorithmSelector",
    "IAlgorithmContext",
    "IAlgorithm",
    "IAlgorithmIOInfo",
    "IAlgorithmVariant",
)
"""Classes of TensorRT 8 to 10 that TensorRT-RTX lacks.

Releases of Torch-TensorRT up to 2.10 derive a class from one of these classes.
"""
_CHECK = "aten._assert_tensor_metadata.default"
_REMOVES_CHECKS = 7
"""Minor number of the first Torch-TensorRT release that removes torch's type checks itself.

Older releases need :func:`remove_checks`.
https://github.com/pytorch/TensorRT/pull/3395
"""


class StandInError(ExperimentError):
    """Error: Torch-TensorRT cannot run in this Python."""


def install(release: str, tensorrt: str, sms: Sequence[int], wheel: str | None, folder: Path) -> Any:
    """Import a release of Torch-TensorRT and return the module.

    Args:
        release: the required release.
        tensorrt: the version of TensorRT to report to the package.
        sms: compute capabilities times ten, the preferred one first. The package gets a GPU of the first
            compute capability that the installed TensorRT-RTX can build for.
        wheel: a folder with an unpacked wheel; None for the installed wheel.
        folder: folder to copy the Python files of the package to.

    Raises:
        StandInError: a package is missing or has a different release.
    """
    found = _copied(wheel, folder)
    if found.split("+")[0].split(".")[:2] != release.split(".")[:2]:
        raise StandInError(f"torch-tensorrt {found} is installed, not {release}")
    try:
        importlib.import_module("torch")
    except ImportError as error:
        raise StandInError(f"torch cannot be imported: {error}") from None
    try:
        bindings = importlib.import_module("tensorrt_rtx_bindings")
    except ImportError as error:
        raise StandInError(f"the wheels of TensorRT-RTX cannot be imported: {error}") from None
    _stand_in_for_cuda(next(sm for sm in sms if hasattr(bindings.ComputeCapability, f"SM{sm}")))
    _stand_in_for_tensorrt(bindings, tensorrt)
    sys.path.insert(0, str(folder))
    try:
        package = importlib.import_module("torch_tensorrt")
        device = importlib.import_module("torch_tensorrt._Device").Device
    except Exception as error:  # noqa: BLE001 - the message contains the error
        raise StandInError(f"torch-tensorrt {found} cannot be imported here: {error!r}") from None
    cpu = importlib.import_module("torch").device("cpu")
    device.to = lambda *_: cpu
    if int(release.split(".")[1]) < _REMOVES_CHECKS:
        passes: Any = importlib.import_module("torch_tensorrt.dynamo.lowering.passes._aten_lowering_pass")
        passes.ATEN_POST_LOWERING_PASSES.add_pass_with_index(remove_checks, 0)
    return package


def remove_checks(module: Any, _settings: Any = None) -> Any:
    """Remove torch's type checks from a graph module, and return the module.

    torch 2.7 and newer add such a check before each type conversion. Each check would split an engine of
    Torch-TensorRT 2.6. This release is made for torch 2.6, which adds no checks
    (https://github.com/pytorch/TensorRT/issues/3375).
    """
    checks = [node for node in module.graph.nodes if str(node.target) == _CHECK]
    for node in checks:
        module.graph.erase_node(node)
    if checks:
        module.recompile()
    return module


def _copied(wheel: str | None, folder: Path) -> str:
    """Copy the Python files of the package, without its libraries, and return its version."""
    if wheel is not None:
        source = Path(wheel, "torch_tensorrt")
    else:
        spec = importlib.util.find_spec("torch_tensorrt")
        source = Path(spec.origin).parent if spec is not None and spec.origin else Path("torch_tensorrt")
    try:
        text = (source / "_version.py").read_text(encoding="utf-8")
    except OSError:
        where = "in this Python" if wheel is None else f"in {wheel}"
        raise StandInError(f"the package torch-tensorrt is not installed {where}") from None
    ignored = shutil.ignore_patterns("*.so", "*.so.*", "*.dll", "*.pyd", "lib", "bin", "include")
    shutil.copytree(source, folder / "torch_tensorrt", ignore=ignored)
    version = re.search(r"__version__\s*=\s*[\"']([^\"']{1,40})", text)
    return "unknown" if version is None else version[1]


def _stand_in_for_cuda(sm: int) -> None:
    """Patch torch to report a GPU with compute capability ``sm`` (times ten), without CUDA."""
    torch: Any = importlib.import_module("torch")

    class Properties:
        name = "stand-in"
        major, minor = divmod(sm, 10)
        total_memory = _MEMORY
        multi_processor_count = 58

    answers: dict[str, Any] = {
        "get_device_capability": divmod(sm, 10),
        "get_device_properties": Properties(),
        "get_device_name": Properties.name,
        "current_device": 0,
        "device_count": 1,
        "mem_get_info": (_MEMORY, _MEMORY),
        "set_device": None,
        "empty_cache": None,
        "synchronize": None,
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, lambda *_, _answer=answer, **__: _answer)
    torch._C._CudaDeviceProperties = Properties


class _Members:
    """An enumeration of TensorRT-RTX, with additional members that only TensorRT has."""

    def __init__(self, base: Any, more: dict[str, int]) -> None:
        self._base, self._more = base, more

    def __getattr__(self, name: str) -> Any:
        if name in self._more and not hasattr(self._base, name):
            return self._more[name]
        return getattr(self._base, name)

    def __call__(self, *arguments: Any) -> Any:
        return self._base(*arguments)


def _stand_in_for_tensorrt(bindings: Any, version: str) -> None:
    """Make ``import tensorrt`` return TensorRT-RTX's Python API, with ``version`` as its version."""
    module: Any = types.ModuleType("tensorrt")
    module.__dict__.update(
        {name: getattr(bindings, name) for name in dir(bindings) if not name.startswith("__")}
    )
    module.__path__ = []
    module.__version__ = f"{version}.0"
    module.__file__ = bindings.__file__
    module.__loader__ = None
    module.__package__ = "tensorrt"
    module.__spec__ = importlib.machinery.ModuleSpec("tensorrt", None)
    module.tensorrt = module
    module._package_name = "tensorrt"
    module.NetworkDefinitionCreationFlag = _Members(
        module.NetworkDefinitionCreationFlag, {"EXPLICIT_BATCH": 0, "STRONGLY_TYPED": 1}
    )
    if not hasattr(module, "init_libnvinfer_plugins"):
        module.init_libnvinfer_plugins = lambda *_: True
    for name in _ALGORITHMS:
        if not hasattr(module, name):
            setattr(module, name, type(name, (), {"__init__": lambda _: None}))
    plugin: Any = types.ModuleType("tensorrt.plugin")
    plugin.__path__ = []
    plugin.__spec__ = importlib.machinery.ModuleSpec("tensorrt.plugin", None)
    plugin.__getattr__ = _empty_class
    inner: Any = types.ModuleType("tensorrt.plugin._lib")
    inner.__spec__ = plugin.__spec__
    inner.__getattr__ = _empty_class
    module.plugin = plugin
    sys.modules.update(
        {
            "tensorrt": module,
            "tensorrt.tensorrt": module,
            "tensorrt.plugin": plugin,
            "tensorrt.plugin._lib": inner,
        }
    )
    packages: Any = importlib.metadata
    known = packages.version
    names = {"tensorrt", "tensorrt-cu12", "tensorrt-cu13", "tensorrt_cu12", "tensorrt_cu13"}
    packages.version = lambda name: module.__version__ if name in names else known(name)
    # Torch-TensorRT reads the name of its own wheel to decide between TensorRT and TensorRT-RTX.
    distributions = packages.packages_distributions
    packages.packages_distributions = lambda: {
        **distributions(),
        "torch_tensorrt": ["torch-tensorrt"],
    }


def _empty_class(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (), {})
