"""Tests of attention with Einsum products, and of attention with two problems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.fixes.fixing import assert_same, fixed, ops
from tests.pages import EXAMPLES

RNG = np.random.default_rng(5)
TRT = ("--trt", "10.7", "--fp16", "--verify")
HEAD = '< ir_version: 8, opset_import: ["" : 17] >'


def tensor(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.normal(size=shape).astype(np.float32)


def einsum(scores: str, result: str, *shapes: str) -> str:
    """Return an attention with these equations and the shapes of Q, K, V and the result."""
    q, k, v, out = shapes
    return f"""{HEAD} g (float[{q}] q, float[{k}] k, float[{v}] v) => (float[{out}] o)
    {{
      a = Einsum <equation = "{scores}"> (q, k)
      p = Softmax <axis = -1> (a)
      o = Einsum <equation = "{result}"> (p, v)
    }}"""


@pytest.mark.parametrize(
    ("scores", "result"),
    [
        ("bthd,bshd->bhts", "bhts,bshd->bthd"),
        ("bshd, bthd -> bhst", "bhst, bthd -> bhsd"),
        ("xyBA,xzBA->xByz", "xByz,xzBC->CyxB"),
    ],
)
def test_heads_are_padded_wherever_an_equation_has_them(tmp_path: Path, scores: str, result: str) -> None:
    sizes = {"bthd": "2,16,4,6", "bthd ": "2,16,4,6", "bhsd": "2,4,16,6", "CyxB": "6,16,2,4"}
    out = result.partition("->")[2].strip()
    text = einsum(scores, result, *["2,16,4,6"] * 3, sizes[out])
    before, after = fixed(tmp_path, text, *TRT)
    assert ops(after) == ["Pad", "Pad", "Einsum", "Softmax", "Pad", "Einsum", "Slice"]
    assert_same(before, after, {name: tensor(2, 16, 4, 6) for name in "qkv"})


def test_q_and_k_can_be_one_tensor(tmp_path: Path) -> None:
    text = einsum("bhtd,bhsd->bhts", "bhts,bhsd->bhtd", *["2,4,16,6"] * 4).replace("(q, k)", "(q, q)")
    before, after = fixed(tmp_path, text, *TRT)
    assert ops(after).count("Pad") == 3
    assert_same(before, after, {name: tensor(2, 4, 16, 6) for name in "qkv"})


def test_v_may_come_first(tmp_path: Path) -> None:
    text = f"""{HEAD} g (float[2,4,16,6] q, float[2,4,6,16] k, float[2,4,6,16] v) => (float[2,4,6,16] o)
    {{
      a = MatMul (q, k)
      p = Softmax <axis = -1> (a)
      t = Transpose <perm = [0, 1, 3, 2]> (p)
      o = MatMul (v, t)
    }}"""
    before, after = fixed(tmp_path, text, *TRT)
    assert ops(after)[-1] == "Slice"
    feeds = {"q": tensor(2, 4, 16, 6), "k": tensor(2, 4, 6, 16), "v": tensor(2, 4, 6, 16)}
    assert_same(before, after, feeds)


CHANNELS_FIRST = ("bct,bcs->bts", "bts,bcs->bct")


def test_channels_first_operands_get_a_fourth_axis_in_the_equation(tmp_path: Path) -> None:
    before, after = fixed(tmp_path, einsum(*CHANNELS_FIRST, *["4,32,64"] * 4), *TRT)
    assert ops(after) == ["Unsqueeze", "Unsqueeze", "Einsum", "Unsqueeze", "Softmax", "Einsum", "Squeeze"]
    assert after is not None
    equations = [bytes(node.attribute[0].s) for node in after.graph.node if node.op_type == "Einsum"]
    assert equations == [b"abct,abcs->abts", b"abts,abcs->abct"]
    assert_same(before, after, {name: tensor(4, 32, 64) for name in "qkv"})


def test_a_finding_with_two_reasons_takes_two_rewrites(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = fixed(tmp_path, einsum(*CHANNELS_FIRST, *["4,8,64"] * 4), *TRT)
    out = capsys.readouterr().out
    assert "note[PERF104] pad-heads" in out
    assert "note[PERF104] rank-four-attention" in out
    assert "2 places rewritten, 0 refused; 1 note before, no findings after" in out
    assert_same(before, after, {name: tensor(4, 8, 64) for name in "qkv"})


def test_what_is_no_product_of_matrices_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = einsum("bhtd,bhsd->bhts", "bhts,bhsdx->bhtdx", *["2,4,16,6"] * 3, "2,4,16,6,3")
    text = text.replace("float[2,4,16,6] v", "float[2,4,16,6,3] v")
    assert fixed(tmp_path, text, *TRT)[1] is None
    assert "pad-heads: an Einsum of the attention is not a matrix product" in capsys.readouterr().out


def test_operators_that_stay_keep_their_names(tmp_path: Path) -> None:
    source = EXAMPLES / "unet_attention.onnx"
    before, after = fixed(tmp_path, onnx.load(source), "--trt", "10.7")
    assert after is not None
    names = {node.name: node.op_type for node in after.graph.node}
    kept = {node.name: node.op_type for node in before.graph.node if node.op_type in ("Softmax", "Einsum")}
    assert kept
    assert kept.items() <= names.items()


def test_a_softmax_over_the_third_axis_keeps_its_name(tmp_path: Path) -> None:
    source = """< ir_version: 8, opset_import: ["" : 17] >
    g (float16[2,64,19] q, float16[2,64,19] k, float16[2,64,19] v) => (float16[2,64,19] o)
    {
      qt = Transpose <perm = [0, 2, 1]> (q)
      s = MatMul (qt, k)
      [weigh] p = Softmax <axis = 2> (s)
      vt = Transpose <perm = [0, 2, 1]> (v)
      [sum] t = MatMul (p, vt)
      o = Transpose <perm = [0, 2, 1]> (t)
    }"""
    _, after = fixed(tmp_path, source, "--rtx", "1.7", "--gpu", "L4")
    assert after is not None
    assert {"weigh", "sum"} <= {node.name for node in after.graph.node}
