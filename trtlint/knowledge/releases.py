"""Read the releases of TensorRT and TensorRT-RTX."""

from __future__ import annotations

from functools import cache
from typing import Literal

from msgspec import Struct, convert
from packaging.version import Version

from trtlint.knowledge import data

Product = Literal["tensorrt", "tensorrt-rtx"]
Typing = Literal["weak", "choice", "strong"]

PRODUCTS: dict[Product, str] = {"tensorrt": "TensorRT", "tensorrt-rtx": "TensorRT-RTX"}
"""For each product, its name in reports."""


class Release(Struct, frozen=True):
    """A release of TensorRT or TensorRT-RTX, from versions.yaml.

    The fields with a default are None or empty if no public source has their value.

    Attributes:
        product: TensorRT or TensorRT-RTX.
        version: the number that NVIDIA prints, such as ``10.13.3``.
        build: the fourth part of the version number in wheel names.
        opset_max: the highest ONNX opset that the documentation of the parser names.
        cuda: the documented CUDA versions.
    """

    product: Product
    version: str
    build: int | None = None
    opset_max: int | None = None
    cuda: tuple[str, ...] = ()

    @property
    def number(self) -> Version:
        """The version in a form that can be compared."""
        return _number(self.version)

    @property
    def minor(self) -> str:
        """The release line, such as ``10.13``."""
        return f"{self.number.major}.{self.number.minor}"

    @property
    def inspector(self) -> Literal["bindings", "io-tensors"] | None:
        """How the JSON of the release's engine inspector lists the inputs and outputs of an engine.

        ``bindings`` means a list ``Bindings``, and ``io-tensors`` means objects under ``I/O Tensors``.  The
        result is None for TensorRT-RTX, because no public source is known.

        https://docs.nvidia.com/deeplearning/tensorrt/11.0.0/api/migration/tensorrt-10x-to-11x-IEngineInspector.html
        """
        if self.product == "tensorrt-rtx":
            return None
        return "bindings" if self.number.major < 11 else "io-tensors"

    @property
    def typing(self) -> Typing:
        """The source of the types in a network.

        - ``strong``: the types come from the ONNX file.
        - ``weak``: the builder chooses the types.
        - ``choice``: the user chooses between ``strong`` and ``weak``.

        Strong typing came with 9.x
        (https://github.com/NVIDIA/TensorRT/blob/v9.3.0/samples/common/sampleOptions.cpp).
        Strong typing is the only mode from 11.0 on, because 11.0 removed the builder's precision flags
        (https://docs.nvidia.com/deeplearning/tensorrt/11.0.0/api/migration/tensorrt-10x-to-11x.html).
        TensorRT-RTX never had another mode
        (https://docs.nvidia.com/deeplearning/tensorrt-rtx/latest/getting-started/release-notes-1/1.0.html).
        """
        if self.product == "tensorrt-rtx" or self.number.major >= 11:
            return "strong"
        return "weak" if self.number.major < 9 else "choice"


@cache
def _number(text: str) -> Version:
    return Version(text)


@cache
def releases(product: Product) -> tuple[Release, ...]:
    """Return every known release of a product, oldest first."""
    return tuple(convert({**row, "product": product}, Release) for row in data("versions")[product])


@cache
def minors(product: Product) -> tuple[str, ...]:
    """Return the release lines of a product that are in versions.yaml, such as ``10.13``, oldest first."""
    return tuple(dict.fromkeys(release.minor for release in releases(product)))
