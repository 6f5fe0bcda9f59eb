"""Tests of file properties of a model, and of types that contradict the operators."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import parser

from trtlint.model import load as module
from trtlint.model.errors import ModelError
from trtlint.model.infer import InferenceError, infer
from trtlint.model.load import Model, load, structure, undeclared

HEAD = '<ir_version: 8, opset_import: ["": 17, "own": 3], producer_name: "maker", producer_version: "2">'


def saved(folder: Path, text: str, head: str = HEAD) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(parser.parse_model(f"{head} {text}").SerializeToString())
    return path


def types(model: Model) -> dict[str, str]:
    return {value.name: value.type_text for node in model.graph.nodes for value in node.outputs}


PLAIN = "g (float[2,3] x) => (float[2,3] y) { a = Relu (x)  y = Neg (a) }"
WRONG = "g (float[2,3] x) => (int64[9] y, float z) { a = Relu (x)  y = Neg (a)  z = own.Thing (a) }"


def test_what_the_file_states(tmp_path: Path) -> None:
    proto = parser.parse_model(f"{HEAD} {PLAIN}")
    proto.metadata_props.add(key="k", value="v")
    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    model = load(path)
    assert (model.path, model.opset, model.opsets, model.ir_version) == (path, 17, {"": 17, "own": 3}, 8)
    assert (model.producer, model.metadata, model.declared) == ("maker 2", {"k": "v"}, {"y": "f32"})
    assert (model.calls, model.call_paths, model.untyped, model.misread) == ((), (), "", ())
    assert model.notes == ()
    assert types(model) == {"a": "f32[2,3]", "y": "f32[2,3]"}


@pytest.mark.parametrize(
    ("head", "producer", "opset"),
    [
        ('<ir_version: 8, opset_import: ["": 17], producer_name: "maker">', "maker", 17),
        ('<ir_version: 8, opset_import: ["": 17], producer_version: "2">', "2", 17),
        ('<ir_version: 8, opset_import: ["own": 1]>', "", None),
    ],
)
def test_a_producer_and_an_opset_may_be_missing(
    tmp_path: Path, head: str, producer: str, opset: int | None
) -> None:
    model = load(saved(tmp_path, "g (float[2] x) => (float[2] y) { y = own.A (x) }", head))
    assert (model.producer, model.opset) == (producer, opset)


def test_declared_types_that_contradict_the_operators_are_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the library refuses the declared types, it infers the types without them."""
    calls: list[onnx.ModelProto] = []

    def refuse_first(data: bytes) -> bytes:
        calls.append(onnx.ModelProto.FromString(data))
        if len(calls) == 1:
            raise InferenceError("why", refused=True)
        return infer(data)

    monkeypatch.setattr(module, "infer", refuse_first)
    model = load(saved(tmp_path, WRONG))
    assert types(model) == {"a": "f32[2,3]", "y": "f32[2,3]", "z": ""}
    assert (model.declared, model.untyped) == ({"y": "i64", "z": "f32"}, "")
    assert model.notes == ("declared types contradict the operators and were ignored: why",)
    assert [[output.HasField("type") for output in call.graph.output] for call in calls] == [
        [True, True], [False, False]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("refused", "known", "untyped"),
    [
        (True, {"a": "f32", "y": "f32[9]", "z": "f32[]"}, ""),
        (False, {"a": "f32", "y": "f32[9]", "z": "f32[]"}, "why"),
    ],
)
def test_without_inference_only_declared_types_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: bool, known: dict[str, str], untyped: str
) -> None:
    calls: list[bytes] = []

    def fail(data: bytes) -> bytes:
        calls.append(data)
        raise InferenceError("why", refused=refused)

    monkeypatch.setattr(module, "infer", fail)
    model = load(saved(tmp_path, WRONG))
    assert types(model) == known
    assert model.notes == ("shape inference failed, so only declared types are known: why",)
    assert (model.untyped, model.declared) == (untyped, {"y": "i64", "z": "f32"})
    assert len(calls) == (2 if refused else 1)


