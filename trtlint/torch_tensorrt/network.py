"""Convert the networks that Torch-TensorRT creates to one graph of ONNX operators.

Each layer becomes the ONNX operators that compute the same result. If trtlint knows no such operators, the
layer becomes an operator of the domain ``tensorrt``. The fact modules ignore operators of this domain.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

from trtlint.model.errors import ModelError
from trtlint.model.graph import Graph
from trtlint.model.load import Model
from trtlint.model.operators import TORCH_TENSORRT
from trtlint.model.tensors import TensorStore
from trtlint.model.values import Constants
from trtlint.torch_tensorrt._layers import MOST_VALUES
from trtlint.torch_tensorrt.layers import TYPES, Operators, Substitute

_OPSET = 24
_MOST_VALUES_IN_ALL = 128 << 20
"""Largest number of bytes of all unpacked constants.

The limit is necessary: the dry run may have run untrusted code, so the constants are untrusted.
"""
_DAMAGED = (
    KeyError,
    IndexError,
    TypeError,
    ValueError,
    AttributeError,
    ModelError,
    OverflowError,
    struct.error,
    zlib.error,
)


def network_model(graphs: Iterable[Any], path: Path) -> Model | None:
    """Return the networks of all engines as one model, or None if the data are damaged or have a cycle.

    Args:
        graphs: the networks, as sent by the dry-run process.
        path: the file of the program.
    """
    made = onnx.GraphProto()
    shared = _SharedState()
    try:
        for graph in graphs:
            _Engine(graph, made, shared).add()
        tree = Graph(made)
    except _DAMAGED:
        return None
    tensors = TensorStore(path)
    return Model(
        path=path,
        graph=tree,
        constants=Constants(tree, tensors),
        tensors=tensors,
        opsets={"": _OPSET},
        ir_version=onnx.IR_VERSION,
        producer=TORCH_TENSORRT,
    )


class _SharedState:
    """The names in use and the number of bytes left for constants, shared by all engines."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._left = _MOST_VALUES_IN_ALL

    def unpacked(self, data: Any) -> bytes | None:
        """Return the values of a constant.

        The result is None if there are no values, or if the limit for all constants is reached. The result
        has at most as many bytes as the limit for one constant.
        """
        if not isinstance(data, str) or self._left <= 0:
            return None
        found = zlib.decompressobj().decompress(base64.b64decode(data), MOST_VALUES)
        self._left -= len(found)
        return found

    def new(self, name: str) -> str:
        """Return a name that no other value has."""
        name = name or "tensor"
        found, count = name, 1
        while found in self._taken:
            count += 1
            found = f"{name}#{count}"
        self._taken.add(found)
        return found


