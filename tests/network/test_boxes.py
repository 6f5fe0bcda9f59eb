"""Tests of non-maximum suppression against ONNX's reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from trtlint.network import boxes
from trtlint.network.layers import Array, Layer, NotComputedError


def selected(corners: Array, scores: Array, *limits: float, **settings: Any) -> tuple[Array, int]:
    """Compute one layer and return the selected rows and their number."""
    layer = Layer(0, "", "NMS", (), (), ("INT64", "INT64"), settings)
    most, *bounds = limits
    inputs = [corners, scores, np.array(int(most)), *(np.array(bound, np.float32) for bound in bounds)]
    rows, count = boxes.LAYERS["NMS"](layer, inputs)
    return rows, int(count)


def by_onnx(corners: Array, scores: Array, *limits: float, centred: bool) -> set[tuple[int, ...]]:
    """Return the rows that ONNX's NonMaxSuppression selects."""
    names = ["boxes", "scores", "most", "overlap", "least"]
    types = [TensorProto.FLOAT, TensorProto.FLOAT, TensorProto.INT64, TensorProto.FLOAT, TensorProto.FLOAT]
    node = helper.make_node("NonMaxSuppression", names, ["rows"], center_point_box=int(centred))
    inputs = [helper.make_tensor_value_info(*each, None) for each in zip(names, types, strict=True)]
    output = helper.make_tensor_value_info("rows", TensorProto.INT64, None)
    model = helper.make_model(
        helper.make_graph([node], "g", inputs, [output]), opset_imports=[onnx.OperatorSetIdProto(version=17)]
    )
    most, overlap, least = limits
    feeds = {
        "boxes": corners, "scores": scores.transpose(0, 2, 1), "most": np.array([int(most)]),
        "overlap": np.array([overlap], np.float32), "least": np.array([least], np.float32),
    }  # fmt: skip
    (rows,) = ReferenceEvaluator(model).run(None, feeds)
    return {tuple(map(int, row)) for row in rows}


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("limits", [(2, 0.5, 0.2), (5, 0.1, 0.0), (1, 0.9, 0.6)])
def test_the_same_boxes_as_onnx(limits: tuple[int, float, float], centred: bool) -> None:
    drawn = np.random.default_rng(11)
    corners = drawn.random((2, 8, 4), np.float32)
    scores = drawn.random((2, 8, 3), np.float32)
    form = "CENTER_SIZES" if centred else "CORNER_PAIRS"
    rows, count = selected(corners, scores, *limits, bounding_box_format=form)
    assert {tuple(map(int, row)) for row in rows} == by_onnx(corners, scores, *limits, centred=centred)
    assert count == len(rows)


def test_rows_of_a_batch_are_sorted_by_score() -> None:
    corners = np.array([[[0, 0, 1, 1], [2, 2, 3, 3]]], np.float32)
    scores = np.array([[[0.3, 0.9], [0.8, 0.1]]], np.float32)
    rows, _ = selected(corners, scores, 2)
    assert rows.tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0], [0, 1, 1]]


def test_a_class_can_have_its_own_boxes() -> None:
    near, apart = [[0, 0, 1, 1], [0, 0, 1, 1]], [[0, 0, 1, 1], [5, 5, 6, 6]]
    corners = np.array([[near, apart]], np.float32).transpose(0, 2, 1, 3)
    rows, _ = selected(corners, np.array([[[0.9, 0.8], [0.7, 0.6]]], np.float32), 2)
    assert rows.tolist() == [[0, 0, 0], [0, 1, 0], [0, 1, 1]]


def test_only_the_best_boxes_are_compared() -> None:
    corners = np.array([[[0, 0, 1, 1], [0, 0, 1, 1], [5, 5, 6, 6]]], np.float32)
    scores = np.array([[[0.9], [0.8], [0.7]]], np.float32)
    assert selected(corners, scores, 3)[0].tolist() == [[0, 0, 0], [0, 0, 2]]
    assert selected(corners, scores, 3, topk_box_limit=2)[0].tolist() == [[0, 0, 0]]


def test_too_many_scores_are_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boxes, "_MOST_SCORES", 1)
    with pytest.raises(NotComputedError):
        selected(np.zeros((1, 2, 4), np.float32), np.zeros((1, 2, 1), np.float32), 1)
