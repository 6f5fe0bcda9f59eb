"""Find layers that need not be computed, because an ONNX node computes the same result.

trtlint computes the convolutions and matrix products of a network with ONNX Runtime, which also computes the
ONNX model.  If a layer and an ONNX node have the same inputs, weights and settings, both give the same
result.  Then trtlint runs only the ONNX node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from trtlint.network.judge import is_identical
from trtlint.network.layers import Array, Layer, Network
from trtlint.network.parsing import WeightFiles

_OPS = {"CONVOLUTION": "Conv", "MATRIX_MULTIPLY": "MatMul"}
_FLOAT = np.dtype(np.float32)


class Initializers:
    """Reads initializers and constants of the main graph. External data are mapped into memory, not copied.

    Args:
        proto: the model, with large tensors as external data.
        files: object that maps files into memory.
    """

    def __init__(self, proto: ModelProto, files: WeightFiles) -> None:
        self._tensors = {tensor.name: tensor for tensor in proto.graph.initializer}
        for node in proto.graph.node:
            if node.op_type == "Constant" and node.output:
                self._tensors.update(
                    (node.output[0], each.t) for each in node.attribute if each.name == "value"
                )
        self._files = files

    def array(self, name: str) -> Array | None:
        """Return the elements of the stored tensor ``name``, or None if it is missing or unreadable."""
        tensor = self._tensors.get(name)
        if tensor is None:
            return None
        try:
            if tensor.data_location != TensorProto.EXTERNAL:
                return np.asarray(numpy_helper.to_array(tensor))
            place = {entry.key: entry.value for entry in tensor.external_data}
            path, offset, length = Path("/", place["location"]), int(place["offset"]), int(place["length"])
            data = self._files.bytes_of(path, offset, length)
            return data.view(helper.tensor_dtype_to_np_dtype(tensor.data_type)).reshape(tuple(tensor.dims))
        except (KeyError, OSError, ValueError):
            return None


class Twins:
    """Pairs of a network layer and an ONNX node that may compute the same tensor.

    Args:
        proto: the model.
        network: the network that the parser made from the model.
        names: for positions of network tensors, the name of the ONNX tensor to compare with.
        stored: object that reads initializers.
    """

    def __init__(
        self, proto: ModelProto, network: Network, names: Mapping[int, str], stored: Initializers
    ) -> None:
        givers = {name: node for node in proto.graph.node for name in node.output if name}
        self._stored = stored
        self._nodes: dict[int, NodeProto] = {}
        for layer in network.layers:
            op = _OPS.get(layer.kind)
            if op is None or layer.types != ("FLOAT",):
                continue
            node = givers.get(names.get(layer.outputs[0], ""))
            if node is not None and node.op_type == op and not node.domain:
                self._nodes[layer.index] = node

    def is_twin(self, layer: Layer, inputs: Sequence[Any], shared: Mapping[int, str]) -> bool:
        """Return whether a layer has the same inputs, weights and settings as its ONNX node.

        Args:
            layer: the layer.
            inputs: the values of the inputs of the layer.
            shared: for positions of network tensors, the name of the ONNX tensor with the same value.
        """
        node = self._nodes.get(layer.index)
        if node is None or any(getattr(array, "dtype", None) != _FLOAT for array in inputs):
            return False
        names = [shared.get(-1 if tensor is None else tensor) for tensor in layer.inputs]
        if layer.kind == "MATRIX_MULTIPLY":
            return self._is_product(layer, node, inputs, names)
        return names[:1] == [node.input[0]] and len(inputs) == 1 and self._is_convolution(layer, node)

    def _is_product(
        self, layer: Layer, node: NodeProto, inputs: Sequence[Array], names: Sequence[str | None]
    ) -> bool:
        if (layer.get("op0"), layer.get("op1")) != ("NONE", "NONE") or len(inputs) != len(node.input):
            return False
        if len({array.ndim for array in inputs}) > 1:
            return False
        return all(
            name == wanted or (name is None and self._is_stored(array, wanted, array.ndim))
            for array, name, wanted in zip(inputs, names, node.input, strict=True)
        ) and any(name is not None for name in names)

    def _is_stored(self, array: Array, name: str, rank: int) -> bool:
        """Return whether an array equals an initializer. The array may have more leading dimensions of 1."""
        values = self._stored.array(name)
        if values is None or values.ndim > rank or values.ndim < 2:
            return False
        return array.shape == (1,) * (rank - values.ndim) + values.shape and _same(array, values)

    def _is_convolution(self, layer: Layer, node: NodeProto) -> bool:
        given = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        kernel = self._stored.array(node.input[1])
        if kernel is None or given.get("auto_pad", b"NOTSET") != b"NOTSET":
            return False
        window = kernel.shape[2:]
        ones, zeros = (1,) * len(window), (0,) * 2 * len(window)
        wanted = (
            (layer.get("padding_mode"), "EXPLICIT_ROUND_DOWN"),
            (layer.get("kernel_size_nd"), window),
            (layer.get("stride_nd"), tuple(given.get("strides", ones))),
            (layer.get("dilation_nd"), tuple(given.get("dilations", ones))),
            (
                (*layer.get("pre_padding", ()), *layer.get("post_padding", ())),
                tuple(given.get("pads", zeros)),
            ),
            (layer.get("num_groups"), given.get("group", 1)),
            (layer.get("num_output_maps"), kernel.shape[0]),
        )
        if any(one != other for one, other in wanted):
            return False
        bias = self._stored.array(node.input[2]) if len(node.input) > 2 and node.input[2] else np.zeros(0)
        own = layer.settings["bias"].array()
        if bias is None or not _same(np.zeros(0) if own is None else own, bias):
            return False
        weights = layer.settings["kernel"].array()
        return weights is not None and _same(weights, kernel)


def _same(one: Array, other: Array) -> bool:
    """Return whether two arrays have the same elements.  Their shapes may differ."""
    if one.size != other.size or not one.size:
        return one.size == other.size
    if one.dtype != other.dtype:
        return False
    if one.ctypes.data == other.ctypes.data and one.flags.c_contiguous and other.flags.c_contiguous:
        return True
    return is_identical(one, other)
