"""Tests of facts about stored tensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from tests.graphs import facts_of
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.constant import Constant
from trtlint.model.load import load

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


@pytest.mark.parametrize(("inputs", "fill"), [("c, k, x", True), ("c, x, k", True), ("k, x, x", False)])
def test_values_that_a_where_selects_fill_a_tensor(inputs: str, fill: bool) -> None:
    dtype = "bool" if inputs.startswith("k") else "float"
    facts = facts_of(f"""< ir_version: 8, opset_import: ["" : 17] >
        g (float[4] x, bool[4] c) => (float[4] y) < {dtype} k = {{1}} > {{ y = Where ({inputs}) }}""")
    assert [fact.fill for fact in facts.of("constant") if isinstance(fact, Constant)] == [fill]


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


NUMBERS = [2**-14, 2**-15, 1e-8, -1e-5, 0, 65504, 65505, -1e5, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize(
    ("dtype", "numbers", "beyond", "subnormal", "infinite", "nan", "low", "high"),
    [
        (np.float32, NUMBERS, 2, 3, 2, 1, -np.inf, np.inf),
        (np.float64, [*NUMBERS[:7], np.nextafter(2**-14, 0)], 1, 4, 0, 0, -1e-5, 65505),
        (np.float16, [2**-14, 2**-15, -6e-8, 65504, np.nan], 0, 2, 0, 1, -(2.0**-24), 65504),
        (ml_dtypes.bfloat16, [2**-14, -(2**-15), 65536, 998244352], 2, 1, 0, 0, -(2.0**-15), 998244352),
        (np.float32, [np.nan], 0, 0, 0, 1, np.nan, np.nan),
        (np.float32, [], 0, 0, 0, 0, None, None),
        (np.int32, [1, 2], None, None, None, None, None, None),
        (ml_dtypes.float8_e4m3fn, [1, 2], None, None, None, None, None, None),
    ],
)
def test_numbers_of_each_type(
    dtype: Any,
    numbers: list[float],
    beyond: int | None,
    subnormal: int | None,
    infinite: int | None,
    nan: int | None,
    low: float | None,
    high: float | None,
    tmp_path: Path,
) -> None:
    proto = parser.parse_model("""< ir_version: 10, opset_import: ["" : 19] >
        g (float[N] x) => (float[N] y) { c = Cast <to = 1> (w) y = Add (x, c) }""")
    proto.graph.initializer.append(numpy_helper.from_array(np.array(numbers, dtype), "w"))
    onnx.save(proto, tmp_path / "model.onnx")
    (fact,) = Facts(load(tmp_path / "model.onnx")).of("constant")
    assert isinstance(fact, Constant)
    values = fact.values
    assert (values.beyond_fp16, values.subnormal_fp16, values.infinite, values.nan) == (
        beyond,
        subnormal,
        infinite,
        nan,
    )
    assert (values.low, values.high) == pytest.approx((low, high), nan_ok=True)
