"""Tests of documented and undocumented TensorRT differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from trtlint.network.deviations import deviation, is_cut, is_unclear
from trtlint.network.judge import Difference

BOXES = "the order of NonMaxSuppression's rows and of equal scores"
CLIP = "a Clip whose minimum is above its maximum"
EQUAL = "the choice among equal elements"
ROUNDING = "the rounding of Resize in opset 10"
MASKED = "softmax rows whose keys are all masked"
CAST = "a cast of a number outside the range of the new type"

NAN = np.nan
TIED = np.array([[3, 1, 3], [2, 5, 2]], np.float32)


def floats(*numbers: Any) -> Any:
    """Return an array of FP32 numbers."""
    return np.array(numbers, np.float32)


def whole(*numbers: Any) -> Any:
    """Return an array of integers."""
    return np.array(numbers, np.int64)


def explained(
    op: str, inputs: list[Any], got: Any, expected: Any, *, opset: int = 17, known: bool = True, **given: Any
) -> str:
    """Return the deviation that explains a difference of a node's output."""
    node = helper.make_node(op, [], [], **given)
    beyond = got != expected if known and got.shape == expected.shape else None
    return deviation(node, inputs, (got, expected), Difference(beyond, (), None, "", ""), opset)


@pytest.mark.parametrize(
    ("scores", "got", "reason"),
    [
        (None, [[0, 1, 2], [0, 0, 1]], BOXES),
        (floats(1, 2), [[0, 1, 2], [0, 0, 1]], BOXES),
        (floats(1, 2), [[0, 1, 2], [0, 0, 2]], ""),
        (floats(1, 2), [[0, 1, 2]], ""),
        (floats(1, 2), [0, 1, 2], ""),
        (floats(2, 2), [[0, 1, 2]], BOXES),
    ],
)
def test_rows_of_a_suppression(scores: Any, got: Any, reason: str) -> None:
    expected = whole([0, 0, 1], [0, 1, 2])
    assert explained("NonMaxSuppression", [None, scores], whole(*got), expected) == reason
    assert explained("NonMaxSuppression", [], expected[0], expected[0]) == ""


@pytest.mark.parametrize(
    ("inputs", "given", "reason"),
    [
        ([2, 1], {}, CLIP),
        ([1, 1], {}, ""),
        ([1, 2], {}, ""),
        ([2, None], {}, ""),
        ([None, 1], {}, ""),
        ([], {"min": 2.0, "max": 1.0}, CLIP),
        ([], {"min": 1.0, "max": 2.0}, ""),
        ([], {"min": 2.0}, ""),
        ([], {"max": 2.0}, ""),
        ([None, 1], {"min": 2.0}, CLIP),
        ([3], {"max": 2.0}, CLIP),
    ],
)
def test_bounds_of_a_clip(inputs: list[Any], given: dict[str, Any], reason: str) -> None:
    bounds = [None if bound is None else floats(bound) for bound in inputs]
    x = floats(1, 2, 3)
    assert explained("Clip", [x, *bounds], x, x + 1, **given) == reason


@pytest.mark.parametrize(
    ("op", "given", "got", "expected", "reason"),
    [
        ("ArgMax", {"axis": 1}, [[2], [1]], [[0], [1]], EQUAL),
        ("ArgMax", {"axis": 1}, [[1], [1]], [[0], [1]], ""),
        ("ArgMax", {"axis": -1, "keepdims": 0}, [2, 1], [0, 1], EQUAL),
        ("ArgMax", {"keepdims": 0}, [0, 1, 0], [0, 1, 0], EQUAL),
        ("ArgMax", {"keepdims": 0}, [0, 1, 0], [0, 1, 1], ""),
        ("ArgMin", {"axis": 1}, [[1], [2]], [[1], [0]], EQUAL),
        ("ArgMin", {"axis": 1}, [[1], [3]], [[1], [0]], ""),
        ("ArgMin", {"axis": 1}, [[1, 1], [2, 0], [1, 1]], [[1], [0]], ""),
        ("TopK", {}, [[2, 0], [1, 2]], [[0, 2], [1, 0]], EQUAL),
        ("TopK", {}, [[0, 1], [1, 0]], [[0, 2], [1, 0]], ""),
        ("TopK", {"axis": 0}, [[0, 1, 0]], [[0, 1, 0]], EQUAL),
        ("TopK", {"sorted": 0}, [[2, 1], [0, 1]], [[1, 0], [1, 2]], EQUAL),
        ("TopK", {"sorted": 1}, [[2, 1], [0, 1]], [[1, 0], [1, 2]], ""),
        ("TopK", {"sorted": 0}, [[2, 0], [0, 1]], [[1, 0], [1, 2]], ""),
    ],
)
def test_positions_of_equal_elements(
    op: str, given: dict[str, Any], got: Any, expected: Any, reason: str
) -> None:
    assert explained(op, [TIED], whole(*got), whole(*expected), **given) == reason
    assert explained(op, [None], whole(*got), whole(*expected), **given) == ""
    assert explained(op, [], whole(*got), whole(*expected), **given) == ""


