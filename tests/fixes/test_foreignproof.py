"""Tests of the regions that ONNX Runtime proves, and of its input models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import parser

from trtlint.compare import alike, comparison
from trtlint.compare.comparison import Comparison
from trtlint.fixes import foreignproof
from trtlint.fixes.boundary import Feeds
from trtlint.fixes.foreignproof import is_foreign, prove_foreign, typed
from trtlint.fixes.region import Region, RegionError
from trtlint.measurement.inputs import InputsError

HEAD = '< ir_version: 10, opset_import: ["" : {}, "com.microsoft" : 1] > g '


def region(text: str, opset: int = 17) -> Region:
    """Return an unchanged region."""
    proto = parser.parse_model(HEAD.format(opset) + text)
    return Region((), proto, proto, (), ("y",))


@pytest.mark.parametrize(
    ("body", "foreign"),
    [
        ("y = Neg (x)", False),
        ("y = com.microsoft.Gelu (x)", True),
        ("y = ai.onnx.Neg (x)", False),
        ("y, s, z = DynamicQuantizeLinear (x)", True),
        ("y = OptionalGetElement (x)", True),
        ("y = OptionalHasElement (x)", False),
        ("y = Scan <num_scan_inputs = 1, body = b (float a) => (float c) { c = Neg (a) }> (x)", True),
        ('y = Resize <coordinate_transformation_mode = "tf_half_pixel_for_nn"> (x)', True),
        ('y = Resize <coordinate_transformation_mode = "half_pixel"> (x)', False),
        ('y = Other <coordinate_transformation_mode = "tf_half_pixel_for_nn"> (x)', False),
        ("a = Neg (x)  y = com.microsoft.Gelu (a)", True),
    ],
)
def test_regions_that_the_reference_does_not_compute(body: str, foreign: bool) -> None:
    found = region(f"(float[4] x) => (float[4] y) {{ {body} }}")
    assert is_foreign(found) is foreign


def feeds(size: int, kind: str = "random") -> Feeds:
    """Return inputs of a size."""
    return Feeds(kind, size, {"x": np.zeros(size, np.float32)})


class Runtime:
    """Fake comparison that returns answers from a list and records requests."""

    def __init__(self, *answers: list[Comparison | InputsError]) -> None:
        self.answers = list(answers)
        self.asked: list[list[list[tuple[int, ...]]]] = []
        self.limits: list[object] = []

    def __call__(self, pairs: Iterable[SimpleNamespace], limits: object) -> list[Comparison | InputsError]:
        self.limits.append(limits)
        self.asked.append(
            [[np.load(file)["x"].shape for file in pair.inputs.files] for pair in pairs],
        )
        return self.answers.pop(0)


def result(equal: bool | None, **settings: object) -> Comparison:
    """Return a possible result of a comparison."""
    values = {"lost": False, "gained": False, "sets": 1, "difference": 0.0, "words": "words", **settings}
    return SimpleNamespace(equal=equal, **values)  # type: ignore[return-value]


REGION = region("(float[N] x) => (float[N] y) { y = com.microsoft.Gelu (x) }")


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Runtime:
    """Replace ONNX Runtime by a fake comparison."""
    found = Runtime()
    monkeypatch.setattr(foreignproof, "compare_all", found)
    monkeypatch.setattr(foreignproof, "available", lambda: True)
    return found


def test_the_first_choice_of_sizes_that_runs_counts(runtime: Runtime) -> None:
    runtime.answers = [[result(None), result(True)], [result(True, sets=4)], [result(True)] * 2]
    drawn = [feeds(size) for size in (3, 3, 3, 3, 3, 2, 2, 5, 0)]
    first, second = prove_foreign([(REGION, drawn), (REGION, drawn)])
    assert runtime.asked == [[[(3,)] * 4] * 2, [[(2,)] * 2], [[(0,)]] * 2]
    assert (first.equal, first.figures) == (True, {"sets": 4, "difference": 0.0})
    assert (second.equal, second.words) == (True, "words")


def test_a_proof_leaves_time_for_the_whole_model(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreignproof, "usual_limits", lambda *, part=False: "part" if part else "whole")
    runtime.answers = [[result(True)], [result(True)]]
    prove_foreign([(REGION, [feeds(3), feeds(0)])])
    assert runtime.limits == ["part", "part"]


def test_two_choices_of_sizes_are_tried(runtime: Runtime) -> None:
    runtime.answers = [[result(None)], [InputsError("no such file")]]
    (found,) = prove_foreign([(REGION, [feeds(size) for size in (3, 2, 5, 0)])])
    assert runtime.asked == [[[(3,)]], [[(2,)]]]
    assert (found.equal, found.words) == (None, "could not check the changed nodes alone: no such file")


def test_what_differs_is_not_tried_again(runtime: Runtime) -> None:
    runtime.answers = [[result(False, difference=0.123)]]
    (found,) = prove_foreign([(REGION, [feeds(size) for size in (3, 2, 0)])])
    assert (found.equal, found.words) == (False, "a result differs by 0.12 in ONNX Runtime")
    assert found.figures == {"sets": 1, "difference": 0.123}
    assert len(runtime.asked) == 1


@pytest.mark.parametrize("settings", [{"difference": 0.0}, {"lost": True}, {"gained": True}])
def test_other_differences_are_said_in_the_words_of_the_comparison(
    settings: dict[str, object], runtime: Runtime
) -> None:
    runtime.answers = [[result(False, **{"difference": 0.5, **settings})]]
    assert prove_foreign([(REGION, [feeds(3)])])[0].words == "words"


@pytest.mark.parametrize(
    ("equal", "words"), [(False, "for an empty batch or length: words"), (None, "right")]
)
def test_an_empty_batch_only_refutes(equal: bool | None, words: str, runtime: Runtime) -> None:
    runtime.answers = [[result(True, words="right")], [result(equal)]]
    (found,) = prove_foreign([(REGION, [feeds(3), feeds(0)])])
    assert (found.equal, found.words) == (None if equal else found.equal, words)
    assert found.equal is (equal is None)


def test_why_no_inputs_could_be_made(runtime: Runtime) -> None:
    def broken() -> Iterator[Feeds]:
        raise RegionError("x is too large")
        yield

    found = prove_foreign([(REGION, broken()), (REGION, [])])
    assert [(each.equal, each.words) for each in found] == [
        (None, "could not check the changed nodes alone: x is too large"),
        (None, "could not check the changed nodes alone: cannot generate inputs"),
    ]
    assert not runtime.asked


def test_without_onnx_runtime_nothing_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreignproof, "available", lambda: False)
    found = prove_foreign([(REGION, [feeds(3)])] * 2)
    assert [each.equal for each in found] == [None, None]
    assert found[0].words == f"could not check the changed nodes alone: {comparison.missing()}"


PACKED = """(float[2,5,3,%d,4] x, float[2,5,12] q) => (float[2,5,12] y)
{ y = com.microsoft.%s <num_heads = 3> (%s) }"""


@pytest.mark.parametrize(
    ("op", "inputs", "opset", "expected"),
    [
        ("MultiHeadAttention", "x", 17, ["x/0", "x/1", "x/2"]),
        ("MultiHeadAttention", "x", 18, ["x/0", "x/1", "x/2"]),
        ("MultiHeadAttention", "q, x", 17, ["q", "x/0", "x/1"]),
        ("MultiHeadAttention", "q, x, , b", 17, ["q", "x/0", "x/1", "b"]),
        ("MultiHeadAttention", "q, x, x", 17, None),
        ("Attention", "x", 17, None),
    ],
)
def test_packed_attention_is_taken_apart(
    op: str, inputs: str, opset: int, expected: list[str] | None, tmp_path: Path
) -> None:
    packed = region(PACKED % (3 if inputs == "x" else 2, op, inputs), opset)
    array = {"x": np.zeros((2, 5, 3, 2, 4), np.float32)}
    foreignproof._saved(packed, [Feeds("random", 3, array)], tmp_path / "0")
    before, after = (onnx.load(tmp_path / "0" / f"{name}.onnx") for name in ("before", "after"))
    assert [node.op_type for node in after.graph.node] == [op]
    if expected is None:
        assert list(before.graph.node) == list(after.graph.node)
        return
    parts = [name for name in expected if name.startswith("x/")]
    shape, split, *reshapes, last = before.graph.node
    assert onnx.numpy_helper.to_array(shape.attribute[0].t).tolist() == [0, 0, -1]
    assert list(split.input) == ["x"]
    settings = {each.name: each.i for each in split.attribute}
    assert settings == {"axis": 3, **({"num_outputs": len(parts)} if opset >= 18 else {})}
    assert [list(node.input) for node in reshapes] == [[f"{name}/apart", "x/shape"] for name in parts]
    assert list(split.output) == [f"{name}/apart" for name in parts]
    assert [node.output[0] for node in reshapes] == parts
    assert list(last.input) == expected
    assert last.op_type == op


def test_what_is_saved_has_the_types_of_the_inputs(tmp_path: Path) -> None:
    arrays = {"x": np.ones((2, 3), ml_dtypes.bfloat16), "i": np.zeros(2, np.int64)}
    proto = parser.parse_model(HEAD.format(17) + "(float a, float b) => (float y) { y = Gather (x, i) }")
    found = typed(proto, arrays)
    kinds = [(each.name, each.type.tensor_type.elem_type) for each in found.graph.input]
    assert kinds == [("x", onnx.TensorProto.BFLOAT16), ("i", onnx.TensorProto.INT64)]
    assert [dim.dim_value for dim in found.graph.input[0].type.tensor_type.shape.dim] == [2, 3]
    assert found.ir_version == alike.IR_VERSION
    assert len(proto.graph.input) == 2
    pair = foreignproof._saved(Region((), proto, proto, (), ()), [Feeds("random", 3, arrays)], tmp_path / "0")
    with np.load(pair.inputs.files[0]) as stored:
        assert (stored["x"].dtype, stored["i"].dtype) == (np.float32, np.int64)
        assert stored["x"].tolist() == [[1.0] * 3] * 2
