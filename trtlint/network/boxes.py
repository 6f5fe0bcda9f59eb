"""Compute layers of non-maximum suppression in NumPy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trtlint.network.layers import Array, Layer, NotComputedError
from trtlint.network.pointwise import Compute, Inputs
from trtlint.network.types import narrowed, wide

_MOST_SCORES = 20_000_000


def _suppression(layer: Layer, inputs: Inputs) -> list[Array]:
    """Compute a layer of non-maximum suppression. For each batch element, results are sorted by score.

    https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/operators/NMS.html
    """
    boxes, scores = wide(inputs[0]).astype(np.float32), wide(inputs[1]).astype(np.float32)
    if boxes.ndim == 3:  # the boxes of all classes are the same
        boxes = boxes[:, :, None]
    most = int(inputs[2].item())
    overlap = float(inputs[3].item()) if len(inputs) > 3 else 0.0
    least = float(inputs[4].item()) if len(inputs) > 4 else 0.0
    if scores.size > _MOST_SCORES:
        raise NotComputedError(f"a NonMaxSuppression of more than {_MOST_SCORES:,} scores")
    centred = layer.get("bounding_box_format") == "CENTER_SIZES"
    limit = int(layer.get("topk_box_limit", 0) or 0)
    rows: list[tuple[int, int, int]] = []
    for batch in range(scores.shape[0]):
        kept: list[tuple[float, int, int]] = []
        for label in range(scores.shape[2]):
            own = boxes[batch, :, label if boxes.shape[2] > 1 else 0]
            kept += [
                (float(scores[batch, box, label]), label, box)
                for box in _suppressed(
                    own, scores[batch, :, label], most, (overlap, least), limit, centred=centred
                )
            ]
        kept.sort(key=lambda each: -each[0])
        rows += [(batch, label, box) for _, label, box in kept]
    found = np.asarray(rows, np.int64).reshape(-1, 3)
    outputs = [found, np.asarray(len(rows), np.int64)]
    return [narrowed(array, name) for array, name in zip(outputs, layer.types, strict=False)]


def _suppressed(
    boxes: Array, scores: Array, most: int, bounds: tuple[float, float], limit: int, *, centred: bool
) -> list[int]:
    """Select boxes of one class by non-maximum suppression. Return their indices, highest score first.

    Args:
        boxes: the boxes.
        scores: the score of each box.
        most: maximum number of selected boxes.
        bounds: threshold of the overlap, and threshold of the scores.
        limit: maximum number of boxes to consider.
        centred: True if boxes are stored as centre and size, False if boxes are stored as two corners.
    """
    overlap, least = bounds
    order = [int(at) for at in np.argsort(-scores, kind="stable") if scores[at] > least]
    order = order[:limit] if limit > 0 else order
    low, high = _corners(boxes, centred=centred)
    area = np.prod(high - low, axis=1)
    kept: list[int] = []
    for box in order:
        if len(kept) >= most:
            break
        if kept:
            shared = np.prod(
                np.maximum(np.minimum(high[box], high[kept]) - np.maximum(low[box], low[kept]), 0), axis=1
            )
            union = area[box] + area[kept] - shared
            if bool(np.any(shared > overlap * union)):
                continue
        kept.append(box)
    return kept


def _corners(boxes: Array, *, centred: bool) -> tuple[Array, Array]:
    if centred:
        half = boxes[:, 2:] / 2
        return boxes[:, :2] - half, boxes[:, :2] + half
    return np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])


LAYERS: Mapping[str, Compute] = {"NMS": _suppression}
