"""Large models that use no disk space because their weights are holes in the file."""

from __future__ import annotations

from pathlib import Path

from onnx import TensorProto, helper

from trtlint.model.wire import header, record

_GRAPH, _INITIALIZER, _RAW = 7, 5, 9
"""Fields of ModelProto, GraphProto and TensorProto."""


def transformer(path: Path, layers: int = 12, width: int = 768) -> int:
    """Write an encoder of linear layers (28 MB of weights each) with a final FP32 norm.

    Returns:
        Size of the file in bytes.
    """
    tensors: list[tuple[bytes, int]] = []
    nodes = []
    value = "x"

    def weight(name: str, *shape: int) -> str:
        size = 4
        for dim in shape:
            size *= dim
        proto = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape).SerializeToString()
        before = proto + header(_RAW, size)
        tensors.append((header(_INITIALIZER, len(before) + size) + before, size))
        return name

    for layer in range(layers):
        for part, rows, columns in (
            *((part, width, width) for part in ("query", "key", "value", "dense")),
            ("up", width, 4 * width),
            ("down", 4 * width, width),
        ):
            name = f"encoder.layer.{layer}.{part}"
            matrix, bias = weight(f"{name}.weight", rows, columns), weight(f"{name}.bias", columns)
            nodes.append(helper.make_node("MatMul", [value, matrix], [f"{name}.m"], name=f"/{name}/MatMul"))
            nodes.append(helper.make_node("Add", [f"{name}.m", bias], [name], name=f"/{name}/Add"))
            value = name
    nodes += [
        helper.make_node("Mul", [value, value], ["s"]),
        helper.make_node("ReduceMean", ["s"], ["v"], axes=[-1], keepdims=1),
        helper.make_node("Sqrt", ["v"], ["r"]),
        helper.make_node("Div", [value, "r"], ["y"]),
    ]
    around = helper.make_graph(
        nodes,
        "encoder",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", "L", width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", "L", width])],
    ).SerializeToString()
    outside = helper.make_model(
        helper.make_graph([], "", [], []), opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    outside.ClearField("graph")
    length = len(around) + sum(len(before) + size for before, size in tensors)
    with path.open("wb") as file:
        file.write(outside.SerializeToString() + header(_GRAPH, length) + around)
        for before, size in tensors:
            file.write(before)
            file.seek(size, 1)
        file.write(record(14, b""))  # metadata, so that the file does not end in a hole
    return path.stat().st_size
