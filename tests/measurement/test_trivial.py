"""Tests that zero and constant outputs prove nothing, whatever the error is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.inprocess import printed
from trtlint.compare.comparison import Pair
from trtlint.conversion.run import run
from trtlint.conversion.session import ConversionRequest as Conversion
from trtlint.fixes.verification import outputs
from trtlint.measurement.inputs import Inputs
from trtlint.measurement.reach import inputs_read
from trtlint.measurement.trivial import EMPTY, ZERO, blank, sentence, trivial
from trtlint.model.graph import Graph

pytest.importorskip("onnxruntime")

SILENT = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[4,8] x) => (float[4,8] y) < float zero = {0} > { a = Mul(x, zero) [relu] y = Relu(a) }
"""
CONSTANT = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[4,8] x) => (float[4,8] y)
< float zero = {0}, float bias = {3} > { a = Mul(x, zero) y = Add(a, bias) }
"""
TWO = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[2] x, float[2] t) => (float[2] y, float[2] z, int64[1] s)
{ y = Relu(x) z = Relu(t) s = Shape(x) }
"""


@pytest.fixture(params=[SILENT, CONSTANT], ids=["zero", "constant"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    onnx.save(onnx.parser.parse_model(request.param), tmp_path / "m.onnx")
    rng = np.random.default_rng(0)
    for index in range(4):
        np.savez(tmp_path / f"{index}.npz", x=rng.standard_normal((4, 8)).astype(np.float32))
    return tmp_path / "m.onnx"


def batches(model: Path) -> tuple[str, ...]:
    return tuple(str(model.with_name(f"{index}.npz")) for index in range(4))


def test_a_conversion_is_not_proven_by_a_constant_output(model: Path) -> None:
    found, _ = run(Conversion(model, inputs=Inputs(batches(model)[:1])), None)
    assert found.verdict == "unproven"
    (proof,) = (proof for proof in found.proofs if proof.name == "rehearsal")
    assert proof.text.startswith("output y is ")


def test_a_measurement_of_a_constant_output_is_not_fine(model: Path) -> None:
    words = [word for file in batches(model) for word in ("--inputs", file)]
    found = printed(model.parent, "measure", str(model), *words)
    assert found.code == 1
    assert "FP16: not proven: output y is " in found.out
    assert "fine" not in found.out


def test_a_fix_is_not_verified_by_an_output_of_zeros(tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(SILENT), tmp_path / "m.onnx")
    found = outputs(Pair(tmp_path / "m.onnx", tmp_path / "m.onnx"))
    assert found.good is None
    assert "output y is 0 on these inputs (weights are zero?)" in found.words


def test_only_inputs_that_an_output_reads_count() -> None:
    graph = Graph(onnx.parser.parse_model(TWO).graph)
    one, two = np.ones(2, np.float32), np.full(2, 2, np.float32)
    shape = np.array([2])
    feeds = [{"x": one, "t": one}, {"x": two, "t": one}]
    given = [{"y": one, "z": one, "s": shape}, {"y": two, "z": one, "s": shape}]
    assert not trivial(graph, given, feeds)
    same = [{"y": one, "z": one, "s": shape}] * 2
    assert trivial(graph, same, feeds) == {"y": "the same for all of these inputs"}
    assert not trivial(graph, same[:1], feeds[:1])


def test_an_integer_output_may_be_zero_but_not_empty() -> None:
    types = {"a": (0, np.float32), "b": (2, np.int64), "c": (2, np.float32), "d": (0, np.int64)}
    outputs = {name: np.zeros(size, type_) for name, (size, type_) in types.items()}
    assert blank([outputs]) == {"a": EMPTY, "c": ZERO, "d": EMPTY}
    assert not blank([])


def test_outputs_behind_one_that_has_no_verdict_are_judged() -> None:
    text = TWO.replace("(float[2] y, float[2] z, int64[1] s)", "(int64[1] s, float[2] y, float[2] z)")
    graph = Graph(onnx.parser.parse_model(text).graph)
    one, two, none = np.ones(2, np.float32), np.full(2, 2, np.float32), np.zeros(2, np.float32)
    feeds = [{"x": one, "t": one}, {"x": two, "t": two}]
    found = trivial(graph, [{"s": one, "y": none, "z": one}, {"s": one, "y": none, "z": one}], feeds)
    assert found == {"y": ZERO, "z": "the same for all of these inputs"}
    assert trivial(graph, [{"z": none}, {"z": none}], feeds) == {"z": ZERO}
    assert trivial(graph, [], []) == {}
    assert trivial(graph, [{"z": none}], feeds[:1]) == {"z": ZERO}


@pytest.mark.parametrize(
    ("body", "inputs"),
    [
        ("a = Add (x, x) b = Mul (a, x) y = Add (a, b)", {"x"}),
        ("a = Add (x, t) y = Neg (a)", {"x", "t"}),
        ("a = Shape (x) y = Expand (t, a)", {"t"}),
        ("a = Size (x) y = Cast <to = 1> (a)", set()),
        ("a = Shape (x) b = Neg (x) c = Expand (t, a) y = Add (b, c)", {"x", "t"}),
        ("y = Neg (stored)", set()),
    ],
)
def test_the_inputs_that_an_output_depends_on(body: str, inputs: set[str]) -> None:
    graph = Graph(
        onnx.parser.parse_model(
            f"""< ir_version: 8, opset_import: ["" : 17] >
            g (float[2] x, float[2] t) => (float[2] y) < float[2] stored = {{1, 2}} > {{ {body} }}"""
        ).graph
    )
    assert inputs_read(graph, graph.outputs[0].producer) == inputs
    assert inputs_read(graph, None) == set()


@pytest.mark.parametrize(
    ("outputs", "feeds", "constant"),
    [
        ([[1, 2], [1, 2]], [1, 2], True),
        ([[1, 2], [1, 3]], [1, 2], False),
        ([[1, 2], [1, 2]], [1, 1], False),
        ([[1, 2], [1, 2], [1, 2]], [1, 1, 2], True),
        ([[1, 2], [1, 2], [1, 3]], [1, 2, 3], False),
        ([[], []], [1, 2], True),
        ([[], [1]], [1, 2], False),
    ],
)
def test_a_constant_output_is_equal_for_different_inputs(
    outputs: list[list[float]], feeds: list[float], constant: bool
) -> None:
    graph = Graph(onnx.parser.parse_model(TWO).graph)
    given = [{"y": np.array(each)} for each in outputs]
    batches_ = [{"x": np.array(each), "t": np.array(index)} for index, each in enumerate(feeds)]
    assert bool(trivial(graph, given, batches_)) is constant


@pytest.mark.parametrize(("count", "constant"), [(16, False), (17, True)])
def test_sixteen_batches_are_compared(count: int, constant: bool) -> None:
    graph = Graph(onnx.parser.parse_model(TWO).graph)
    given = [{"y": np.array([float(index == count - 1), 1.0])} for index in range(count)]
    feeds = [{"x": np.array(index), "t": np.array(0)} for index in range(count)]
    assert bool(trivial(graph, given, feeds)) is constant


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"y": "0"}, "output y is 0"),
        ({"y": "0", "z": "1"}, "output y is 0, as is 1 more output"),
        ({"y": "0", "z": "1", "a": "2"}, "output y is 0, as are 2 more outputs"),
    ],
)
def test_the_first_of_several_outputs_is_named(found: dict[str, str], words: str) -> None:
    assert sentence(found) == words


