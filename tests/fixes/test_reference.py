"""Tests of the proof's evaluator where ONNX's reference differs from the specification."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from trtlint.fixes.reference import NoImplementationError, run_reference

RNG = np.random.default_rng(5)
Q, K, V = (RNG.normal(size=shape) for shape in ((2, 4, 3, 8), (2, 4, 5, 8), (2, 4, 5, 8)))
KEPT = np.array([[True, False, True, True, True], [True, True, True, False, True]])[:, None, None]


def computed(opset: int, inputs: str, outputs: str, body: str, **feeds: Any) -> list[np.ndarray[Any, Any]]:
    text = f'< ir_version: 10, opset_import: ["" : {opset}] > g ({inputs}) => ({outputs}) {{ {body} }}'
    return run_reference(onnx.parser.parse_model(text), feeds)


@pytest.mark.parametrize("mask", [KEPT, np.where(KEPT, 0.5, -np.inf)])
def test_a_causal_mask_is_that_of_every_query(mask: np.ndarray[Any, Any]) -> None:
    body = "y = Attention <is_causal = 1> (q, k, v, m)"
    kind = "bool" if mask.dtype == bool else "double"
    inputs = f"double[2,4,3,8] q, double[2,4,5,8] k, double[2,4,5,8] v, {kind}[2,1,R,5] m"
    one, all_ = (
        computed(23, inputs, "double[2,4,3,8] y", body, q=Q, k=K, v=V, m=np.repeat(mask, rows, axis=2))
        for rows in (1, 3)
    )
    np.testing.assert_allclose(one[0], all_[0])
    assert not np.allclose(one[0][..., 2, :], one[0][..., 0, :])


def test_scores_are_not_capped_where_those_before_are_given() -> None:
    inputs = "double[2,4,3,8] q, double[2,4,5,8] k, double[2,4,5,8] v"
    outputs = "double[2,4,3,8] y, double[2,4,3,5] s"
    plain, capped = (
        computed(23, inputs, outputs, f"y, a, b, s = Attention <{cap}scale = 1.0> (q, k, v)", q=Q, k=K, v=V)
        for cap in ("", "softcap = 0.5, ")
    )
    np.testing.assert_allclose(plain[1], Q @ np.swapaxes(K, -1, -2))
    np.testing.assert_allclose(capped[1], plain[1])
    assert not np.allclose(capped[0], plain[0])


@pytest.mark.parametrize(("opset", "each"), [(18, 3), (21, 1)])
def test_a_group_norm_has_parameters_of_groups_before_opset_21(opset: int, each: int) -> None:
    x, gain, bias = RNG.normal(size=(2, 6, 4)), RNG.normal(size=6 // each), RNG.normal(size=6 // each)
    (found,) = computed(
        opset,
        "double[2,6,4] x, double[C] g, double[C] b",
        "double[2,6,4] y",
        "y = GroupNormalization <num_groups = 2, epsilon = 0.5> (x, g, b)",
        x=x,
        g=gain,
        b=bias,
    )
    for channel in range(6):
        group = x[:, channel // 3 * 3 : channel // 3 * 3 + 3].reshape(2, -1)
        mean, variance = group.mean(axis=1)[:, None], group.var(axis=1)[:, None]
        normed = (x[:, channel] - mean) / np.sqrt(variance + 0.5)
        np.testing.assert_allclose(found[:, channel], normed * gain[channel // each] + bias[channel // each])


def test_an_operator_that_it_lacks_is_said_to_be_missing() -> None:
    with pytest.raises(NoImplementationError):
        computed(17, "float[1,2,3] x", "float[1,2,1] y", "y = GlobalLpPool (x)", x=np.zeros((1, 2, 3)))
