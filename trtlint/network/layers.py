"""Represent a TensorRT network as plain data, without objects of the TensorRT library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from trtlint.errors import ExperimentError

Array = np.ndarray[Any, np.dtype[Any]]


class NotComputedError(ExperimentError):
    """Error: trtlint cannot compute a layer.  The message is the reason."""


class Tensor(Struct, frozen=True):
    """A tensor of the network.

    Attributes:
        name: the name.  The parser uses the ONNX name where possible.
        dtype: TensorRT's name of the element type, such as ``HALF``.
    """

    name: str
    dtype: str


class Layer(Struct, frozen=True):
    """A layer of the network.

    Attributes:
        index: the position of the layer in the network.
        name: the name.
        kind: the name of the ``LayerType``, such as ``SHUFFLE``.
        inputs: positions of the input tensors in ``Network.tensors``; None for an unconnected input.
        outputs: positions of the output tensors in ``Network.tensors``.
        types: TensorRT's names of the element types of the outputs.
        settings: the attributes of the layer.  Keys are names in TensorRT's Python API.  An enumeration value
            is stored as its name.
        group: the number of the loop, conditional or attention that the layer begins, limits or ends; -1 for
            any other layer.
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
        """Return an attribute of the layer.

        Return ``default`` if the attribute is not set, or does not exist in this release of TensorRT.
        """
        found = self.settings.get(name)
        return default if found is None else found


class Network(Struct, frozen=True):
    """A network as plain data.

    Attributes:
        layers: all layers, in the order of TensorRT's network.  This is not always the order of computation.
        tensors: all tensors.
        inputs: positions of the network inputs in ``tensors``.
        outputs: positions of the network outputs in ``tensors``.
    """

    layers: tuple[Layer, ...]
    tensors: tuple[Tensor, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    @property
    def conditions(self) -> dict[int, int]:
        """For each conditional, by its number: the tensor that selects the branch."""
        return {
            layer.group: tensor
            for layer in self.layers
            if layer.kind == "CONDITION"
            for tensor in layer.inputs
            if tensor is not None
        }