@pytest.mark.parametrize("source", [np.int32, np.int8, np.float64, np.float16, bool])
@pytest.mark.parametrize("place", [np.int64, np.int16])
def test_positions_and_elements_of_several_types(source: Any, place: Any) -> None:
    ones = np.array([[1, 0, 1]], source)
    got, expected = np.array([[2]], place), whole([0])
    assert explained("ArgMax", [ones], got, expected, axis=1) == EQUAL
    assert explained("ArgMax", [ones], got - place(1), expected, axis=1) == ""


def test_a_topk_without_an_axis_searches_the_last() -> None:
    source = floats([[3, 1, 3], [2, 5, 2]], [[1, 1, 4], [0, 6, 7]])
    got, expected = whole([[2], [1]], [[2], [2]]), whole([[0], [1]], [[2], [2]])
    assert explained("TopK", [source], got, expected) == EQUAL
    assert explained("ArgMax", [source[..., 0]], whole([1, 0]), whole([0, 0])) == ""


@pytest.mark.parametrize(
    ("given", "got", "reason"),
    [
        ({"sorted": 0}, [3, 5], EQUAL),
        ({"sorted": 0}, [3, 4], ""),
        ({"sorted": 1}, [3, 5], ""),
        ({}, [3, 5], ""),
    ],
)
def test_values_of_an_unsorted_topk(given: dict[str, Any], got: list[int], reason: str) -> None:
    assert explained("TopK", [floats(5, 3, 1)], floats(*got), floats(5, 3), **given) == reason
    assert explained("TopK", [whole(5, 3, 1)], whole(*got), whole(5, 3), **given) == reason


@pytest.mark.parametrize("op", ["Resize", "Upsample"])
@pytest.mark.parametrize(("opset", "reason"), [(9, ROUNDING), (10, ROUNDING), (11, "")])
def test_rounding_of_a_resize(op: str, opset: int, reason: str) -> None:
    assert explained(op, [], floats(1, 2), floats(1, 3), opset=opset) == reason
    assert explained(op, [], floats(1, 2), floats(1, 2, 3), opset=opset) == ""


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Attention", "MultiHeadAttention"])
@pytest.mark.parametrize(
    ("got", "expected", "reason"),
    [
        ([[NAN, NAN], [0.25, 0.75]], [[0.5, 0.5], [0.25, 0.75]], MASKED),
        ([[0, 0], [0.25, 0.75]], [[0.5, 0.5], [0.25, 0.75]], MASKED),
        ([[0.5, 0.5], [0.25, 0.75]], [[NAN, NAN], [0.25, 0.75]], MASKED),
        ([[0.5, 0.5], [0.251, 0.751]], [[NAN, NAN], [0.25, 0.75]], MASKED),
        ([[NAN, NAN], [0.35, 0.65]], [[0.5, 0.5], [0.25, 0.75]], ""),
        ([[0, 1], [0.25, 0.75]], [[0.5, 0.5], [0.25, 0.75]], ""),
        ([[0.25, 0.75]], [[0.25, 0.75], [0, 0]], ""),
    ],
)
def test_rows_without_an_allowed_key(op: str, got: Any, expected: Any, reason: str) -> None:
    assert explained(op, [], floats(*got), floats(*expected)) == reason
    assert explained(op, [], floats(*got).astype(np.float16), floats(*expected)) == reason
    assert explained(op, [], np.ones(2, np.int32), np.ones(2, np.int32)) == ""