class _Engine:
    """Converts the network of one engine to operators, and adds these operators to a graph."""

    def __init__(self, graph: Mapping[str, Any], made: onnx.GraphProto, shared: _SharedState) -> None:
        self._graph, self._made, self._new = graph, made, shared.new
        self._unpacked = shared.unpacked
        self._tensors = [(str(name), str(dtype), shape) for name, dtype, shape in graph["tensors"]]
        self._names = [shared.new(name) for name, _, _ in self._tensors]
        self._values: dict[int, bytes | None] = {}
        """For the position of each stored tensor, its bytes; None if the bytes are unknown."""
        self._readers: dict[int, set[str]] = defaultdict(set)
        for layer in graph["layers"]:
            for position in layer["inputs"]:
                self._readers[position].add(str(layer["kind"]))

    def add(self) -> None:
        for position in self._graph["inputs"]:
            self._made.input.append(self._info(position))
        for layer in self._graph["layers"]:
            self._layer(layer)
        for position in self._graph["outputs"]:
            self._made.output.append(self._info(position))

    def _info(self, position: int) -> onnx.ValueInfoProto:
        _, dtype, shape = self._tensors[position]
        return _described(self._names[position], dtype, shape)

    def _layer(self, layer: Mapping[str, Any]) -> None:
        outputs = [self._tensors[position] for position in layer["outputs"]]
        if layer["kind"] == "CONSTANT":
            (output,) = layer["outputs"]
            self._keep(output, self._unpacked(layer["settings"].get("data")))
            return
        inputs = [None if each is None else self._tensors[each] for each in layer["inputs"]]
        names = ["" if each is None else self._names[each] for each in layer["inputs"]]
        mask = layer["settings"].get("mask")
        if mask is not None:
            names, inputs = [*names, self._names[mask]], [*inputs, self._tensors[mask]]
        names = [self._transposed(layer, port, name) for port, name in enumerate(names)]
        steps = Operators(layer["kind"], layer["settings"], inputs, outputs).made()
        if self._is_view(layer, steps):
            return
        value = names[:1]
        *before, last = steps
        for step in before:
            ((_, dtype, _),) = outputs
            result = self._new(f"{value[0]}_")
            self._node(layer, step, self._operands(layer, step, value, names), [result])
            self._made.value_info.append(_described(result, dtype, step.shape))
            value = [result]
        results = [self._names[each] for each in layer["outputs"]]
        self._node(layer, last, self._operands(layer, last, value, names), results)
        for position in layer["outputs"]:
            self._made.value_info.append(self._info(position))

    def _operands(self, layer: Any, step: Substitute, value: list[str], names: list[str]) -> list[str]:
        """Return the inputs of an operator.

        One layer can become several operators. The inputs of each operator are the result of the previous
        operator, further inputs of the layer, and constants.
        """
        stored = [self._stored(each, _place(layer["name"])[1]) for each in step.stored]
        return [*value, *(names[1:] if step.rest else []), *stored]

    def _keep(self, position: int, data: bytes | None) -> None:
        self._values[position] = data
        self._store(self._names[position], *self._tensors[position][1:], data)

    def _is_view(self, layer: Any, steps: list[Substitute]) -> bool:
        """Return whether a layer only changes an operand's shape. If so, add a replacement to the graph.

        Torch-TensorRT adds such layers before element-wise layers, to broadcast operands. ONNX operators
        broadcast implicitly, so a stored tensor or an ``Identity`` is enough.
        """
        if len(steps) != 1 or not layer["inputs"] or not layer["outputs"]:
            return False
        (step,), (before, *_), (after, *_) = steps, layer["inputs"], layer["outputs"]
        if step.op == "Reshape" and before in self._values and not step.rest:
            self._keep(after, self._values[before])
            return True
        if step.op != "Expand" or self._readers[after] != {"ELEMENTWISE"}:
            return False
        name, dtype, _ = self._tensors[after]
        self._tensors[after] = (name, dtype, self._tensors[before][2])
        if before in self._values:
            self._keep(after, self._values[before])
        else:
            self._node(layer, Substitute("Identity"), [self._names[before]], [self._names[after]])
            self._made.value_info.append(self._info(after))
        return True

    def _transposed(self, layer: Any, port: int, name: str) -> str:
        """Return the name of an operand.  If the layer transposes the operand, add a ``Transpose``."""
        if layer["settings"].get(f"op{port}") != "TRANSPOSE":
            return name
        _, dtype, shape = self._tensors[layer["inputs"][port]]
        order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
        found = self._new(f"{name}_")
        self._node(layer, Substitute("Transpose", (("perm", order),)), [name], [found])
        self._made.value_info.append(_described(found, dtype, [shape[axis] for axis in order]))
        return found

    def _stored(self, tensor: tuple[str, Sequence[int], bytes | None], layer: str) -> str:
        name = self._new(f"{layer}/constant")
        self._store(name, *tensor)
        return name

    def _store(self, name: str, dtype: str, shape: Any, data: bytes | None) -> None:
        sizes = [int(size) for size in shape]
        tensor = self._made.initializer.add(name=name, data_type=TYPES[dtype], dims=sizes)
        if data is None:
            tensor.data_location = TensorProto.EXTERNAL  # the values stay in the dry-run process
        else:
            tensor.raw_data = data

    def _node(self, layer: Any, step: Substitute, inputs: list[str], outputs: list[str]) -> None:
        module, name = _place(layer["name"])
        node = helper.make_node(
            step.op, inputs, outputs, name=name, domain=step.domain, **dict(step.attributes)
        )
        position = layer["node"]
        if position >= 0:
            known = self._graph["nodes"][position]
            module = module or known["module"]
            trace = str(self._graph["traces"][known["trace"]])
            node.metadata_props.add(key="pkg.torch.onnx.stack_trace", value=trace)
        if module:
            node.metadata_props.add(key="pkg.torch.onnx.name_scopes", value=repr(["", module, "node"]))
        self._made.node.append(node)


def _described(name: str, dtype: str, shape: Any) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TYPES.get(dtype, 0), _sizes(shape))


def _sizes(shape: Any) -> list[int | None] | None:
    """Return the sizes of a tensor, with None for dynamic sizes."""
    return None if shape is None else [int(size) if size >= 0 else None for size in shape]


def _place(name: str) -> tuple[str, str]:
    """Return the module and the shortened name of a layer.

    >>> _place("[MATRIX_MULTIPLY]-[aten_ops.bmm.default]-[blocks.0.attn/bmm]")
    ('blocks.0.attn', 'blocks.0.attn/bmm')
    """
    text = str(name)
    if text.startswith("[") and text.endswith("]"):
        text = text.rpartition("-[")[2][:-1]
    module = text.rpartition("/")[0]
    return module, text
