"""Tests of attention and rotary embeddings against explicit numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from trtlint.network.attention import LAYERS
from trtlint.network.layers import Array, Layer, NotComputedError

_DRAWN = np.random.default_rng(7)


def compute(kind: str, *inputs: Array | None, **settings: Any) -> Array:
    """Compute one layer."""
    layer = Layer(0, "", kind, (), (), ("FLOAT",), settings)
    with np.errstate(invalid="ignore"):  # as the runner of networks does
        (found,) = LAYERS[kind](layer, list(inputs))
    return found


def drawn(*shape: int) -> Array:
    """Return random numbers."""
    return _DRAWN.standard_normal(shape).astype(np.float32)


def expected(query: Array, key: Array, value: Array, allowed: Array | None = None) -> Array:
    """Compute an attention by head and row; heads share keys if there are fewer keys."""
    found = np.zeros((*query.shape[:3], value.shape[-1]), np.float32)
    shared = query.shape[1] // key.shape[1]
    for batch, head, row in np.ndindex(query.shape[:3]):
        scores = key[batch, head // shared] @ query[batch, head, row]
        weights = np.exp(scores - scores.max()) * (1 if allowed is None else allowed[row])
        if weights.sum():
            found[batch, head, row] = (weights / weights.sum()) @ value[batch, head // shared]
    return found


def test_attention_with_shared_keys() -> None:
    query, key, value = drawn(2, 4, 3, 5), drawn(2, 2, 6, 5), drawn(2, 2, 6, 7)
    found = compute("ATTENTION_INPUT", query, key, value, None, None)
    np.testing.assert_allclose(found, expected(query, key, value), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "allowed"),
    [
        ({"causal": True}, [[1, 0, 0, 0], [1, 1, 0, 0]]),
        ({"causal_kind": "UPPER_LEFT"}, [[1, 0, 0, 0], [1, 1, 0, 0]]),
        ({"causal_kind": "LOWER_RIGHT"}, [[1, 1, 1, 0], [1, 1, 1, 1]]),
        ({"causal_kind": "NONE"}, [[1, 1, 1, 1], [1, 1, 1, 1]]),
    ],
)
def test_a_causal_attention(settings: dict[str, Any], allowed: list[list[int]]) -> None:
    query, key, value = drawn(1, 1, 2, 3), drawn(1, 1, 4, 3), drawn(1, 1, 4, 3)
    found = compute("ATTENTION_INPUT", query, key, value, None, None, **settings)
    np.testing.assert_allclose(found, expected(query, key, value, np.array(allowed)), rtol=1e-5, atol=1e-6)


def test_a_mask_of_booleans_and_a_row_without_keys() -> None:
    query, key, value = drawn(1, 1, 2, 3), drawn(1, 1, 4, 3), drawn(1, 1, 4, 3)
    mask = np.array([[True, False, True, False], [False] * 4])
    found = compute("ATTENTION_INPUT", query, key, value, mask, None)
    np.testing.assert_allclose(found, expected(query, key, value, mask), rtol=1e-5, atol=1e-6)
    assert not found[0, 0, 1].any()


def test_a_mask_of_numbers_is_added() -> None:
    query, key, value = drawn(1, 1, 2, 3), drawn(1, 1, 4, 3), drawn(1, 1, 4, 3)
    allowed = np.array([[1, 0, 1, 1], [0, 1, 1, 0]])
    mask = np.where(allowed, 0.0, -1e9).astype(np.float32)
    found = compute("ATTENTION_INPUT", query, key, value, mask, None)
    np.testing.assert_allclose(found, expected(query, key, value, allowed), rtol=1e-5, atol=1e-6)


def test_the_weights_of_a_quantized_softmax() -> None:
    zeros = np.zeros((1, 1, 1, 2), np.float32)
    value = np.array([[[[1.0], [2.0], [4.0]]]], np.float32)
    keys = np.zeros((1, 1, 3, 2), np.float32)
    # A third is 341 steps of 1/1024; FP8 has the neighbours 320 and 352.
    found = compute("ATTENTION_INPUT", zeros, keys, value, None, np.float32(1 / 1024))
    assert found.item() == pytest.approx(7 * 352 / 1024)


def test_an_attention_with_lengths_is_not_computed() -> None:
    one = np.zeros((1, 1, 1, 1), np.float32)
    with pytest.raises(NotComputedError):
        compute("ATTENTION_INPUT", one, one, one, None, None, query_lengths=3)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("width", [0, 4])
def test_a_rotary_embedding_turns_pairs(interleaved: bool, width: int) -> None:
    x, angles = drawn(1, 2, 3, 6), drawn(1, 3, 3)
    found = compute(
        "ROTARY_EMBEDDING",
        x,
        np.cos(angles),
        np.sin(angles),
        interleaved=interleaved,
        rotary_embedding_dim=width,
    )
    width = width or 6
    for head, row, pair in np.ndindex(2, 3, width // 2):
        first, second = (2 * pair, 2 * pair + 1) if interleaved else (pair, pair + width // 2)
        number = complex(x[0, head, row, first], x[0, head, row, second]) * np.exp(1j * angles[0, row, pair])
        assert found[0, head, row, [first, second]] == pytest.approx([number.real, number.imag], abs=1e-6)
    np.testing.assert_array_equal(found[..., width:], x[..., width:])


def test_positions_choose_the_angles() -> None:
    x, angles = drawn(1, 1, 2, 4), drawn(5, 2)
    at = np.array([[3, 1]])
    found = compute("ROTARY_EMBEDDING", x, np.cos(angles), np.sin(angles), at)
    chosen = angles[[3, 1]][None]
    np.testing.assert_array_equal(found, compute("ROTARY_EMBEDDING", x, np.cos(chosen), np.sin(chosen)))


def test_an_output_of_an_attention_is_its_input() -> None:
    x = drawn(2, 3)
    assert compute("ATTENTION_OUTPUT", x) is x
