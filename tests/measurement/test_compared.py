"""Tests of the tensors that are compared if no output has a float type."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tests import schemas
from tests.inprocess import printed
from trtlint.measurement.compared import ComparedTensors, find_compared
from trtlint.measurement.formats import FP16
from trtlint.measurement.measurement import read_measurement
from trtlint.measurement.narrowing import Narrowing
from trtlint.measurement.trial import Trial
from trtlint.measurement.trialmodel import load_trial_model
from trtlint.model.graph import Graph
from trtlint.model.load import load

STORED = """< float half = {0.5}, float iou = {0.5}, float wide = {1000000}, int64 most = {5},
  int64[1] two = {2}, int64 once = {1}, bool yes = {1}, float[2] weights = {1, 2} >"""


def model_of(body: str, outputs: str = "int64[n] y", inputs: str = "float[4,8] x") -> onnx.ModelProto:
    head = f'< ir_version: 8, opset_import: ["" : 17, "own" : 1] > g ({inputs}) => ({outputs})'
    model = onnx.parser.parse_model(f"{head} {STORED} {{ {body} }}")
    numbers = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32) / 3
    model.graph.initializer.append(numpy_helper.from_array(numbers, "w"))
    return model


def compared(
    folder: Path, body: str, outputs: str = "int64[n] y", inputs: str = "float[4,8] x"
) -> ComparedTensors:
    onnx.save(model_of(body, outputs, inputs), folder / "m.onnx")
    return find_compared(load(folder / "m.onnx").graph)


ARGMAX = "a = MatMul (x, w) [am] y = ArgMax <axis = 1, keepdims = 0> (a)"
CAST = "a = MatMul (x, w) [am] i = ArgMax <axis = 1> (a) y = Cast <to = 6> (i)"
TOPK = "a = MatMul (x, w) [top] v, y = TopK (a, two)"
NMS = """a = MatMul (x, w) b, s = Split <axis = 2> (a, parts) t = Transpose <perm = [0, 2, 1]> (s)
[nms] y = NonMaxSuppression (b, t, most, iou, half)"""
LOOP = """a = MatMul (x, w) s = ReduceSum <keepdims = 0> (a) [loop] f, y = Loop (once, yes, s, most)
<body = b (int64 k, bool c, float v, int64 n) => (bool d, float u, int64 m) {
  d = Identity (c) u = Neg (v) m = Cast <to = 7> (v) }>"""


@pytest.mark.parametrize(
    ("body", "outputs", "reads", "sentence"),
    [
        (
            ARGMAX,
            "int64[4] y",
            {("y", 0): "a"},
            "y has an integer type, so trtlint compares the tensor a, from which ArgMax (am) computes y",
        ),
        (
            CAST,
            "int32[4,1] y",
            {("i", 0): "a"},
            "y has an integer type, so trtlint compares the tensor a, from which ArgMax (am) and later "
            "operators compute y",
        ),
        (
            TOPK,
            "int64[4,2] y",
            {("y", 0): "a"},
            "y has an integer type, so trtlint compares the tensor a, from which TopK (top) computes y",
        ),
        (
            "a = MatMul (x, w) [more] y = Greater (a, half)",
            "bool[4,8] y",
            {("y", 0): "a"},
            "y has a boolean type, so trtlint compares the tensor a, from which Greater (more) computes y",
        ),
        (
            f"{ARGMAX} [more] z = Greater (a, half)",
            "int64[4] y, bool[4,8] z",
            {("y", 0): "a", ("z", 0): "a"},
            "no output has a float type, so trtlint compares the tensor a, from which ArgMax (am) computes "
            "y; the tensor a, from which Greater (more) computes z",
        ),
        (
            "a = MatMul (x, w) [add] b = Add (a, half) [more] y = Greater (a, b)",
            "bool[4,8] y",
            {("y", 0): "a", ("y", 1): "b"},
            "y has a boolean type, so trtlint compares the tensors a and b, from which Greater (more) "
            "computes y",
        ),
    ],
)
def test_the_last_float_tensors_are_compared(
    tmp_path: Path, body: str, outputs: str, reads: dict[tuple[str, int], str], sentence: str
) -> None:
    found = compared(tmp_path, body, outputs)
    assert found == ComparedTensors(reads, sentence, decides=True)
    assert found.noun == "tensor"


@pytest.mark.parametrize(
    ("body", "outputs"),
    [
        (ARGMAX, "int64[4] y, float[4,8] a"),
        (TOPK, "float[4,2] v, int64[4,2] y"),
        ("a = MatMul (x, w) y = Shape (a)", "int64[2] y"),
        ("a = MatMul (x, w) y = Size (a)", "int64 y"),
        ("a = Shape (x) b = Cast <to = 1> (a) c = Mul (b, half) y = Cast <to = 7> (c)", "int64[2] y"),
        ("a = MatMul (x, w) y = EyeLike <dtype = 7> (a)", "int64[4,8] y"),
        ("a = MatMul (x, w) y = CastLike (most, b) b = EyeLike <dtype = 7> (a)", "int64 y"),
        ("y = ArgMax <axis = 1> (x)", "int64[4,1] y"),
        ("a = Neg (weights) y = ArgMax <axis = 0> (a)", "int64[1] y"),
        ("y = Cast <to = 7> (most)", "int64 y"),
        ("a = MatMul (x, w) b = own.Unknown (a) y = ArgMax <axis = 1> (b)", "int64[4,1] y"),
        ("a = MatMul (x, w) b = own.Unknown (a) y = Relu (b)", "seq(float[4,8]) y"),
    ],
)
def test_outputs_without_such_tensors(tmp_path: Path, body: str, outputs: str) -> None:
    found = compared(tmp_path, body, outputs)
    assert found == ComparedTensors()
    assert found.noun == "output"


@pytest.mark.parametrize(
    ("body", "outputs", "tensors"),
    [
        ("a = MatMul (x, w) y = Greater (a, x)", "bool[4,8] y", {"a"}),
        (LOOP, "int64 y", {"s"}),
        (
            "a = MatMul (x, w) b = Sigmoid (a) y = Multinomial (b)",
            "int32[4,1] y",
            {"b"},
        ),
        (f"{ARGMAX} s = SequenceConstruct (y) z = SequenceAt (s, most)", "int64[4] y, int64[4] z", {"a"}),
    ],
)
def test_outputs_that_also_depend_on_other_values(
    tmp_path: Path, body: str, outputs: str, tensors: set[str]
) -> None:
    found = compared(tmp_path, body, outputs)
    assert set(found.reads.values()) == tensors
    assert not found.decides
    assert found.sentence.endswith("; the outputs also depend on values that trtlint does not compare")


def test_a_sentence_names_three_operators(tmp_path: Path) -> None:
    heads = [f"[m{index}] y{index} = ArgMax <axis = 1> (a)" for index in range(5)]
    for count, rest in ((3, "computes y2"), (4, "the inputs of 1 more operator"), (5, "of 2 more operators")):
        outputs = ", ".join(f"int64[4,1] y{index}" for index in range(count))
        found = compared(tmp_path, f"a = MatMul (x, w) {' '.join(heads[:count])}", outputs)
        assert found.sentence.endswith(rest)
        assert found.sentence.count("ArgMax") == 3


def test_the_tensor_that_an_operator_reads_is_compared(tmp_path: Path) -> None:
    """The ArgMax reads a rounded tensor, although the operator before it computes in FP32."""
    pytest.importorskip("onnxruntime")
    model = model_of(f"[mm] {ARGMAX}", "int64[4] y")
    weight = model.graph.initializer[-1]
    onnx.save(model, tmp_path / "m.onnx")
    numbers = np.random.default_rng(1).standard_normal((4, 8)).astype(np.float32)
    trial = Trial(load_trial_model(tmp_path / "m.onnx"), [{"x": numbers}])
    reference = Trial(trial.model, trial.feeds, by_reference=True).ranged.outputs[0]
    np.testing.assert_allclose(reference["a"], numbers @ numpy_helper.to_array(weight), rtol=1e-5)
    (name,) = trial.ranged.outputs[0]
    assert (name, trial.judged) == ("a", {"a"})

    def error(*keep: str) -> float:
        return trial.rehearse(Narrowing(FP16, frozenset(keep))).errors["a"] or 0.0

    assert error() > 0
    assert error("mm") > error("mm", "am") == 0.0


def test_the_search_is_linear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of many comparisons reads another tensor of one long chain."""
    count = 500
    chain = " ".join(
        f"a{index + 1} = Neg (a{index}) g{index} = Greater (a{index + 1}, half)" for index in range(count)
    )
    ends = ", ".join(f"bool[4,8] g{index}" for index in range(count))
    onnx.save(model_of(f"a0 = MatMul (x, w) {chain}", ends), tmp_path / "m.onnx")
    graph = load(tmp_path / "m.onnx").graph
    visits: list[object] = []
    for walk in ("successors", "predecessors"):
        original = getattr(Graph, walk)
        monkeypatch.setattr(
            Graph, walk, lambda self, node, original=original: visits.append(node) or original(self, node)
        )
    assert len(find_compared(graph).reads) == count
    assert len(visits) <= 3 * count


