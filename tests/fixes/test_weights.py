"""Tests that a fix neither reads nor copies external weights."""

from __future__ import annotations

import os
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto

from trtlint.cli import run

WIDTH = 1024
MODEL = f"""
< ir_version: 11, opset_import: ["" : 23] >
g (float[1,4,16,64] q, float[1,4,16,64] k, float[1,4,16,64] v, float[16,{WIDTH}] x)
  => (float[1,4,16,64] y, float[16,{WIDTH}] z)
{{
  y = Attention (q, k, v)
  z = MatMul (x, w)
}}
"""
IO = Path("/proc/self/io")


def read_so_far() -> int:
    """Return the number of bytes read by this process, with any call."""
    return int(IO.read_text().split()[1])


@pytest.mark.skipif(not IO.exists(), reason="the system does not count what a process reads")
def test_weights_beside_the_model_are_not_read(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(MODEL)
    weight = 4 * WIDTH * WIDTH
    size = 64 * weight
    tensor = model.graph.initializer.add(
        name="w", dims=[WIDTH, WIDTH], data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL
    )
    for key, value in {"location": "w.data", "offset": str(size // 2), "length": str(weight)}.items():
        tensor.external_data.add(key=key, value=value)
    path, data = tmp_path / "model.onnx", tmp_path / "w.data"
    path.write_bytes(model.SerializeToString())
    data.touch()
    os.truncate(data, size)
    command = ["fix", str(path), "--isolated", "--rtx", "1.7", "--gpu", "L4"]
    run(command)  # what is imported and learnt of rules is read but once
    (tmp_path / "model.fixed.onnx").unlink()
    before = read_so_far()
    assert run(command) == 0
    assert read_so_far() - before < weight / 4
    fixed = onnx.load(tmp_path / "model.fixed.onnx", load_external_data=False)
    assert [node.op_type for node in fixed.graph.node].count("Attention") == 0
    assert fixed.graph.initializer[0].SerializeToString() == tensor.SerializeToString()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model.fixed.onnx", "model.onnx", "w.data"]
