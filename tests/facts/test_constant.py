"""Facts about stored tensors."""

from __future__ import annotations

import pytest

from tests.graphs import facts_of
from trtlint.facts.of_model.constant import Constant

MASKS = """
< ir_version: 8, opset_import: ["" : 17] >
g (float16[1,8,8] scores, bool[1,8,8] keep, float[1,8,8] soft) => (float16[1,8,8] p, float[1,8,8] r)
< float zero = {0}, float lowest = {-1e9}, float one = {1}, float fmin = {-3.4028234663852886e38},
  float[4] tiny = {1e-7, 0.5, 1e5, 0}, int64[1] end = {9223372036854775807} >
{
  m = Where (keep, zero, lowest)
  narrow = Cast <to = 10> (m)
  masked = Add (scores, narrow)
  p = Softmax <axis = -1> (masked)
  drop = Sub (one, soft)
  m2 = Mul (drop, fmin)
  shifted = Add (soft, m2)
  r = Softmax <axis = -1> (shifted)
  unused = Mul (tiny, tiny)
}
"""


@pytest.fixture(scope="module")
def found() -> dict[str, Constant]:
    return {fact.name: fact for fact in facts_of(MASKS).of("constant") if isinstance(fact, Constant)}


def test_the_way_to_the_softmax(found: dict[str, Constant]) -> None:
    lowest = found["lowest"]
    assert lowest.softmax == 3
    assert (lowest.added, lowest.multiplied) == (True, False)
    assert (lowest.narrowed_to, lowest.fill) == ("f16", True)
    assert [step.role for step in lowest.chain] == ["constant", "cast", "path", "softmax"]


def test_a_mask_that_is_multiplied_and_stays_wide(found: dict[str, Constant]) -> None:
    fmin = found["fmin"]
    assert (fmin.softmax, fmin.multiplied, fmin.added, fmin.narrowed_to, fmin.fill) == (
        2,
        True,
        True,
        None,
        False,
    )


def test_a_constant_away_from_any_softmax(found: dict[str, Constant]) -> None:
    assert found["tiny"].softmax is None


def test_statistics(found: dict[str, Constant]) -> None:
    tiny = found["tiny"]
    assert (tiny.size, tiny.shape, tiny.readers) == (4, (4,), ("Mul", "Mul"))
    assert (tiny.values.beyond_fp16, tiny.values.subnormal_fp16, tiny.values.infinite, tiny.values.nan) == (
        1,
        1,
        0,
        0,
    )
    assert tiny.values.low == 0.0
    assert tiny.values.high == 1e5


def test_integers_have_no_statistics() -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[4] x) => (float[4] y)
    < int64[1] start = {0}, int64[1] end = {9223372036854775807} >
    { y = Slice (x, start, end) }
    """
    facts = [fact for fact in facts_of(text).of("constant") if isinstance(fact, Constant)]
    assert [fact.values.beyond_fp16 for fact in facts] == [None, None]


def test_infinity_is_not_beyond_fp16() -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[4] x, bool[4] c) => (float[4] y)
    { lowest = Constant <value_float = -inf> () y = Where (c, x, lowest) }
    """
    (constant,) = (fact for fact in facts_of(text).of("constant") if isinstance(fact, Constant))
    assert (constant.values.beyond_fp16, constant.values.infinite, constant.fill) == (0, 1, True)


def test_the_fill_of_constant_of_shape() -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (int64[2] shape, float[4,4] x) => (float[4,4] p)
    {
      full = ConstantOfShape <value = float[1] {-1e9}> (shape)
      mask = Trilu <upper = 1> (full)
      masked = Add (x, mask)
      p = Softmax <axis = -1> (masked)
    }
    """
    (constant,) = (fact for fact in facts_of(text).of("constant") if isinstance(fact, Constant))
    assert (constant.values.low, constant.values.beyond_fp16, constant.softmax, constant.fill) == (
        -1e9,
        1,
        2,
        True,
    )


def test_values_are_not_read_for_structure(monkeypatch: pytest.MonkeyPatch) -> None:
    from trtlint.model.values import Constants

    read: list[object] = []
    original = Constants.payload
    monkeypatch.setattr(Constants, "payload", lambda self, value: read.append(value) or original(self, value))
    facts = facts_of(MASKS).of("constant")
    assert len(facts) == 5
    assert read == []
    assert [
        fact.values.beyond_fp16 for fact in facts if isinstance(fact, Constant) and fact.name == "tiny"
    ] == [1]
    assert len(read) == 1