def measured(
    folder: Path, body: str, outputs: str, factor: float = 1.0, shape: tuple[int, ...] = (4, 8)
) -> str:
    dims = ",".join(map(str, shape))
    model = model_of(body, outputs, f"float[{dims}] x")
    model.graph.initializer.append(numpy_helper.from_array(np.array([4, 4]), "parts"))
    onnx.save(model, folder / "m.onnx")
    numbers = np.random.default_rng(1).standard_normal(shape) * factor
    np.savez(folder / "x.npz", x=numbers.astype(np.float32))
    return "m.onnx"


@pytest.mark.parametrize(
    ("body", "outputs", "shape", "tensors"),
    [
        (ARGMAX, "int64[4] y", (4, 8), ["a"]),
        (CAST, "int32[4,1] y", (4, 8), ["a"]),
        (TOPK, "int64[4,2] y", (4, 8), ["a"]),
        (NMS, "int64[n,3] y", (1, 16, 8), ["b", "t"]),
    ],
)
def test_errors_of_tensors_are_measured(
    tmp_path: Path, body: str, outputs: str, shape: tuple[int, ...], tensors: list[str]
) -> None:
    pytest.importorskip("onnxruntime")
    model = measured(tmp_path, body, outputs, shape=shape)
    found = printed(
        tmp_path, "measure", model, "--inputs", "x.npz", "-o", "r.json", "--output", "markdown:r.md"
    )
    assert found.code == 0
    data = json.loads((tmp_path / "r.json").read_text("utf-8"))
    jsonschema.validate(data, schemas.load("trtlint.measure/1"))
    assert data["verdict"] == "fine"
    assert [output["name"] for output in data["outputs"]] == tensors
    assert all(0 < output["error_fp16"] < 0.01 for output in data["outputs"])
    assert data["compared"].startswith("y has an integer type, so trtlint compares the tensor")
    assert read_measurement(tmp_path / "r.json").noun == "tensor"
    text = " ".join(found.out.split())
    assert f"note: {data['compared']}" in text
    assert all(f"tensor {name}: error " in text for name in tensors)
    assert "only the ranges of tensors" not in text
    assert data["compared"] in (tmp_path / "r.md").read_text("utf-8")


