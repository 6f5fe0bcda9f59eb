"""Tests of in-memory models: read like files, without copies of the weights."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import trtlint
from trtlint.model.errors import ModelError
from trtlint.model.load import load
from trtlint.model.memory import NAME, MemoryModel
from trtlint.model.tensors import LEFT

WEIGHT = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
SCALE = np.full((64,), 3.5, np.float16)


def proto(**weights: np.ndarray[Any, Any]) -> onnx.ModelProto:
    """Return a chain of products with stored matrices."""
    held = weights or {"w": WEIGHT}
    names = ["x", *(f"y{index}" for index in range(len(held)))]
    nodes = [
        helper.make_node("MatMul", [before, weight], [after], name=f"/{weight}")
        for before, after, weight in zip(names, names[1:], held, strict=False)
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 64])],
        [helper.make_tensor_value_info(names[-1], TensorProto.FLOAT, [1, 64])],
        [numpy_helper.from_array(array, name) for name, array in held.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def read(model: Any) -> Any:
    return load(Path(NAME), MemoryModel(model))


def weight(model: Any) -> Any:
    return model.graph.nodes[0].input(1)


def test_large_tensors_are_read_where_they_are() -> None:
    raw = MemoryModel(proto()).read()
    assert len(raw.data) < 1000 < WEIGHT.nbytes
    model = read(proto())
    value = weight(model)
    np.testing.assert_array_equal(model.constants.payload(value), WEIGHT)
    assert model.notes == ()


def test_tensors_in_attributes_and_bodies_are_left_too() -> None:
    body = helper.make_graph(
        [helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(WEIGHT))],
        "body",
        [],
        [helper.make_tensor_value_info("c", TensorProto.FLOAT, [64, 64])],
    )
    graph = helper.make_graph(
        [helper.make_node("If", ["x"], ["y"], then_branch=body, else_branch=body)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.BOOL, [])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [64, 64])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    assert len(MemoryModel(model).read().data) < 2000
    assert any("Constant" in node.op for node in read(model).graph.nodes)


def test_the_model_is_not_changed() -> None:
    model = proto()
    before = model.SerializeToString(deterministic=True)
    trtlint.lint(model)
    assert model.SerializeToString(deterministic=True) == before


def test_no_copy_of_the_weights_is_made() -> None:
    model = proto(**{f"w{index}": np.ones((64, 64 * 64), np.float32) for index in range(8)})
    MemoryModel(model).read()
    tracemalloc.start()
    MemoryModel(model).read()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20  # one of the eight tensors takes as much


def test_external_data_are_not_looked_for_and_not_missing() -> None:
    model = proto()
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="w.bin")
    (report,) = trtlint.lint(model).models
    assert report.errors == ()
    assert any("'w.bin' are not in memory" in note for note in report.notes)


def test_a_model_cannot_name_tensors_of_ours() -> None:
    model = proto()
    model.graph.initializer.add(
        name="evil",
        data_type=TensorProto.FLOAT,
        dims=[64, 64],
        data_location=TensorProto.EXTERNAL,
        external_data=[
            onnx.StringStringEntryProto(key="location", value=LEFT),
            onnx.StringStringEntryProto(key="offset", value="0"),
        ],
    )
    held = read(model)
    assert held.tensors.array(weight(held).initializer) is not None
    assert trtlint.lint(model).models[0].errors == ()


@pytest.mark.parametrize("count", [0, 3, 64 * 64 * 4 + 1])
def test_a_payload_that_does_not_fit_its_shape(count: int) -> None:
    model = proto()
    model.graph.initializer[0].raw_data = b"\0" * count
    held = read(model)
    assert held.constants.payload(weight(held)) is None
    assert any("do not match the shape" in note for note in held.notes)


def test_what_is_no_model() -> None:
    with pytest.raises(TypeError, match="model=1: expected a path"):
        MemoryModel(1)
    (report,) = trtlint.lint(onnx.ModelProto()).models
    assert "contains no graph" in report.errors[0].message


@pytest.mark.slow
def test_findings_are_those_of_the_file(exported: Path) -> None:
    for path in sorted(exported.glob("*.onnx"))[::60]:
        target = trtlint.Target(version="10.7", asked=frozenset({"fp16"}))
        (of_file,) = trtlint.lint(path, target).models
        (of_proto,) = trtlint.lint(onnx.load(path), target).models
        assert of_proto.findings == of_file.findings, path.name


@pytest.mark.slow
def test_a_model_of_onnx_ir(tmp_path: Path) -> None:
    onnx_ir = pytest.importorskip("onnx_ir")
    onnx.save(proto(w=WEIGHT), tmp_path / "m.onnx")
    ir = onnx_ir.load(tmp_path / "m.onnx")
    raw = MemoryModel(ir).read()
    assert len(raw.data) < 1000
    model = read(ir)
    np.testing.assert_array_equal(model.constants.payload(weight(model)), WEIGHT)
    assert set(ir.graph.initializers) == {"w"}


def test_what_torch_exports() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")

    class Norm(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)

    program = torch.onnx.export(Norm(), (torch.ones(2, 64),), dynamo=True, verbose=False)
    target = trtlint.Target(version="10.7", asked=frozenset({"fp16"}))
    for model in (program, program.model, program.model_proto):
        (report,) = trtlint.lint(model, target).models
        sources = {str(site.source) for finding in report.findings for site in finding.sites}
        assert any("test_memory.py" in source for source in sources)


def ir_model(**values: np.ndarray[Any, Any]) -> Any:
    """Return an ONNX IR model with these initializers."""
    onnx_ir = pytest.importorskip("onnx_ir")
    return onnx_ir.from_proto(proto(**values))


def test_large_initializers_of_onnx_ir() -> None:
    """The size limit is the file limit, 1024 bytes. Small initializers come first."""
    arrays: dict[str, np.ndarray[Any, Any]] = {
        "a": np.arange(64 * 64, dtype=np.float32).reshape(64, 64),
        "b": np.full(256, 2, np.float32),
        "c": np.full(257, 3, np.float32),
        "d": np.full((64, 64), 4, np.float16),
    }
    model = ir_model(**arrays)
    raw = MemoryModel(model).read()
    stored = {tensor.name: tensor for tensor in onnx.ModelProto.FromString(raw.data).graph.initializer}
    assert list(stored) == ["b", "a", "c", "d"]
    places = {
        name: {entry.key: entry.value for entry in tensor.external_data} for name, tensor in stored.items()
    }
    assert places == {
        "b": {},
        **{name: {"location": LEFT, "offset": str(place)} for place, name in enumerate("acd")},
    }
    for name, array in arrays.items():
        found = raw.tensors.array(stored[name])
        assert found is not None
        np.testing.assert_array_equal(found, array)
        assert found.dtype == array.dtype
        assert raw.tensors.place(stored[name]) is None


def test_an_initializer_of_onnx_ir_without_values() -> None:
    """ONNX IR omits it and prints a warning."""
    model = ir_model(a=np.ones((64, 64), np.float32), b=np.ones((64, 64), np.float32))
    model.graph.initializers["a"].const_value = None
    raw = MemoryModel(model).read()
    assert [tensor.name for tensor in onnx.ModelProto.FromString(raw.data).graph.initializer] == ["b"]


def test_a_model_that_onnx_ir_cannot_write(monkeypatch: pytest.MonkeyPatch) -> None:
    onnx_ir = pytest.importorskip("onnx_ir")

    def fail(*_: object) -> None:
        raise KeyError("a\n  name")

    monkeypatch.setattr(onnx_ir.serde, "serialize_model_into", fail)
    with pytest.raises(ModelError) as caught:
        MemoryModel(ir_model(a=SCALE)).read()
    assert caught.value.message == "the library onnx_ir cannot write this model: 'a\\n name'"
