"""Tests of the number of elements that a TopK selects."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.graphs import facts_of
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.top_k import TopK
from trtlint.model.load import load


def tops(facts: Facts) -> list[TopK]:
    return [fact for fact in facts.of("top_k") if isinstance(fact, TopK)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("k = Identity (few)", (300, "file", 300)),
        ("k = Shape <start = 0, end = 1> (x)", (4, "file", 4)),
        ("k = Shape <start = 1, end = 2> (x)", (None, "shape", None)),
        ("n = Shape <start = 1, end = 2> (x) k = Min (n, few)", (None, "shape", 300)),
        ("n = Shape (x) m = Gather (n, one) u = Min (m, few) k = Cast <to = 7> (u)", (None, "shape", 300)),
        ("k = Identity (given)", (None, "data", None)),
        ("k = Identity (infinite)", (None, "file", None)),
    ],
)
def test_how_many_elements_are_taken(body: str, expected: tuple[object, ...]) -> None:
    text = f"""
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[4,n] x, int64[1] given) => (float[4,A] v, int64[4,B] i)
    < int64[1] few = {{300}}, int64[1] one = {{1}}, float[1] infinite = {{inf}} >
    {{ {body} v, i = TopK (x, k) }}
    """
    (fact,) = tops(facts_of(text))
    assert (fact.count, fact.source, fact.at_most) == expected


def test_the_attribute_of_old_opsets() -> None:
    text = """
    < ir_version: 4, opset_import: ["" : 9] >
    g (float[4,9] x) => (float[4,5] v, int64[4,5] i) { v, i = TopK <k = 5> (x) }
    """
    (fact,) = tops(facts_of(text))
    assert (fact.count, fact.source, fact.at_most) == (5, "file", 5)


def test_exported_models(exported: Path) -> None:
    found = [tops(Facts(load(path))) for path in exported.glob("topk_dynamic_k__*.onnx")]
    assert len(found) >= 6
    assert all([fact.at_most for fact in facts] == [5] for facts in found)
