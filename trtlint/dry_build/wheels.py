"""Find the installed packages of TensorRT-RTX and their release, and write the install command.

The search imports no module of the wheels. The wheels contain NVIDIA's parser and builder under NVIDIA's
licence. trtlint never downloads the wheels; the user does.
"""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path

from msgspec import Struct

from trtlint.dry_build.errors import WheelError
from trtlint.knowledge.extras import how_to_install
from trtlint.knowledge.releases import releases

HIDE_GPUS = {"CUDA_VISIBLE_DEVICES": ""}
"""Environment variables that hide GPUs, so that the wheels give the same result on every machine."""
_BINDINGS, _LIBRARIES = "tensorrt-rtx-cu12-bindings", "tensorrt-rtx-cu12-libs"


class Wheels(Struct, frozen=True):
    """The installed wheels of TensorRT-RTX.

    Attributes:
        version: release, such as ``1.7.1``.
        folder: the folder that contains the wheels.
    """

    version: str
    folder: str


def find(version: str | None = None, folder: Path | None = None) -> Wheels:
    """Find the wheels in this Python environment, or in a folder that ``pip install --target`` filled.

    Args:
        version: required release or its prefix; None for any.
        folder: folder to search; None for the packages of this Python.

    Raises:
        WheelError: the wheels are not installed, or have another release.
    """
    if folder is not None and not folder.is_dir():
        raise WheelError(f"--rtx-path {folder}: no such folder; give the folder with the TensorRT-RTX wheels")
    bindings, libraries = (_installed(name, folder) for name in (_BINDINGS, _LIBRARIES))
    where = "" if folder is None else f" in {folder}"
    if bindings is None or libraries is None:
        raise WheelError(f"a dry build needs the TensorRT-RTX wheels{where}; run {_command(version, folder)}")
    found = ".".join(bindings.version.split(".")[:3])
    if version is not None and found.split(".")[: version.count(".") + 1] != version.split("."):
        raise WheelError(
            f"TensorRT-RTX {found} is installed{where}, not {version}; run {_command(version, folder)}"
        )
    return Wheels(found, os.path.abspath(str(bindings.locate_file(""))))  # noqa: PTH100 - keeps links


def _installed(name: str, folder: Path | None) -> metadata.Distribution | None:
    if folder is None:
        found = metadata.distributions(name=name)
    else:
        found = metadata.distributions(name=name, path=[str(folder)])
    return next(iter(found), None)


def _command(version: str | None, folder: Path | None) -> str:
    if version is None and folder is None:
        return how_to_install("rtx")
    wanted = _pinned(version)
    target = folder or "DIR"
    option = "" if folder is not None else f", then --rtx-path {target}"
    return f"pip install --target {target} {_LIBRARIES}{wanted} {_BINDINGS}{wanted}{option}"


def _pinned(version: str | None) -> str:
    """Return a pip version requirement: ``==1.4.0.76`` for a known release, otherwise ``==1.4.*``.

    The result is empty if ``version`` is None.
    """
    if version is None:
        return ""
    for release in reversed(releases("tensorrt-rtx")):
        if f"{release.version}.".startswith(f"{version}.") and release.build is not None:
            return f"=={release.version}.{release.build}"
    return f"=={version}.*"