def test_inference_that_fails_does_not_matter_if_all_types_are_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(data: bytes) -> bytes:
        raise InferenceError("why")

    monkeypatch.setattr(module, "infer", fail)
    model = load(saved(tmp_path, "g (float[2] x) => (float[2] y) { y = Neg (x) }"))
    assert model.untyped == ""
    model = load(
        saved(tmp_path, "g (float[2] x) => (float[2] y) <float[2] a> { a = own.A (x)  y = Neg (a) }")
    )
    assert (types(model), model.untyped) == ({"a": "f32[2]", "y": "f32[2]"}, "")


def test_declared_types_of_values_between(tmp_path: Path) -> None:
    """Declared types count where inference finds none: for operators unknown to ONNX."""
    text = "g (float[2] x) => (y) <float[7] a, int64[3] b> { a = Relu (x)  b = own.A (a)  y = Neg (b) }"
    assert types(load(saved(tmp_path, text))) == {"a": "f32[2]", "b": "i64[3]", "y": "i64[3]"}
    proto = parser.parse_model(f"{HEAD} {text}")
    data, declared = undeclared(proto)
    assert {name: type_.tensor_type.elem_type for name, type_ in declared.items()} == {"a": 1, "b": 7}
    assert [info.name for info in onnx.ModelProto.FromString(data).graph.value_info] == ["b"]
    assert [info.name for info in proto.graph.value_info] == ["a", "b"]
    plain = parser.parse_model(f"{HEAD} {PLAIN}")
    assert undeclared(plain) == (plain.SerializeToString(), {})


def test_a_newer_opset_is_noted(tmp_path: Path) -> None:
    newest = onnx.defs.onnx_opset_version()
    for opset, count in ((newest, 0), (newest + 1, 1)):
        head = f'<ir_version: 8, opset_import: ["": {opset}]>'
        notes = load(saved(tmp_path, "g (float[2] x) => (float[2] y) { y = own.A (x) }", head)).notes
        wanted = (
            f"opset {opset} is newer than opset {newest}, the newest of onnx {onnx.__version__}: "
            "types may be unknown"
        )
        assert notes.count(wanted) == count


def test_the_structure_has_the_names_and_types_of_the_file(tmp_path: Path) -> None:
    body = "{ a = Neg (x)  r = Abs (a) }"
    text = f"g (float[2] x, bool c) => (y) {{ a = Relu (x)  y = If (c) <then_branch = t () => (r) {body}> }}"
    proto, store = structure(saved(tmp_path, text))
    assert [list(node.output) for node in proto.graph.node] == [["a"], ["y"]]
    inner = proto.graph.node[1].attribute[0].g
    assert [list(node.output) for node in inner.node] == [["a"], ["r"]]
    found = {info.name: info.type.tensor_type.elem_type for info in proto.graph.value_info}
    assert found == {"a": 1}
    assert store.path == tmp_path / "model.onnx"


def test_missing_external_data_are_noted_when_the_model_is_loaded(tmp_path: Path) -> None:
    proto = parser.parse_model(f"{HEAD} {PLAIN}")
    tensor = proto.graph.initializer.add(name="w", data_type=1, dims=[2], data_location=1)
    tensor.external_data.add(key="location", value="gone")
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    assert load(path).notes == ("external data 'gone' are missing: values in them are unknown",)


def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"")
    with pytest.raises(ModelError, match="the file is empty"):
        load(tmp_path / "model.onnx")


def test_an_inferred_type_of_an_output_is_not_a_declared_type(tmp_path: Path) -> None:
    model = load(saved(tmp_path, "g (float[2,3] x) => (y, float[2,3] z) { y = Relu (x)  z = Neg (x) }"))
    assert (model.declared, types(model)["y"]) == ({"z": "f32"}, "f32[2,3]")
