"""Convert a network of TensorRT's Python API to plain data."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from trtlint.network.layers import Array, Layer, Network, NotComputedError, Tensor
from trtlint.network.settings import ATTENTION, ATTENTION_TENSORS, CLASSES, GROUPS, SETTINGS, read_settings
from trtlint.network.types import dtype_of

_MOST_LAYERS = 200_000
_MOST_PORTS = 4096
_WEIGHTS: Mapping[str, tuple[str, ...]] = {
    "CONSTANT": ("weights",),
    "CONVOLUTION": ("kernel", "bias"),
    "DECONVOLUTION": ("kernel", "bias"),
    "SCALE": ("shift", "scale", "power"),
}
_OBJECT = 16
"""Size of the header of a Python object, in bytes.

After the header, Pybind11 stores the pointer to the wrapped object:
https://github.com/pybind/pybind11/blob/master/include/pybind11/detail/common.h
"""
_VALUES, _COUNT = 8, 16
"""Byte offsets of two fields of ``nvinfer1::Weights``: the pointer to the values, and their number.

https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_weights.html
"""
_HALVES = frozenset({"INT4", "FP4"})
"""4-bit types.  A byte has two numbers, with the first number in its lower half."""


class NetworkReader:
    """Converts one network to plain data.

    The reader keeps references to all objects of the network, because Python reuses ids of deleted objects.

    Args:
        trt: the Python module of TensorRT.
        network: the network, an object of the TensorRT library.
    """

    def __init__(self, trt: Any, network: Any) -> None:
        self._network = network
        self._classes = {name.lower(): getattr(trt, name) for name in dir(trt) if name.endswith("Layer")}
        self._held: list[Any] = []
        self._positions: dict[int, int] = {}
        self._groups: dict[int, int] = {}
        self._tensors: list[Tensor] = []

    def read(self) -> Network:
        """Return the network as plain data."""
        network = self._network
        inputs = tuple(self._tensor(network.get_input(index)) for index in range(network.num_inputs))
        count = min(network.num_layers, _MOST_LAYERS)
        layers = tuple(self._layer(index, network.get_layer(index)) for index in range(count))
        outputs = tuple(self._tensor(network.get_output(index)) for index in range(network.num_outputs))
        return Network(layers, tuple(self._tensors), inputs, outputs)

    def _tensor(self, tensor: Any) -> int:
        key = id(tensor)
        if key not in self._positions:
            self._held.append(tensor)
            self._positions[key] = len(self._tensors)
            self._tensors.append(Tensor(str(tensor.name), str(tensor.dtype.name)))
        return self._positions[key]

    def _layer(self, index: int, layer: Any) -> Layer:
        kind = str(layer.type.name)
        given = [layer.get_input(port) for port in range(min(layer.num_inputs, _MOST_PORTS))]
        inputs = tuple(None if tensor is None else self._tensor(tensor) for tensor in given)
        outputs = tuple(
            self._tensor(layer.get_output(port)) for port in range(min(layer.num_outputs, _MOST_PORTS))
        )
        name = str(layer.name)
        wanted = CLASSES.get(kind, f"I{kind.replace('_', '')}Layer").lower()
        settings: dict[str, Any] = {}
        group = -1
        if wanted in self._classes and kind not in ("PLUGIN", "PLUGIN_V2", "PLUGIN_V3"):
            layer.__class__ = self._classes[wanted]
            settings.update(read_settings(layer, SETTINGS.get(kind, ())))
            settings.update((each, LayerWeights(layer, each)) for each in _WEIGHTS.get(kind, ()))
            if kind in GROUPS:
                group = self._group(getattr(layer, GROUPS[kind]))
            if kind == "ATTENTION_INPUT":
                settings.update(self._attention(layer.attention))
        types = tuple(self._tensors[output].dtype for output in outputs)
        self._held.append(layer)
        return Layer(index, name, kind, inputs, outputs, types, settings, group)

    def _group(self, found: Any) -> int:
        self._held.append(found)
        return self._groups.setdefault(id(found), len(self._groups))

    def _attention(self, attention: Any) -> dict[str, Any]:
        """Return the settings of an attention layer. Tensors are given as positions in the network."""
        settings = dict(read_settings(attention, ATTENTION))
        for name in ATTENTION_TENSORS:
            tensor = getattr(attention, name, None)
            if tensor is not None:
                settings[name] = self._tensor(tensor)
        if "normalization_quantize_scale" in settings:  # without this check, the Python API logs an error
            settings.update(read_settings(attention, ("normalization_quantize_to_type",)))
        return settings


class LayerWeights(Struct, frozen=True, eq=False):
    """Weights in an attribute of a layer.

    Attributes:
        layer: the layer, an object of the TensorRT library.
        name: the attribute of the layer, such as ``kernel``.
    """

    layer: Any
    name: str

    def array(self) -> Array | None:
        """Return the weights as a flat array, or None if the attribute is empty.

        Raises:
            NotComputedError: the values cannot be read.
        """
        found = getattr(self.layer, self.name)
        if isinstance(found, np.ndarray):
            return found.ravel() if found.size else None
        return _raw(found)


def _raw(weights: Any) -> Array | None:
    """Read weights of a type that NumPy lacks, or return None if there are no weights.

    TensorRT's Python API gives no access to the bytes of such weights.  So trtlint reads the values from the
    C structure in memory.  Before that, trtlint checks that the type and the count in this structure agree
    with the Python API.
    """
    kind, count = str(weights.dtype.name), int(weights.size)
    if not count:
        return None
    dtype = dtype_of(kind)
    held = ctypes.c_void_p.from_address(id(weights) + _OBJECT).value
    if not held or ctypes.c_int32.from_address(held).value != int(weights.dtype.value):
        raise NotComputedError(f"weights of type {kind}")
    values = ctypes.c_void_p.from_address(held + _VALUES).value
    if not values or ctypes.c_int64.from_address(held + _COUNT).value != count:
        raise NotComputedError(f"weights of type {kind}")
    size = (count + 1) // 2 if kind in _HALVES else count * dtype.itemsize
    data: Array = np.frombuffer(memoryview((ctypes.c_uint8 * size).from_address(values)), np.uint8)
    if kind in _HALVES:
        return _unpacked(data)[:count].astype(np.uint8).view(dtype) if kind == "FP4" else _signed(data, count)
    return np.asarray(data.view(dtype).ravel())


def _unpacked(data: Array) -> Array:
    """Split each byte into two 4-bit numbers."""
    return np.stack([data & 15, data >> 4], axis=1).ravel()


def _signed(data: Array, count: int) -> Array:
    """Convert 4-bit numbers to INT4. Each byte of ``data`` stores two; the result has ``count`` numbers."""
    shifted: Array = (_unpacked(data)[:count] << 4).view(np.int8)
    return (shifted >> 4).astype(dtype_of("INT4"))