def test_nodes_before_an_integer_output_are_kept(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    body = "a = MatMul (x, w) [up] b = Mul (a, wide) [down] c = Div (b, wide) y = ArgMax <axis = 1> (c)"
    model = measured(tmp_path, body, "int64[4,1] y")
    found = printed(
        tmp_path, "measure", model, "--inputs", "x.npz", "-o", "r.json", "--output", "html:r.html"
    )
    assert found.code == 1
    data = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert data["outputs"][0]["name"] == "c"
    assert data["outputs"][0]["error_fp16"] is None
    assert data["keep_fp32"] == ["up", "down"]
    assert "the worst tensor error is then" in " ".join(found.out.split())
    assert f"Note: {data['compared']}." in (tmp_path / "r.html").read_text("utf-8")


def test_a_tensor_that_is_not_finite_leaves_the_ranges(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    model = measured(tmp_path, "a = MatMul (x, w) b = Log (a) y = ArgMax <axis = 1> (b)", "int64[4,1] y")
    found = printed(tmp_path, "measure", model, "--inputs", "x.npz")
    assert found.code == 1
    assert "FP16: not proven: no output can be compared" in found.out
    assert "tensors not compared, because FP32 already gives infinity or NaN: b" in " ".join(
        found.out.split()
    )


def test_an_integer_output_beside_a_float_output_is_named(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    body, note = "a = MatMul (x, w) y = ArgMax <axis = 1> (a)", "outputs not compared, because they have no"
    model = measured(tmp_path, body, "float[4,8] a, int64[4,1] y")
    found = printed(tmp_path, "measure", model, "--inputs", "x.npz")
    assert f"{note} float type: y" in " ".join(found.out.split())
    model = measured(tmp_path, body, "int64[4,1] y")
    found = printed(tmp_path, "measure", model, "--inputs", "x.npz")
    assert note not in " ".join(found.out.split())


def test_a_shape_has_no_error(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    model = measured(tmp_path, "a = MatMul (x, w) y = Shape (a)", "int64[2] y")
    found = printed(tmp_path, "measure", model, "--inputs", "x.npz", "-o", "r.json")
    assert found.code == 1
    assert "FP16: not proven: no output can be compared" in found.out
    data = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert (data["outputs"], data["verdict"]) == ([], None)
    assert "compared" not in data
    assert "no output has a float type, so only the ranges of tensors were measured" in " ".join(
        found.out.split()
    )
