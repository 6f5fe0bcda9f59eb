"""Tests that mapped weights give the same parsed network as the file."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.dry_build.rtx import NEEDS_WHEELS
from tests.model.wirebytes import field, number
from trtlint.network import parsing
from trtlint.network.parsing import WeightFiles, parse
from trtlint.network.read import NetworkReader


def model() -> onnx.ModelProto:
    """Return a model with weights in several forms, in its main graph and in a body."""
    text = """< ir_version: 8, opset_import: ["" : 17] >
        g (float[2,64] x, bool c) => (float[2,64] y, float[150] v) {
          a = MatMul(x, w)
          b = If(c) <then_branch = t () => (float[2,64] p) {
              k = Constant<value = float[1] {2}>() p = Mul(a, k) },
            else_branch = e () => (float[2,64] q) { q = Add(a, d) }>
          h = Conv(i, kernel)
          s = ReduceMean<keepdims = 0>(h)
          y = Add(b, s)
          v = Cast<to = 1>(u)
        }"""
    proto = onnx.parser.parse_model(text)
    generator = np.random.default_rng(0)
    for name, shape in (("w", (64, 64)), ("d", (2, 64)), ("kernel", (8, 4, 3, 3)), ("i", (1, 4, 6, 6))):
        values = generator.standard_normal(shape, np.float32)
        proto.graph.initializer.append(numpy_helper.from_array(values, name))
    # The parser reads the numbers of this form otherwise than raw data.
    proto.graph.initializer.append(helper.make_tensor("u", TensorProto.UINT8, [150], list(range(150))))
    return proto


def network_of(trt: Any, path: Path) -> tuple[list[object], bool]:
    """Return the layers and weights of a network, and whether weights were mapped."""
    parsed = parse(trt, path)
    assert parsed.network is not None
    found: list[object] = []
    for layer in NetworkReader(trt, parsed.network).read().layers:
        found.append((layer.kind, layer.name, layer.inputs, layer.outputs, layer.types))
        for name, value in sorted(layer.settings.items()):
            array = value.array() if hasattr(value, "array") else None
            found.append((name, value if array is None and not hasattr(value, "array") else repr(array)))
    return found, bool(parsed.files._maps)


@NEEDS_WHEELS
@pytest.mark.parametrize("external", [False, True])
def test_the_network_is_the_same(external: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trt: Any = importlib.import_module("tensorrt_rtx_bindings")
    path = tmp_path / "model.onnx"
    onnx.save_model(model(), path, save_as_external_data=external, location="weights.bin", size_threshold=900)
    whole, mapped = network_of(trt, path)
    assert not mapped
    monkeypatch.setattr(parsing, "_HEAVY", 1)
    monkeypatch.setattr(parsing, "_LEAST", 1024)
    assert network_of(trt, path) == (whole, True)


@NEEDS_WHEELS
def test_a_model_that_the_parser_refuses_has_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trt: Any = importlib.import_module("tensorrt_rtx_bindings")
    proto = model()
    proto.graph.node[0].op_type = "NoSuchOperator"
    onnx.save(proto, tmp_path / "model.onnx")
    monkeypatch.setattr(parsing, "_HEAVY", 1)
    assert parse(trt, tmp_path / "model.onnx").network is None


@NEEDS_WHEELS
def test_a_tensor_that_protobuf_cannot_decode_is_left_to_the_parser(tmp_path: Path) -> None:
    trt: Any = importlib.import_module("tensorrt_rtx_bindings")
    path = tmp_path / "model.onnx"
    cut_off = TensorProto(name="w", dims=[2000], data_type=TensorProto.FLOAT16).SerializeToString()
    cut_off += field(5, b"\x01" * 1999 + b"\x80")  # int32_data
    path.write_bytes(number(1, 8) + field(8, b"\x10\x11") + field(7, field(5, cut_off)))
    assert parse(trt, path).network is None


def test_a_file_that_is_too_short_cannot_be_mapped(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"12345678")
    files = WeightFiles()
    assert files.bytes_of(path, 2, 3).tobytes() == b"345"
    files.release()
    assert files.bytes_of(path, 6, 2).tobytes() == b"78"
    with pytest.raises(ValueError, match="too short"):
        files.bytes_of(path, 6, 3)


@pytest.mark.parametrize(
    ("external", "least", "names"),
    [
        (True, 576, "w kernel i"),
        (True, 577, "w kernel"),
        (False, 1152, "w kernel"),
        (False, 1153, "w"),
        (False, 1, "w kernel"),
    ],
)
def test_large_initializers_are_mapped(
    external: bool, least: int, names: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parsing, "_LEAST", least)
    proto, path = model(), tmp_path / "model.onnx"
    for twice in ("twice", "twice"):
        proto.graph.initializer.append(numpy_helper.from_array(np.ones(500, np.float32), twice))
    given = {tensor.name: numpy_helper.to_array(tensor) for tensor in proto.graph.initializer}
    onnx.save_model(proto, path, save_as_external_data=external, location="weights.bin", size_threshold=0)
    found, weights = parsing._structure(path, WeightFiles())
    assert [name for name, _ in weights] == names.split()
    for name, data in weights:
        assert data.tobytes() == given[name].tobytes()
    for tensor in found.graph.initializer:
        if tensor.name in names.split():
            places = [(entry.key, entry.value) for entry in tensor.external_data]
            assert (places, tensor.raw_data) == ([("location", "weights")], b"")
        else:
            values = numpy_helper.to_array(tensor, str(tmp_path))
            np.testing.assert_array_equal(values, given[tensor.name])


class Mapped:
    """A mapping of a file that records advice about its pages."""

    def __init__(self) -> None:
        self.advice: list[object] = []
        self.madvise = self.advice.append


@pytest.mark.parametrize("supported", [True, False])
def test_released_memory_is_that_of_all_files(supported: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "mmap", SimpleNamespace(**({"MADV_DONTNEED": 4} if supported else {})))
    maps = [Mapped(), Mapped()]
    files = WeightFiles()
    files._maps = {Path(str(at)): (cast("Any", each), np.zeros(1)) for at, each in enumerate(maps)}
    files.release()
    assert [each.advice for each in maps] == [[4] if supported else []] * 2
