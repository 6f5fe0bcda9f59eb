"""Tests of normalization facts on real exports and on small graphs with one difference."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.graphs import facts_of
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.normalization import Normalization
from trtlint.model.load import load


def norms(facts: Facts) -> list[Normalization]:
    return [fact for fact in facts.of("normalization") if isinstance(fact, Normalization)]


def first(exported: Path, model: str) -> Normalization:
    return norms(Facts(load(exported / f"{model}.onnx")))[0]


@pytest.mark.parametrize(
    ("model", "family", "form", "axes", "statistics", "upcast"),
    [
        ("norm_layernorm__ts__op13__fp32", "layer", "decomposed", (-1,), "f32", False),
        ("norm_layernorm__ts__op17__fp16", "layer", "operator", (-1,), "f32", False),
        ("norm_layernorm_manual_pow__ts__op17__fp16", "layer", "decomposed", (-1,), "f16", False),
        ("norm_layernorm_manual_pow__dynamo__op20__fp16", "layer", "decomposed", (-1,), "f16", False),
        ("nafnet_function__ts__op17__fp16", "layer", "decomposed", (-3,), "f16", False),
        ("nafnet_plain__dynamo__op20__fp16", "layer", "decomposed", (-3,), "f32", True),
        ("norm_rmsnorm_nocast__dynamo__op20__fp16", "rms", "decomposed", (-1,), "f16", False),
        ("norm_rmsnorm_sqrt_div__ts__op17__fp16", "rms", "decomposed", (-1,), "f16", False),
        ("norm_rmsnorm_module__dynamo__op20__fp16", "rms", "decomposed", (-1,), "f32", True),
        ("norm_rmsnorm_nocast__dynamo__op23__fp32", "rms", "operator", (-1,), "f32", False),
        ("groupnorm_silu__ts__op17__fp32", "group", "operator", (-1,), "f32", False),
        ("groupnorm_silu__dynamo__op23__fp32", "group", "operator", None, "f32", False),
        ("instancenorm_noaffine__dynamo__op20__fp32", "instance", "operator", (-2, -1), "f32", False),
        ("batchnorm_standalone__ts__op17__fp32", "batch", "operator", None, "f32", False),
    ],
)
def test_spellings_of_exporters(
    exported: Path,
    model: str,
    family: str,
    form: str,
    axes: tuple[int, ...] | None,
    statistics: str,
    upcast: bool,
) -> None:
    norm = first(exported, model)
    assert (norm.family, norm.form, norm.axes, norm.statistics_dtype, norm.upcast) == (
        family,
        form,
        axes,
        statistics,
        upcast,
    )


def test_whether_a_norm_follows_attention(exported: Path) -> None:
    before, after = norms(Facts(load(exported / "bert_eager__ts__op13__fp32.onnx")))[:2]
    assert not before.follows_attention
    assert after.follows_attention
    assert not any(
        norm.follows_attention for norm in norms(Facts(load(exported / "nafnet_plain__ts__op13__fp32.onnx")))
    )


NORM = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[1,16,64] x) => (float[1,16,64] y)
< float two = {2}, float three = {3}, float eps = {0.001} >
{
  m = ReduceMean <axes = [-1], keepdims = 1> (x)
  d = Sub (x, m)
  sq = Pow (d, two)
  v = ReduceMean <axes = [-1], keepdims = 1> (sq)
  e = Add (v, eps)
  r = Sqrt (e)
  y = Div (d, r)
}
"""


def test_epsilon() -> None:
    (norm,) = norms(facts_of(NORM))
    assert norm.epsilon == pytest.approx(0.001)
    (bare,) = norms(facts_of(NORM.replace("e = Add (v, eps)", "e = Identity (v)")))
    assert bare.epsilon == 0


@pytest.mark.parametrize(
    ("before", "after"),
    [("Pow (d, two)", "Pow (d, three)"), ("Div (d, r)", "Mul (d, r)"), ("r = Sqrt (e)", "r = Exp (e)")],
)
def test_what_is_no_norm(before: str, after: str) -> None:
    assert norms(facts_of(NORM.replace(before, after))) == []


def test_axes_that_hold_a_dynamic_size_are_not_known() -> None:
    (norm,) = norms(
        facts_of("""
        < ir_version: 8, opset_import: ["" : 18] >
        g (float[N,16,64] x) => (float[A,B,C] y)
        < float two = {2}, float eps = {0.001}, int64[1] zero = {0}, int64[1] one = {1} >
        {
          shape = Shape (x)  batch = Slice (shape, zero, one)
          sq = Pow (x, two)  v = ReduceMean (sq, batch)  e = Add (v, eps)  r = Sqrt (e)  y = Div (x, r)
        }
        """)
    )
    assert norm.axes is None


def test_how_near_to_attention_a_norm_is() -> None:
    def follows(between: int) -> bool:
        chain = "  ".join(f"n{n + 1} = Neg (n{n})" for n in range(between))
        (norm,) = norms(
            facts_of(f"""
            < ir_version: 8, opset_import: ["" : 17] >
            g (float[2,8,4] q, float[2,4,8] k, float[2,8,4] v) => (float[2,8,4] y) < float[4] g = {{}} >
            {{ s = MatMul (q, k)  p = Softmax (s)  n0 = MatMul (p, v)  {chain}
               y = LayerNormalization (n{between}, g) }}
            """)
        )
        return norm.follows_attention

    assert [follows(between) for between in (0, 11, 12)] == [True, True, False]


def test_standardised_weights_are_no_norm(exported: Path) -> None:
    assert norms(Facts(load(exported / "conv_standardised__ts__op17__fp32.onnx"))) == []
