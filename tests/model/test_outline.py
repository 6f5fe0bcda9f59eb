"""Tests of models without weights: same findings, and no leak of hidden data."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from tests.linting import lint_file
from trtlint.engine.rulebook import load_builtin
from trtlint.model.outline import _empty, _NameHider, outline
from trtlint.model.tensors import LEFT_OUT
from trtlint.target.target import Target

EXAMPLES = sorted((Path(__file__).resolve().parent.parent.parent / "examples").rglob("*.onnx"))
NAME = "/secret.3/MatMul_1"
TARGETS = [Target(version="10.7", sm=89), Target(version="11.0", sm=89)]


def findings(path: Path) -> list[list[tuple[str, int]]]:
    """Return for each target the rules and their numbers of places."""
    reports = lint_file(path, TARGETS, load_builtin())
    return [sorted((found.rule, len(found.sites)) for found in report.findings) for report in reports]


def with_parameters(producer: str) -> onnx.ModelProto:
    """Return a model whose function has parameters: one without and two with a default value."""
    concat = helper.make_node("Concat", ["a", "a"], ["b"])
    concat.attribute.add(name="axis", ref_attr_name="secret_axis", type=onnx.AttributeProto.INT)
    defaults = [helper.make_attribute("secret_alpha", 0.5), helper.make_attribute("secret_text", "secret")]
    function = helper.make_function(
        "local",
        "Own",
        ["a"],
        ["b"],
        [concat],
        [helper.make_opsetid("", 18)],
        attributes=["secret_axis"],
        attribute_protos=defaults,
    )
    call = helper.make_node("Own", ["x"], ["y"], domain="local", secret_axis=1, secret_alpha=0.25)
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, size])
        for name, size in (("x", 3), ("y", 6))
    ]
    graph = helper.make_graph([call], "g", values[:1], values[1:])
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]
    return helper.make_model(
        graph, opset_imports=imports, functions=[function], producer_name=producer, producer_version="3.7"
    )


def test_parameters_of_functions_are_hidden(tmp_path: Path) -> None:
    model = with_parameters("pytorch")
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, tmp_path / "m.onnx")
    hidden = outline(tmp_path / "m.onnx", hide_names=True)
    assert b"secret" not in hidden.SerializeToString()
    onnx.checker.check_model(hidden, full_check=True)
    (call,), (function,) = hidden.graph.node, hidden.functions
    names = {each.name: helper.get_attribute_value(each) for each in call.attribute}
    assert names == {function.attribute[0]: 1, function.attribute_proto[0].name: 0.25}
    assert function.node[0].attribute[0].ref_attr_name == function.attribute[0]


@pytest.mark.parametrize(
    ("producer", "kept"),
    [("pytorch", True), ("PaddlePaddle", True), ("Torch-TensorRT", True), ("secret exporter", False)],
)
def test_only_public_producers_are_named(tmp_path: Path, producer: str, kept: bool) -> None:
    onnx.save(with_parameters(producer), tmp_path / "m.onnx")
    hidden = outline(tmp_path / "m.onnx", hide_names=True)
    assert ((hidden.producer_name, hidden.producer_version) == (producer, "3.7")) is kept
    assert b"secret" not in hidden.SerializeToString()


@pytest.mark.slow
@pytest.mark.parametrize("hide_names", [False, True])
@pytest.mark.parametrize("model", EXAMPLES, ids=lambda path: path.stem)
def test_what_is_left_tells_the_same(model: Path, hide_names: bool, tmp_path: Path) -> None:
    copy = tmp_path / "copy.onnx"
    copy.write_bytes(outline(model, hide_names=hide_names).SerializeToString())
    assert findings(copy) == findings(model)


def private(path: Path) -> None:
    """Return a model with secrets at every possible place."""
    weight = numpy_helper.from_array(np.full((8, 8), 1234.5, np.float32), "secret_weight")
    small = numpy_helper.from_array(np.array([2], np.int64), "secret_axes")
    body = helper.make_graph(
        [
            helper.make_node(
                "Relu", ["secret_hidden"], ["secret_inner"], name="/secret/body", doc_string="secret"
            )
        ],
        "secret_body",
        [],
        [helper.make_tensor_value_info("secret_inner", TensorProto.FLOAT, None)],
    )
    stored = helper.make_node("Constant", [], ["secret_flag"], value=numpy_helper.from_array(np.array(True)))
    nodes = [
        helper.make_node(
            "MatMul", ["secret_input", "secret_weight"], ["secret_hidden"], name="/secret.3/MatMul_1"
        ),
        stored,
        helper.make_node("If", ["secret_flag"], ["secret_if"], then_branch=body, else_branch=body),
        helper.make_node(
            "Secretive", ["secret_if"], ["secret_plugin"], domain="own", text="secret", name="secret"
        ),
        helper.make_node("Block", ["secret_plugin"], ["secret_output"], domain="local", name="secret2"),
    ]
    nodes[0].metadata_props.add(key="pkg.torch.onnx.stack_trace", value="secret.py")
    function = helper.make_function(
        "local", "Block", ["secret_a"], ["secret_b"], [helper.make_node("Relu", ["secret_a"], ["secret_b"])],
        [helper.make_opsetid("", 18)], doc_string="secret",
    )  # fmt: skip
    graph = helper.make_graph(
        nodes,
        "secret_graph",
        [helper.make_tensor_value_info("secret_input", TensorProto.FLOAT, ["secret_batch", 8], "secret")],
        [helper.make_tensor_value_info("secret_output", TensorProto.FLOAT, ["secret_batch", 8])],
        [weight, small],
        doc_string="secret",
    )
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1), helper.make_opsetid("local", 1)]
    model = helper.make_model(graph, opset_imports=imports, functions=[function], doc_string="secret")
    model.metadata_props.add(key="author", value="secret")
    onnx.save(model, path)


def test_nothing_that_was_to_be_hidden_is_left(tmp_path: Path) -> None:
    private(tmp_path / "m.onnx")
    plain = outline(tmp_path / "m.onnx").SerializeToString()
    assert np.float32(1234.5).tobytes() not in plain
    assert b"secret_axes" in plain
    hidden = outline(tmp_path / "m.onnx", hide_names=True)
    data = hidden.SerializeToString()
    assert b"ecret_" not in data
    assert re.findall(rb"(?i)secret\w*", data) == [b"Secretive"]
    copy = tmp_path / "copy.onnx"
    copy.write_bytes(data)
    assert findings(copy) == findings(tmp_path / "m.onnx")
    node = hidden.graph.node[0]
    assert re.fullmatch(r"/w\w+\.3/MatMul_1", node.name)
    assert node.input[1] == hidden.graph.initializer[0].name
    (function,) = hidden.functions
    assert hidden.graph.node[-1].op_type == function.name


def test_texts_and_sizes_of_sequences_are_hidden(tmp_path: Path) -> None:
    sequence = helper.make_tensor_sequence_value_info("q", TensorProto.FLOAT, ["secret_sequence", 3])
    optional = helper.make_optional_type_proto(sequence.type)
    nodes = [
        helper.make_node("Constant", [], ["s"], value_string="secret"),
        helper.make_node("Constant", [], ["t"], value_strings=["secret"]),
        helper.make_node("SequenceConstruct", ["x"], ["q"]),
        helper.make_node("Optional", [], ["o"], type=optional),
        helper.make_node("Pad", ["x", "p"], ["y"], mode="reflect"),
    ]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 3]) for name in "xy"]
    pads = helper.make_tensor("p", TensorProto.INT64, [4], [0, 0, 0, 1])
    outputs = [values[1], sequence, helper.make_value_info("o", optional)]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", values[:1], outputs, [pads])), tmp_path / "m")
    hidden = outline(tmp_path / "m", hide_names=True)
    data = hidden.SerializeToString()
    assert b"secret" not in data
    assert b"reflect" in data
    shown = hidden.graph.output[2].type.optional_type.elem_type.sequence_type.elem_type
    assert [dim.dim_param[:1] for dim in shown.tensor_type.shape.dim] == ["w", ""]
    assert hidden.graph.output[0].type.tensor_type.shape.dim[1].dim_value == 3


@pytest.mark.slow
@given(names=st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=8, unique=True))
def test_names_that_differ_go_on_differing(
    names: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in names if name.isprintable()
    ]
    nodes = [
        helper.make_node("Relu", [value.name], [f"{value.name}_out"], name=value.name) for value in values
    ]
    graph = helper.make_graph(nodes, "g", values, [])
    path = tmp_path_factory.mktemp("m") / "m.onnx"
    onnx.save(helper.make_model(graph), path)
    hidden = outline(path, hide_names=True).graph
    assert len({node.name for node in hidden.node}) == len(nodes)
    assert [node.input[0] for node in hidden.node] == [value.name for value in hidden.input]


@pytest.mark.parametrize(
    ("array", "kept"),
    [
        (np.ones(16, np.float32), True),
        (np.ones(17, np.float32), False),
        (np.ones((4, 4), np.float16), True),
        (np.ones((3, 6), np.float16), False),
        (np.ones(128, np.int64), True),
        (np.ones(129, np.int64), False),
        (np.ones(1024, np.bool_), True),
        (np.ones(1025, np.uint8), False),
        (np.array(["secret"], object), False),
    ],
)
def test_only_small_tensors_are_kept(array: Any, kept: bool) -> None:
    """The limits are 16 elements, and 1024 bytes of integers."""
    tensor = numpy_helper.from_array(array, "w")
    expected = onnx.TensorProto.FromString(tensor.SerializeToString())
    if not kept:
        for name in ("raw_data", "string_data"):
            expected.ClearField(name)
        expected.data_location = TensorProto.EXTERNAL
        expected.external_data.add(key="location", value=LEFT_OUT)
    _empty(tensor)
    assert tensor == expected


@pytest.mark.parametrize("dims", [[0, 3], [-1, 3], []])
def test_external_tensors_lose_their_place(dims: list[int]) -> None:
    tensor = TensorProto(dims=dims, data_type=7, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="secret.bin")
    _empty(tensor)
    assert [(entry.key, entry.value) for entry in tensor.external_data] == [("location", LEFT_OUT)]


def test_only_short_lists_of_numbers_are_kept(tmp_path: Path) -> None:
    node = helper.make_node("Own", ["x"], ["y"], domain="own", a=[0.5] * 16, b=[0.5] * 17, c=[1] * 17)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in ("x", "y")]
    graph = helper.make_graph([node], "g", values[:1], values[1:])
    onnx.save(helper.make_model(graph), tmp_path / "m.onnx")
    kept = outline(tmp_path / "m.onnx").graph.node[0].attribute
    assert [(each.name, len(each.floats), len(each.ints)) for each in kept] == [
        ("a", 16, 0),
        ("b", 0, 0),
        ("c", 0, 17),
    ]


def test_words_are_numbered_in_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trtlint.model.outline._operators", lambda: ["Conv"])
    hider = _NameHider()
    words = ["".join(letters) for letters in itertools.product("pq", repeat=5)]
    names = (
        "wb wc wd we wf wg wh wi wj wk wl wm wn wo wp wq "
        "wr ws wt wu wv ww wx wy wz wab wbb wcb wdb web wfb wgb"
    )
    assert hider.name(" ".join(words)) == names
    assert hider.name("/ppppp.3_1/Conv_ppppq-qqqqq") == "/wb.3_1/Conv_wc-wgb"
    assert hider.name("") == ""
