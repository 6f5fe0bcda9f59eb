"""Tests of sizes, lengths and limits at off-by-one boundaries."""

from __future__ import annotations

import re
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tests.graphs import model_of
from tests.model.wirebytes import varint
from trtlint.model import misreading
from trtlint.model.errors import ModelError
from trtlint.model.load import load
from trtlint.model.payload import stored_size
from trtlint.model.reader import read
from trtlint.model.wire import _encode, _overrun, fields


@pytest.mark.parametrize("value", [0, 1, 126, 127, 128, 129, 255, 16383, 16384, 2**35])
def test_lengths_are_written_in_as_few_bytes_as_they_take(value: int) -> None:
    assert _encode(value) == varint(value)


@pytest.mark.parametrize(
    ("dtype", "dims", "size"),
    [
        (TensorProto.INT4, (8,), 4),
        (TensorProto.INT4, (9,), 5),
        (TensorProto.UINT4, (1,), 1),
        (TensorProto.INT4, (0,), 0),
        (TensorProto.FLOAT, (2, 3), 24),
        (TensorProto.FLOAT16, (), 2),
        (TensorProto.BOOL, (7,), 7),
        (TensorProto.FLOAT, (2, -1), -1),
        (TensorProto.STRING, (2,), -1),
    ],
)
def test_bytes_of_elements(dtype: int, dims: tuple[int, ...], size: int) -> None:
    assert stored_size(onnx.TensorProto(data_type=dtype, dims=dims)) == size


def test_a_field_beyond_its_message_says_by_how_much() -> None:
    inside, at_end = _overrun(bytes(100), 5, 60, 50), _overrun(bytes(100), 5, 130, 100)
    assert re.findall(r"\d+", inside.message) == ["10"]
    assert inside.offset == 5
    assert re.findall(r"\d+", at_end.message) == ["5", "30"]
    assert at_end.offset == 100
    with pytest.raises(ModelError):
        list(fields(b"\x0a\x05abc", 0, 5))


@pytest.mark.parametrize(("count", "kept"), [(1024, True), (1025, False)])
def test_payloads_of_at_most_a_kibibyte_are_kept(count: int, kept: bool, tmp_path: Path) -> None:
    tensor = helper.make_tensor("w", TensorProto.UINT8, [count], bytes(count), raw=True)
    info = helper.make_tensor_value_info("y", TensorProto.UINT8, [count])
    graph = helper.make_graph([helper.make_node("Abs", ["w"], ["y"])], "g", [], [info], [tensor])
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, ir_version=8), path)
    (found,) = onnx.ModelProto.FromString(read(path).data).graph.initializer
    assert (len(found.raw_data) == count) == kept


@pytest.mark.parametrize(("sizes", "rank"), [("int64[3]", 3), ("int64[0]", 0), ("int64[N]", None)])
def test_a_reshape_has_as_many_dimensions_as_sizes(sizes: str, rank: int | None) -> None:
    model = model_of(f"""< ir_version: 8, opset_import: ["" : 17] > g (float[2,3] x, {sizes} s) => (float y)
    {{ a = Reshape (x, s)  b = ConstantOfShape (s)  y = Neg (a) }}""")
    found = [model.constants.dimensions(node.output) for node in model.graph.nodes[:2]]
    assert [None if dims is None else len(dims) for dims in found] == [rank, rank]


def test_types_of_constants_come_from_their_tensor() -> None:
    model = model_of("""< ir_version: 8, opset_import: ["" : 17] > g (int64[2] s) => (int32[A,B] y)
    { a = ConstantOfShape <value = int32[1] {7}> (s)  b = ConstantOfShape (s)
      c = Constant <value = float16[1] {1}> ()  d = Cast <to = 9> (a)  y = Abs (a) }""")
    assert [node.output.dtype for node in model.graph.nodes] == ["i32", "f32", "f16", "bool", "i32"]


@pytest.mark.parametrize(
    ("body", "dtype"),
    [
        ("y = ConstantOfShape <value = int32[1] {7}> (s)", "i32"),
        ("y = Constant <value = float16[1] {1}> ()", "f16"),
        ("y = Cast <to = 7> (s)", "i64"),
    ],
)
def test_a_wrong_declaration_does_not_decide_on_the_type(body: str, dtype: str) -> None:
    model = model_of(f"""< ir_version: 8, opset_import: ["" : 17] > g (int64[2] s) => (float[A] z)
    < double[B] y > {{ {body}  z = Cast <to = 1> (y) }}""")
    assert model.graph.nodes[0].output.dtype == dtype


def test_misread_calls_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    made = [object() for _ in range(5)]
    monkeypatch.setattr(misreading, "_MOST_FOUND", 3)
    monkeypatch.setattr(misreading._CallWalk, "graph", lambda *_: iter(made))
    assert len(misreading.misreadings(onnx.ModelProto())) == 3


def test_a_model_with_an_operator_set_of_its_own_is_read(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    text = '< ir_version: 8, opset_import: ["" : 17, "com.example" : 1] > g (float[1] x) => (float[1] y) {'
    onnx.save(onnx.parser.parse_model(text + " y = Neg (x) }"), path)
    assert load(path).opset == 17
