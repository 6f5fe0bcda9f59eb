"""Convert a network of TensorRT's Python API to plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trtlint.network.layers import Layer, Network, Tensor
from trtlint.network.settings import ATTENTION, ATTENTION_TENSORS, CLASSES, GROUPS, SETTINGS, read_settings
from trtlint.network.weights import LayerWeights

_MOST_LAYERS = 200_000
_MOST_PORTS = 4096
_WEIGHTS: Mapping[str, tuple[str, ...]] = {
    "CONSTANT": ("weights",),
    "CONVOLUTION": ("kernel", "bias"),
    "DECONVOLUTION": ("kernel", "bias"),
    "SCALE": ("shift", "scale", "power"),
}


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
