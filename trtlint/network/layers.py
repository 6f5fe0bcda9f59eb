"""A TensorRT network as plain data, without the objects of the library that made it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from trtlint.errors import ExperimentError

Array = np.ndarray[Any, np.dtype[Any]]


class NotComputedError(ExperimentError):
    """A layer that trtlint cannot compute; the text is the reason."""


class Tensor(Struct, frozen=True):
    """A tensor of the network.

    Attributes:
        name: its name; the parser keeps ONNX's names where possible.
        dtype: TensorRT's name of its element type, such as ``HALF``.
        rank: the number of its dimensions; -1 if unknown.
    """

    name: str
    dtype: str
    rank: int = -1


class Layer(Struct, frozen=True):
    """A layer of the network.

    Attributes:
        index: its position in the network.
        name: its name.
        kind: the name of its ``LayerType``, such as ``SHUFFLE``.
        inputs: positions of its input tensors in ``Network.tensors``; None for an unconnected input.
        outputs: positions of its output tensors.
        types: TensorRT's names of the element types of its outputs.
        settings: its attributes under the names of the Python API; enumerations are their names.
        group: the number of the loop, conditional or attention that contains the layer; -1 if none does.
    """

    index: int
    name: str
    kind: str
    inputs: tuple[int | None, ...]
    outputs: tuple[int, ...]
    types: tuple[str, ...]
    settings: Mapping[str, Any]
    group: int = -1

    def get(self, name: str, default: Any = None) -> Any:
        """Return an attribute; the default if the release lacks the attribute, or it is not set."""
        found = self.settings.get(name)
        return default if found is None else found


class Network(Struct, frozen=True):
    """A network as plain data.

    Attributes:
        layers: all layers, in the network's order, which is not the order of computation.
        tensors: all tensors.
        inputs: positions of the network's inputs.
        outputs: positions of the network's outputs.
    """

    layers: tuple[Layer, ...]
    tensors: tuple[Tensor, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
