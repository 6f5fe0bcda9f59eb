"""Read the network of an engine as data.  This module runs in the dry-run process."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from trtlint.network.settings import ATTENTION, CLASSES, SETTINGS, read_settings

MOST_LAYERS = 30_000
MOST_VALUES = 4 << 20
"""Maximum size, in bytes, of a constant whose values are sent, such as an attention mask."""
_MOST_SENT = 64 << 10
_MOST_SENT_IN_ALL = 8 << 20
"""Largest number of compressed bytes for all constants of an engine.

``_MOST_SENT`` is the largest number for one constant.
"""
_SAMPLE = 16 << 10
_LONGEST = 300
_MOST_PORTS = 256
_KERNELS = ("CONVOLUTION", "DECONVOLUTION")
_SCALES = ("shift", "scale", "power")


class LayerReader:
    """Reads the layers of one network, and finds the program node that each layer comes from.

    Args:
        trt: the module of TensorRT's Python API.
        network: the network.
        owners: for each layer, the position of the program node that the layer comes from.
    """

    def __init__(self, trt: Any, network: Any, owners: Mapping[int, int]) -> None:
        self._network, self._owners = network, owners
        self._classes = {name.lower(): getattr(trt, name) for name in dir(trt) if name.endswith("Layer")}
        self._held: list[Any] = []
        self._positions: dict[int, int] = {}
        self._tensors: list[list[Any]] = []
        self._sent = 0

    def read(self) -> dict[str, Any] | None:
        """Return the network as JSON data, or None if it has too many layers."""
        network = self._network
        if network.num_layers > MOST_LAYERS:
            return None
        inputs = [self._tensor(network.get_input(index)) for index in range(network.num_inputs)]
        layers = [self._layer(index, network.get_layer(index)) for index in range(network.num_layers)]
        outputs = [self._tensor(network.get_output(index)) for index in range(network.num_outputs)]
        return {"tensors": self._tensors, "inputs": inputs, "outputs": outputs, "layers": layers}

    def _tensor(self, tensor: Any) -> int:
        # While a tensor object exists, the library returns the same object for the same tensor.
        key = id(tensor)
        if key not in self._positions:
            self._held.append(tensor)
            self._positions[key] = len(self._tensors)
            try:
                shape: list[int] | None = [int(size) for size in tensor.shape]
            except ValueError:  # an unknown rank
                shape = None
            self._tensors.append([str(tensor.name)[:_LONGEST], str(tensor.dtype.name), shape])
        return self._positions[key]

    def _layer(self, index: int, layer: Any) -> dict[str, Any]:
        self._held.append(layer)
        kind = str(layer.type.name)
        settings: dict[str, Any] = {}
        wanted = CLASSES.get(kind, f"I{kind.replace('_', '')}Layer").lower()
        if wanted in self._classes and not kind.startswith("PLUGIN"):
            layer.__class__ = self._classes[wanted]
            settings.update(read_settings(layer, SETTINGS.get(kind, ())))
            settings.update(self._weights(kind, layer))
            if kind == "ATTENTION_INPUT":
                settings.update(read_settings(layer.attention, ATTENTION))
                mask = getattr(layer.attention, "mask", None)
                settings["mask"] = None if mask is None else self._tensor(mask)
        ports = range(min(layer.num_inputs, _MOST_PORTS))
        inputs = [None if (each := layer.get_input(port)) is None else self._tensor(each) for port in ports]
        outputs = [
            self._tensor(layer.get_output(port)) for port in range(min(layer.num_outputs, _MOST_PORTS))
        ]
        return {
            "kind": kind,
            "name": str(layer.name)[:_LONGEST],
            "inputs": inputs,
            "outputs": outputs,
            "settings": settings,
            "node": self._owners.get(index, -1),
        }

    def _weights(self, kind: str, layer: Any) -> dict[str, Any]:
        if kind == "CONSTANT":
            data = self._values(layer.weights)
            return {} if data is None else {"data": data}
        if kind in _KERNELS:
            return {"kernel": _size(layer.kernel), "bias": _size(layer.bias)}
        if kind == "SCALE":
            return {name: _size(getattr(layer, name)) for name in _SCALES}
        return {}

    def _values(self, weights: Any) -> str | None:
        """Return the compressed values of a constant.

        Return None if the constant is too large, or if its type is not supported.
        """
        size = int(getattr(weights, "nbytes", 0))
        if not 0 < size <= MOST_VALUES or not hasattr(weights, "tobytes"):
            return None
        raw = weights.tobytes()
        if len(raw) > _MOST_SENT and len(zlib.compress(raw[:_SAMPLE], 1)) > _SAMPLE // 4:
            return None
        packed = zlib.compress(raw, 1)
        if len(packed) > _MOST_SENT or self._sent + len(packed) > _MOST_SENT_IN_ALL:
            return None
        self._sent += len(packed)
        return base64.b64encode(packed).decode("ascii")


def _size(weights: Any) -> int:
    return int(getattr(weights, "size", 0) or 0)


def watch_owners(interpreter: Any) -> tuple[dict[int, int], list[Any]]:
    """Patch an interpreter so that it records, for each layer, the program node that the layer comes from.

    Returns:
        A dictionary and the list of nodes. The dictionary maps the index of each layer to the position of its
        node in the list. The interpreter fills both objects while it runs.
    """
    owners: dict[int, int] = {}
    nodes: list[Any] = []
    run_node: Callable[[Any], Any] = interpreter.run_node

    def watched(node: Any) -> Any:
        begin = interpreter.ctx.net.num_layers
        try:
            return run_node(node)
        finally:
            end = interpreter.ctx.net.num_layers
            if end > begin:
                owners.update(dict.fromkeys(range(begin, min(end, MOST_LAYERS)), len(nodes)))
                nodes.append(node)

    interpreter.run_node = watched
    return owners, nodes
