"""Compute layers of attention and of rotary embeddings in NumPy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trtlint.network.layers import Array, Layer, NotComputedError
from trtlint.network.pointwise import Compute, Inputs
from trtlint.network.reductions import softmax
from trtlint.network.types import narrowed, saturated, wide


def _attention(layer: Layer, inputs: Inputs) -> list[Array]:
    """Compute ``softmax(Q K^T + mask) V``.  Several query heads may share one key head.

    ``inputs`` has five elements: the query, the key, the value, the mask, and the scale of the quantized
    softmax.  The mask and the scale may be None.  TensorRT stores both as settings of the layer.  The module
    :mod:`trtlint.network.run` appends the two settings to the inputs of the layer.
    https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_attention.html
    """
    query, key, value = (wide(array) for array in inputs[:3])
    mask, scale = inputs[-2], inputs[-1]
    if layer.get("query_lengths") is not None or layer.get("key_value_lengths") is not None:
        raise NotComputedError("an attention with query_lengths or key_value_lengths")
    shared = query.shape[1] // max(1, key.shape[1])
    if shared > 1:
        key, value = np.repeat(key, shared, axis=1), np.repeat(value, shared, axis=1)
    scores = np.matmul(query, np.swapaxes(key, 2, 3))
    if mask is not None:
        if mask.dtype.kind == "b":
            scores = np.where(mask, scores, scores.dtype.type(-np.inf))
        else:
            scores = scores + wide(mask)
    scores = _causal(layer, scores)
    if layer.get("norm_op", "SOFTMAX") == "SOFTMAX":
        scores = softmax(scores, (scores.ndim - 1,))
        if mask is not None or layer.get("causal"):
            scores = np.where(np.isnan(scores), 0, scores)
    if scale is not None:
        kind = layer.get("normalization_quantize_to_type", "FP8")
        step = wide(scale).astype(np.float32)
        scores = saturated(scores / step, kind).astype(np.float32) * step
    else:
        scores = wide(narrowed(scores, layer.types[0]))
    return [narrowed(np.matmul(scores, value), layer.types[0])]


def _causal(layer: Layer, scores: Array) -> Array:
    kind = layer.get("causal_kind") or ("UPPER_LEFT" if layer.get("causal") else "NONE")
    if kind == "NONE":
        return scores
    rows, columns = scores.shape[-2:]
    shift = columns - rows if kind == "LOWER_RIGHT" else 0
    allowed = np.arange(columns) <= np.arange(rows)[:, None] + shift
    return np.where(allowed, scores, scores.dtype.type(-np.inf))


def _rotary(layer: Layer, inputs: Inputs) -> list[Array]:
    """Compute a rotary embedding, which rotates pairs of elements.

    The cosines and sines of the angles are inputs:
    https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/operators/RotaryEmbedding.html
    """
    x, cosine, sine = (wide(array) for array in inputs[:3])
    if len(inputs) > 3 and inputs[3] is not None:
        cosine, sine = cosine[inputs[3]], sine[inputs[3]]
    cosine, sine = cosine[:, None], sine[:, None]
    width = int(layer.get("rotary_embedding_dim", 0)) or x.shape[-1]
    turned, rest = x[..., :width], x[..., width:]
    if layer.get("interleaved"):
        first, second = turned[..., 0::2], turned[..., 1::2]
    else:
        first, second = turned[..., : width // 2], turned[..., width // 2 :]
    half = width // 2
    cosine, sine = cosine[..., :half], sine[..., :half]
    real, imaginary = first * cosine - second * sine, first * sine + second * cosine
    if layer.get("interleaved"):
        found = np.stack([real, imaginary], axis=-1).reshape(turned.shape)
    else:
        found = np.concatenate([real, imaginary], axis=-1)
    return [narrowed(np.concatenate([found, rest], axis=-1), layer.types[0])]


def _same(_: Layer, inputs: Inputs) -> list[Array]:
    return [*inputs]


LAYERS: Mapping[str, Compute] = {
    "ATTENTION_INPUT": _attention,
    "ATTENTION_OUTPUT": _same,
    "ROTARY_EMBEDDING": _rotary,
}