@pytest.mark.parametrize("op", ["Cast", "CastLike"])
@pytest.mark.parametrize(
    ("source", "got", "expected", "reason"),
    [
        ([127.5, 5], [99, 5], [127, 5], ""),
        ([128, 5], [99, 5], [-128, 5], CAST),
        ([-128.5, 5], [99, 5], [-128, 5], ""),
        ([-129, 5], [99, 5], [127, 5], CAST),
        ([127, 5], [99, 5], [127, 5], ""),
        ([-128, 5], [99, 5], [-128, 5], ""),
        ([np.inf, 5], [99, 5], [0, 5], CAST),
        ([NAN, 5], [99, 5], [0, 5], CAST),
        ([300, 5], [99, 6], [44, 5], ""),
        ([300, 5, 6], [99, 5], [44, 5, 6], ""),
    ],
)
def test_casts_out_of_range(op: str, source: Any, got: Any, expected: Any, reason: str) -> None:
    small = np.array(got, np.int8), np.array(expected, np.int8)
    assert explained(op, [floats(*source)], *small) == reason
    assert explained(op, [floats(*source).astype(np.float16)], *small) == reason
    assert explained(op, [np.array([300, 5])], *small) == ""
    assert explained(op, [None], *small) == ""
    assert explained(op, [], *small) == ""


def test_casts_to_other_types() -> None:
    source = floats(1e30, 5)
    assert explained("Cast", [source], floats(1, 5), floats(2, 5)) == ""
    assert explained("Cast", [source], np.array([True, False]), np.array([True, True])) == ""
    text = np.array(["a", "b"], object)
    assert explained("Cast", [source], text, text) == CAST


def test_other_operators_and_other_shapes_have_no_deviation() -> None:
    assert explained("Relu", [floats(1)], floats(1), floats(2)) == ""
    assert explained("Clip", [floats(1), floats(2), floats(1)], floats(1), floats(2), known=False) == ""


@pytest.mark.parametrize(
    ("op", "inputs", "unclear"),
    [
        ("Resize", [], True),
        ("Upsample", [], True),
        ("LpPool", [], True),
        ("Scan", [], True),
        ("Relu", ["x"], False),
        ("Loop", ["n", "c", "x"], False),
        ("Loop", ["n", "", "x"], True),
        ("Loop", ["n"], True),
    ],
)
def test_operators_whose_definition_leaves_cases_open(op: str, inputs: list[str], unclear: bool) -> None:
    assert is_unclear(helper.make_node(op, inputs, ["y"])) is unclear


ROWS = floats([1, NAN], [3, 4])
LONGER = np.concatenate([ROWS, ROWS])
SLICED = "y = Slice(t, b, e)"


@pytest.mark.parametrize(
    ("nodes", "output", "got", "cut"),
    [
        (SLICED, "y", LONGER, True),
        (SLICED, "y", ROWS, True),
        (f"z = Neg(x) {SLICED}", "y", LONGER, True),
        (f"{SLICED} z = Slice(t, b, e)", "y", LONGER, True),
        (f"{SLICED} z = Neg(t)", "y", LONGER, False),
        ("y = Slice(x, t, e)", "y", LONGER, False),
        ("y = Neg(x)", "y", LONGER, True),
        (SLICED, "t", LONGER, False),
        (SLICED, "y", LONGER[1:], False),
        (SLICED, "y", LONGER[:1], False),
        (SLICED, "y", LONGER[:, :1], False),
    ],
)
def test_rows_that_only_slices_read(nodes: str, output: str, got: Any, cut: bool) -> None:
    graph = onnx.parser.parse_graph(
        f"g (float[n,2] x, int64[1] b, int64[1] e) => (float[m,2] {output}) {{ t = Relu(x) {nodes} }}"
    )
    assert is_cut(graph, "t", got, ROWS) is cut


def test_rows_of_whole_numbers() -> None:
    graph = onnx.parser.parse_graph(f"g (int64[n] x) => (int64[m] y) {{ t = Abs(x) {SLICED} }}")
    assert is_cut(graph, "t", np.arange(6), np.arange(5))
    assert not is_cut(graph, "t", np.arange(1, 6), np.arange(5))
