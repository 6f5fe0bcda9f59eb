"""Tests of data-dependent sizes and of the operators that they affect."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.graphs import facts_of
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.data_sized import DataSized
from trtlint.model.load import load


def sized(facts: Facts) -> list[DataSized]:
    return [fact for fact in facts.of("data_sized") if isinstance(fact, DataSized)]


@pytest.mark.parametrize(
    ("body", "outputs", "computing"),
    [
        ("y = NonZero (x)", ("y",), ()),
        ("i = NonZero (x) t = Transpose (i) r = GatherND (x, t) y = Softmax (r)", ("y",), ("Softmax",)),
        ("i = NonZero (x) y = Shape (i)", (), ()),
        ("i = NonZero (x) c = Cast <to = 1> (i) y = ReduceSum <keepdims = 0> (c)", (), ()),
        (
            "i = NonZero (x) t = Transpose (i) s = ScatterND (x, t, u) y = ReduceSum <keepdims = 0> (s)",
            (),
            (),
        ),
        (
            "i = NonZero (x) c = Cast <to = 1> (i) p = MatMul (c, w) y = ReduceSum <keepdims = 0> (p)",
            (),
            ("MatMul",),
        ),
    ],
)
def test_how_far_a_size_reaches(body: str, outputs: tuple[str, ...], computing: tuple[str, ...]) -> None:
    text = f"""
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[4,8] x, float[k] u, float[k,3] w) => (y) {{ {body} }}
    """
    (fact,) = sized(facts_of(text))
    assert (fact.op, fact.outputs, fact.computing) == ("NonZero", outputs, computing)


def test_two_sources() -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[4,8] x, float[4,8] z) => (int64[2,a] p, int64[2,b] q) { p = NonZero (x) q = NonZero (z) }
    """
    assert [fact.outputs for fact in sized(facts_of(text))] == [("p",), ("q",)]


@pytest.mark.slow
def test_exported_models(exported: Path) -> None:
    paths = [path for family in ("nonzero", "bool_index") for path in exported.glob(f"{family}__*.onnx")]
    assert len(paths) >= 12
    for path in paths:
        (fact,) = sized(Facts(load(path)))
        assert len(fact.outputs) == 1, path.stem
    for path in exported.glob("index_put__*.onnx"):
        assert not any(fact.outputs for fact in sized(Facts(load(path)))), path.stem
