"""Read the header of an engine file without TensorRT.

``trtexec --getPlanVersionOnly`` reads the same magic and version bytes:
https://github.com/NVIDIA/TensorRT/blob/main/samples/common/sampleEngines.cpp.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from trtlint.buildfiles.errors import BuildFileError, unreadable
from trtlint.files.regular import open_regular

if TYPE_CHECKING:
    from trtlint.knowledge.releases import Product

MAGIC: dict[bytes, Product] = {b"ftrt": "tensorrt", b"vtrt": "tensorrt-rtx"}
_VERSION = 24
_MAJOR = {"tensorrt": range(8, 16), "tensorrt-rtx": range(1, 8)}


class PlanHeader(Struct, frozen=True):
    """The product and version with which an engine was built.

    ``version`` is ``major.minor.patch``, or None if the header has no valid version.
    """

    product: Product
    version: str | None


def read_plan(path: Path) -> PlanHeader:
    """Read the header of an engine file.

    Raises:
        BuildFileError: the file is unreadable, truncated inside the header, or not an engine.
    """
    try:
        with open_regular(path) as file:
            return plan_header(file.read(_VERSION + 4))
    except OSError as error:
        raise unreadable(path, error) from error


def is_plan(path: Path) -> bool:
    """Return whether a file is a readable engine."""
    try:
        read_plan(path)
    except BuildFileError:
        return False
    return True


def plan_header(data: bytes) -> PlanHeader:
    """Parse the first 28 bytes of an engine file.

    Raises:
        BuildFileError: the data are too short, or do not come from an engine file.
    """
    product = MAGIC.get(data[:4])
    if product is None:
        raise BuildFileError("not a TensorRT engine: it begins with neither 'ftrt' nor 'vtrt'", offset=0)
    if len(data) < _VERSION + 4:
        raise BuildFileError("the engine file is truncated inside its header", offset=len(data))
    major, minor, patch = data[_VERSION : _VERSION + 3]
    return PlanHeader(product, f"{major}.{minor}.{patch}" if major in _MAJOR[product] else None)
