"""Variants of a small model: each differs from the model in one place.

Rules and rewrites have conditions that one example cannot hold: an input that is left out, a constant
that is computed, a shape that is not known, a value that something else reads, an older opset.  A model
and its neighbours try each of them from both sides.  They are for conditions, not for the checker: some
neighbours are not valid ONNX.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Change = tuple[str, Callable[[onnx.ModelProto], None]]

_OPSETS = (8, 11, 12, 13, 17, 18, 20, 21, 22)
_TYPES = {
    "FLOAT": (TensorProto.FLOAT16, TensorProto.DOUBLE),
    "FLOAT16": (TensorProto.FLOAT, TensorProto.BFLOAT16),
    "INT64": (TensorProto.INT32,),
    "INT32": (TensorProto.INT64,),
    "INT8": (TensorProto.UINT8,),
    "UINT8": (TensorProto.INT8,),
    "BOOL": (TensorProto.FLOAT,),
}
"""The element types to give to an input instead of its own."""


def variants(model: onnx.ModelProto) -> Iterator[tuple[str, onnx.ModelProto]]:
    """Yield a model and its variants, each with a unique name for the difference."""
    yield "as it is", model
    for name, change in _changes(model):
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        change(copy)
        if copy != model:
            yield name, copy


def _changes(model: onnx.ModelProto) -> Iterator[Change]:
    graph = model.graph
    for index, node in enumerate(graph.node):
        label = f"{index} {node.op_type}"
        for port, name in enumerate(node.input):
            if name:
                yield f"{label}: no input {port}", _without_input(index, port)
        if len(node.input) == 2:
            yield f"{label}: inputs swapped", _swapped(index)
        for attribute in node.attribute:
            for kind, change in _attribute_changes(index, attribute):
                yield f"{label}: {attribute.name} {kind}", change
        yield f"{label}: of another domain", _of_domain(index)
        yield f"{label}: is Neg", _another(index, "Neg")
        for number, name in enumerate(node.output):
            if name and all(info.name != name for info in graph.output):
                yield f"{label}: result {number} is an output", _as_output(name)
                yield f"{label}: result {number} is read once more", _read_again(name)
    for index, tensor in enumerate(graph.initializer):
        yield f"{tensor.name}: at run time", _computed(index)
        if tensor.data_location == TensorProto.EXTERNAL:
            continue
        for kind, array in _arrays(numpy_helper.to_array(tensor)):
            yield f"{tensor.name}: {kind}", _stored(index, array)
    for index, info in enumerate(graph.input):
        if info.type.HasField("tensor_type"):
            yield from _input_changes(index, info)
    own = next((entry.version for entry in model.opset_import if not entry.domain), None)
    for version in _OPSETS:
        if own is not None and version != own:
            yield f"opset {version}", _of_opset(version)


def _input_changes(index: int, info: onnx.ValueInfoProto) -> Iterator[Change]:
    tensor = info.type.tensor_type
    own = TensorProto.DataType.Name(tensor.elem_type)
    for elem_type in _TYPES.get(own, ()):
        yield f"{info.name}: {TensorProto.DataType.Name(elem_type)}", _typed(index, elem_type)
    if tensor.HasField("shape"):
        yield f"{info.name}: no rank", _unranked(index)
        yield f"{info.name}: one axis more", _deeper(index)
        for axis in range(len(tensor.shape.dim)):
            for size in (None, 1, 5):
                yield f"{info.name}: axis {axis} is {size or 'dynamic'}", _sized(index, axis, size)


def _attribute_changes(index: int, attribute: onnx.AttributeProto) -> Iterator[Change]:
    yield "left out", _attribute(index, attribute.name, None)
    value = helper.get_attribute_value(attribute)
    if attribute.type == attribute.INT:
        for other in {0, 1, -1, value + 1} - {value}:
            yield f"is {other}", _attribute(index, attribute.name, other)
    elif attribute.type == attribute.FLOAT:
        for other in (0.0, value * 2 + 1):
            yield f"is {other:.4g}", _attribute(index, attribute.name, other)
    elif attribute.type == attribute.INTS and value:
        yield "reversed", _attribute(index, attribute.name, list(value[::-1]))
        yield "one more", _attribute(index, attribute.name, [each + 1 for each in value])
        yield "shorter", _attribute(index, attribute.name, list(value[:-1]))
    elif attribute.type == attribute.STRING:
        yield "is another text", _attribute(index, attribute.name, "other")


def _arrays(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Return other numbers of the same type."""
    if array.dtype.kind not in "fiu" or not array.size or array.size > 4096:
        return
    yield "zeros", np.zeros_like(array)
    yield "ones", np.ones_like(array)
    if array.dtype.kind != "u":
        yield "negative", -array
    yield "in a vector", array.reshape(-1)
    yield "in a deeper shape", array[np.newaxis]
    if array.size > 1:
        changed = array.copy()
        changed.reshape(-1)[-1] = 3 if changed.reshape(-1)[-1] == 2 else 2
        yield "one of them differs", changed


def _without_input(index: int, port: int) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        inputs = model.graph.node[index].input
        if port == len(inputs) - 1:
            del inputs[port]
        else:
            inputs[port] = ""

    return change


def _swapped(index: int) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        node = model.graph.node[index]
        node.input[:] = node.input[::-1]

    return change


def _attribute(index: int, name: str, value: object) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        node = model.graph.node[index]
        kept = [each for each in node.attribute if each.name != name]
        del node.attribute[:]
        node.attribute.extend(kept)
        if value is not None:
            kind = onnx.AttributeProto.INTS if value == [] else None
            node.attribute.append(helper.make_attribute(name, value, attr_type=kind))

    return change


def _of_domain(index: int) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        model.graph.node[index].domain = "com.example"

    return change


def _another(index: int, op: str) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        node = model.graph.node[index]
        node.op_type = op
        del node.attribute[:]
        del node.input[1:]
        del node.output[1:]

    return change


def _as_output(name: str) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        model.graph.output.append(onnx.ValueInfoProto(name=name))

    return change


def _read_again(name: str) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        model.graph.node.append(helper.make_node("Identity", [name], ["another_reader"]))
        model.graph.output.append(onnx.ValueInfoProto(name="another_reader"))

    return change


def _computed(index: int) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        tensor = model.graph.initializer[index]
        model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
        del model.graph.initializer[index]

    return change


def _stored(index: int, array: np.ndarray) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        tensor = model.graph.initializer[index]
        tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(array), tensor.name))

    return change


def _typed(index: int, elem_type: int) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        model.graph.input[index].type.tensor_type.elem_type = elem_type

    return change


def _unranked(index: int) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        model.graph.input[index].type.tensor_type.ClearField("shape")

    return change


def _deeper(index: int) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        dims = model.graph.input[index].type.tensor_type.shape.dim
        dims.insert(0, onnx.TensorShapeProto.Dimension(dim_value=2))

    return change


def _sized(index: int, axis: int, size: int | None) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        dim = model.graph.input[index].type.tensor_type.shape.dim[axis]
        if size is None:
            dim.dim_param = "unknown"
        else:
            dim.dim_value = size

    return change


def _of_opset(version: int) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        next(entry for entry in model.opset_import if not entry.domain).version = version

    return change
