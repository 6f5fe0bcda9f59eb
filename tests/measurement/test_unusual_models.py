"""Tests of random numbers, strings, sequences, missing opsets, and huge or many tensors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, parser

from tests.measurement.test_measuring import measure
from trtlint.cli import run
from trtlint.measurement import search
from trtlint.measurement.inputs import InputsError
from trtlint.measurement.trialmodel import TrialError

pytest.importorskip("onnxruntime")


def model_of(text: str, opset: int = 17) -> onnx.ModelProto:
    return parser.parse_model(f'< ir_version: 8, opset_import: ["" : {opset}] > g {text}')


@pytest.mark.parametrize(
    "text",
    [
        "(float[100] x) => (float[100] y) { r = RandomNormalLike (x)  y = Add (r, x) }",
        "(float[100] x) => (float[100] y) { s = Sigmoid (x)  y = Bernoulli (s) }",
        "(float[100] x, bool t) => (float[100] y) < float r = {0.5} > { y = Dropout (x, r, t) }",
    ],
    ids=["normal", "bernoulli", "dropout"],
)
def test_all_runs_draw_the_same_random_numbers(text: str, tmp_path: Path) -> None:
    feeds = {"x": np.linspace(-1, 1, 100, dtype=np.float32), "t": np.array(True)}
    model = model_of(text)
    found = measure(model, {info.name: feeds[info.name] for info in model.graph.input}, tmp_path, type="tf32")
    assert found.error is not None
    assert found.error.rounded == 0.0


def test_the_report_names_random_operators(tmp_path: Path) -> None:
    found = measure(
        model_of("() => (float[4] y) { y = RandomNormal <shape = [4], seed = 3.0> () }"), None, tmp_path
    )
    assert any("same random numbers in each run: RandomNormal_0" in limit for limit in found.limits)


@pytest.mark.parametrize("given", [False, True])
def test_strings_are_inputs(given: bool, tmp_path: Path) -> None:
    """Generated strings are digits, and the hash of the inputs covers their characters."""
    tensors = [
        helper.make_tensor_value_info("s", TensorProto.STRING, [2]),
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [4]),
    ]
    outputs = [
        helper.make_tensor_value_info("t", TensorProto.STRING, [2]),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, [4]),
    ]
    nodes = [helper.make_node("Identity", ["s"], ["t"]), helper.make_node("Mul", ["x", "x"], ["y"])]
    graph = helper.make_graph(nodes, "g", tensors, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    hashes = set()
    for word in ("a", "b"):
        feeds = {"s": np.array([word, "c"]), "x": np.ones(4, np.float32)} if given else None
        found = measure(model, feeds, tmp_path)
        assert [output.name for output in found.outputs] == ["y"]
        hashes.add(found.inputs)
    assert len(hashes) == 1 + given


def test_a_sequence_is_no_input(tmp_path: Path) -> None:
    sequence = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    node = helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0)
    graph = helper.make_graph([node], "g", [sequence], [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with pytest.raises(
        TrialError, match=r"^input 's' is a sequence: trtlint measures models with tensor inputs only$"
    ):
        measure(model, None, tmp_path)


def test_a_model_without_an_opset_is_named(tmp_path: Path) -> None:
    model = model_of("(float[4] x) => (float[4] y) { y = Relu (x) }")
    model.opset_import[0].version = 0
    with pytest.raises(TrialError, match="lacks the default domain"):
        measure(model, None, tmp_path)


def test_a_model_can_use_other_domains_only(tmp_path: Path) -> None:
    node = helper.make_node("Scaler", ["x"], ["y"], domain="ai.onnx.ml", offset=[0.0], scale=[2.0])
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, 2]) for name in "xy"]
    graph = helper.make_graph([node], "g", tensors[:1], tensors[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("ai.onnx.ml", 3)], ir_version=8)
    assert measure(model, None, tmp_path).verdict == "fine"


def test_both_16_bit_types_in_one_file_are_named(tmp_path: Path) -> None:
    model = model_of(
        "(float16[4] h, bfloat16[4] x) => (float[4] y)"
        " { a = Cast <to = 1> (h)  b = Cast <to = 1> (x)  y = Mul (a, b) }"
    )
    found = measure(model, None, tmp_path)
    assert "the model has FP16 and BF16 tensors; all of them were rounded to FP16" in found.limits


def test_generated_inputs_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    model = model_of("(float[100000,100000] x, float[2] z) => (float[2] y) { y = Relu (z) }")
    with pytest.raises(InputsError, match=r"'x' is f32\[100000,100000\]"):
        measure(model, None, tmp_path)
    assert run(["measure", "model.onnx"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("trtlint: model.onnx: generated inputs would take more than 2 GB")
    assert said.count("\n") == 1


def test_the_worst_outputs_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    nodes = [helper.make_node("Relu", ["x"], [f"y{index}"]) for index in range(30)]
    nodes += [helper.make_node("Mul", ["x", "x"], ["s"]), helper.make_node("Exp", ["s"], ["last"])]
    names = [*(f"y{index}" for index in range(30)), "last"]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in names]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])], outputs
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, "model.onnx")
    np.savez("batch.npz", x=np.array([1, 2, 3, 4], np.float32))
    assert run(["measure", "model.onnx", "--inputs", "batch.npz"]) == 1
    said = capsys.readouterr().out
    assert "output last: not finite in FP16" in said
    assert said.count("\noutput ") == 12
    assert "and 19 more outputs with smaller errors; --output json:FILE lists all outputs" in said


@pytest.mark.slow
def test_nodes_for_margin_are_not_sought_without_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few runs cannot decide on thousands of nodes, so the search must not take minutes."""
    count = 100
    nodes, name = [], "x"
    for index in range(count):
        nodes += [
            helper.make_node("Mul", [name, "k"], [f"a{index}"]),
            helper.make_node("Div", [f"a{index}", "k"], [f"b{index}"]),
        ]
        name = f"b{index}"
    tensors = [helper.make_tensor_value_info(each, TensorProto.FLOAT, [2]) for each in ("x", name)]
    constant = onnx.numpy_helper.from_array(np.array([30000.0], np.float32), "k")
    graph = helper.make_graph(nodes, "g", tensors[:1], tensors[1:], [constant])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    closures = []
    closed = search.KeepSearch._closed
    monkeypatch.setattr(
        search.KeepSearch, "_closed", lambda self, paths: closures.append(1) or closed(self, paths)
    )
    found = measure(model, {"x": np.array([10, 20], np.float32)}, tmp_path)
    assert found.kept is not None
    assert len(found.kept.nodes) > count
    assert len(closures) < 100


@pytest.mark.parametrize(
    ("operators", "said"),
    [
        ("a = com.microsoft.Gelu (x) y = Abs (a)", "1 tensor of unknown type was"),
        (
            "a = com.microsoft.Gelu (x) b = com.microsoft.Gelu (a) y = Abs (b)",
            "2 tensors of unknown type were",
        ),
    ],
)
def test_tensors_of_unknown_type_are_counted(operators: str, said: str, tmp_path: Path) -> None:
    text = '< ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1] > g (float[4] x) => (float[4] y)'
    found = measure(parser.parse_model(f"{text} {{ {operators} }}"), None, tmp_path)
    assert found.limits[-1] == f"{said} neither measured nor rounded"