def test_an_output_is_zero_if_it_is_in_all_batches() -> None:
    none, one = np.zeros(2, np.float32), np.array([0, 1], np.float16)
    batches_: list[dict[str, np.ndarray]] = [
        {"a": none, "b": none, "c": none[:0]},
        {"a": none, "b": one, "c": none},
    ]
    assert blank(batches_) == {"a": ZERO, "c": ZERO}
    assert blank(batches_[::-1]) == {"a": ZERO, "c": ZERO}


def test_a_batch_of_size_0_proves_nothing(tmp_path: Path) -> None:
    text = """< ir_version: 8, opset_import: ["" : 17] >
    g (float[N,8] x) => (float[N,8] y) { [square] a = Mul(x, x) y = Relu(a) }"""
    model, inputs = tmp_path / "m.onnx", tmp_path / "empty.npz"
    onnx.save(onnx.parser.parse_model(text), model)
    np.savez(inputs, x=np.zeros((0, 8), np.float32))
    measured = printed(tmp_path, "measure", str(model), "--inputs", str(inputs))
    assert measured.code == 1
    assert "not proven: output y is empty on these inputs" in measured.out
    found, _ = run(Conversion(model, inputs=Inputs((str(inputs),))), None)
    assert found.verdict == "unproven"
    checked = outputs(Pair(model, model, Inputs((str(inputs),))))
    assert checked.good is None
    assert "output y is empty on these inputs" in checked.words
