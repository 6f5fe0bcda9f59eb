"""What the checker says of structures without their weights."""

from __future__ import annotations

import onnx

from trtlint.model.check import checker_error


def padded(op: str) -> onnx.ModelProto:
    """A model whose sizes of padding lie in a file of their own."""
    model = onnx.parser.parse_model(
        f'< ir_version: 8, opset_import: ["" : 17] > g (float[2] x) => (float[A] y) {{ y = {op} (x, pads) }}'
    )
    tensor = onnx.TensorProto(name="pads", data_type=onnx.TensorProto.INT64, dims=[2])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", "w.bin"), ("offset", "0"), ("length", "16")):
        tensor.external_data.add(key=key, value=value)
    model.graph.initializer.append(tensor)
    return model


def test_sizes_in_files_of_their_own_are_no_fault() -> None:
    assert not checker_error(padded("Pad"))


def test_another_fault_of_such_a_model_is_told() -> None:
    assert "NoSuchOperator" in checker_error(padded("NoSuchOperator"))
