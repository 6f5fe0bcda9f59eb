"""Tests of every variant of ``Attention`` against ONNX's reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fixes.fixing import assert_same, fixed, ops

HEAD = '< ir_version: 11, opset_import: ["" : %d] >'
RNG = np.random.default_rng(7)
MASKED = np.array([[1, 1, 0, 0, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], bool)
"""The second row has no key."""


def tensor(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.normal(size=shape).astype(np.float32)


Q4 = {"q": tensor(2, 4, 3, 8), "k": tensor(2, 4, 5, 8), "v": tensor(2, 4, 5, 8)}
IN4 = "float[2,4,3,8] q, float[2,4,5,8] k, float[2,4,5,8] v"
GROUPED = {"q": tensor(2, 4, 3, 8), "k": tensor(2, 2, 5, 8), "v": tensor(2, 2, 5, 16)}
Q3 = {"q": tensor(2, 3, 32), "k": tensor(2, 5, 16), "v": tensor(2, 5, 16)}
PAST = {"pk": tensor(2, 4, 6, 8), "pv": tensor(2, 4, 6, 8)}

CAP = ", softcap = 2.0"
CASES = {
    "plain": (23, IN4, "y = Attention (q, k, v)", "float[2,4,3,8] y", Q4),
    "scale": (23, IN4, "y = Attention <scale = 0.3> (q, k, v)", "float[2,4,3,8] y", Q4),
    "causal": (23, IN4, "y = Attention <is_causal = 1> (q, k, v)", "float[2,4,3,8] y", Q4),
    "softcap": (23, IN4, "y = Attention <softcap = 0.5> (q, k, v)", "float[2,4,3,8] y", Q4),
    "bool mask": (
        23,
        f"{IN4}, bool[3,5] m",
        "y = Attention (q, k, v, m)",
        "float[2,4,3,8] y",
        {**Q4, "m": MASKED},
    ),
    "bool mask, causal": (
        23,
        f"{IN4}, bool[3,5] m",
        "y = Attention <is_causal = 1> (q, k, v, m)",
        "float[2,4,3,8] y",
        {**Q4, "m": MASKED},
    ),
    "float mask": (
        23,
        f"{IN4}, float[2,1,3,5] m",
        "y = Attention (q, k, v, m)",
        "float[2,4,3,8] y",
        {**Q4, "m": np.where(MASKED, tensor(2, 1, 3, 5), -np.inf).astype(np.float32)},
    ),
    "float mask, causal": (
        23,
        f"{IN4}, float[3,5] m",
        "y = Attention <is_causal = 1> (q, k, v, m)",
        "float[2,4,3,8] y",
        {**Q4, "m": np.where(MASKED, 0.25, -np.inf).astype(np.float32)},
    ),
    "grouped": (
        23,
        "float[2,4,3,8] q, float[2,2,5,8] k, float[2,2,5,16] v",
        "y = Attention (q, k, v)",
        "float[2,4,3,16] y",
        GROUPED,
    ),
    "one head of K": (
        23,
        "float[2,4,3,8] q, float[2,1,5,8] k, float[2,1,5,8] v",
        "y = Attention (q, k, v)",
        "float[2,4,3,8] y",
        {"q": Q4["q"], "k": tensor(2, 1, 5, 8), "v": tensor(2, 1, 5, 8)},
    ),
    "rank 3, grouped, any length": (
        23,
        "float[B,S,32] q, float[B,T,16] k, float[B,T,16] v",
        "y = Attention <q_num_heads = 4, kv_num_heads = 2, is_causal = 1> (q, k, v)",
        "float[B,S,32] y",
        Q3,
    ),
    "past": (
        23,
        f"{IN4}, float[2,4,6,8] pk, float[2,4,6,8] pv",
        "y, nk, nv = Attention <is_causal = 1> (q, k, v, , pk, pv)",
        "float[2,4,3,8] y, float[2,4,11,8] nk, float[2,4,11,8] nv",
        {**Q4, **PAST},
    ),
    "past of any length": (
        23,
        "float[2,4,S,8] q, float[2,4,S,8] k, float[2,4,S,8] v, float[2,4,P,8] pk, float[2,4,P,8] pv",
        "y, nk, nv = Attention <is_causal = 1> (q, k, v, , pk, pv)",
        "float[2,4,S,8] y, float[2,4,T,8] nk, float[2,4,T,8] nv",
        {"q": Q4["q"], "k": tensor(2, 4, 3, 8), "v": tensor(2, 4, 3, 8), **PAST},
    ),
    # ONNX's reference returns capped scores for mode 0, unlike the specification and ONNX Runtime.
    **{
        f"scores, mode {mode}": (
            23,
            f"{IN4}, bool[3,5] m",
            f"y, _a, _b, s = Attention <qk_matmul_output_mode = {mode}{CAP if mode else ''}> (q, k, v, m)",
            "float[2,4,3,8] y, float[2,4,3,5] s",
            {**Q4, "m": MASKED},
        )
        for mode in range(4)
    },
    "lengths": (
        24,
        f"{IN4}, int64[2] n",
        "y = Attention <is_causal = 1> (q, k, v, , , , n)",
        "float[2,4,3,8] y",
        {**Q4, "n": np.array([4, 2], np.int64)},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_it_computes_the_same(case: str, tmp_path: Path) -> None:
    opset, inputs, call, outputs, feeds = CASES[case]
    text = f"{HEAD % opset} g ({inputs}) => ({outputs}) {{ {call} }}"
    before, after = fixed(tmp_path, text)
    assert "Attention" not in ops(after)
    assert_same(before, after, feeds)


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ("float[2,4,3,D] q, float[2,4,5,D] k, float[2,4,5,D] v", "size of a head"),
        ("float[2,4,3,8] q, float[2,3,5,8] k, float[2,3,5,8] v", "not a multiple"),
    ],
)
def test_what_is_not_known_is_refused(
    inputs: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = "y = Attention <is_causal = 1> (q, k, v, m)"
    text = f"{HEAD % 23} g ({inputs}, bool[3,5] m) => (float[2,4,3,8] y) {{ {call} }}"
    _, after = fixed(tmp_path, text)
    assert after is None
    assert says in capsys.readouterr().out
