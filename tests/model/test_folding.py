"""Tests of constant folding: results of ONNX's reference, and invalid operands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, parser
from onnx.reference import ReferenceEvaluator

from tests.graphs import model_of
from trtlint.model.load import load
from trtlint.model.sizes import slice_shape


def test_more_axes_than_numpy_holds_are_unknown() -> None:
    sizes = ", ".join(["1"] * 70)
    text = f"""< ir_version: 8, opset_import: ["" : 17] > g (float[2] x) => (float y)
    < int64[70] s = {{{sizes}}}, int64 one = {{1}} > {{ e = Expand (one, s)  y = Cast <to = 1> (e) }}"""
    model = model_of(text)
    value = model.graph.resolve("e")
    assert value is not None
    assert model.constants.array(value) is None


def test_an_axis_of_negative_size_is_unknown() -> None:
    assert slice_shape((-3, 4), [(1,), (2,), (0,), (1,)]) == (None, 4)
    assert slice_shape((3, 4), [(1,), (2,), (0,), (1,)]) == (1, 4)


HEAD = """< ir_version: 8, opset_import: ["" : 18] >
g (float[n,8,l,64] x) => (int64[4] s)
< float[3,4] f = {1.5, -2, 0.25, 7, -0.5, 3, 2.5, -3.5, 4, 0.125, -1, 6}, float[4] g = {2, -3, 0.5, 1},
  float[4] h = {0, -1, 2, 0.5}, float three = {3}, int64[3,4] i = {7, -7, 5, 2, -9, 4, 3, -1, 0, 8, 6, -4},
  int64[4] j = {2, 3, -2, 5}, int32 k = {3}, bool[4] b = {1, 0, 0, 1}, bool[4] c = {1, 1, 0, 0},
  int64 zero = {0}, int64 two = {2}, int64 nine = {9}, int64 minus = {-2}, float huge = {65},
  int64[1] first = {0}, int64[1] one = {1}, int64[1] last = {-1}, int64[1] past = {-100},
  int64[1] end = {100}, int64[1] four = {-4},
  int64[2] pair = {1, 0},
  int64[2] few = {3, 2}, int64[2] from = {-1, -2}, int64[2] to = {-3, 3}, int64[2] by = {-1, 1},
  int64[0] none = {},
  int64[3] wide = {2, 1, 4}, int64[3] sizes = {2, -1, 0}, float[1,2,1] thin = {5, 6} >
{ s = Shape (x) """
KNOWN = """
Abs (f)  Abs (i)  Add (f, g)  Add (i, j)  And (b, c)  Or (b, c)  Not (b)  Cast <to = 7> (f)
Cast <to = 1> (i)  Cast <to = 10> (f)  Cast <to = 9> (i)  Cast <to = 11> (f)  CastLike (f, k)
CastLike (i, f)  Ceil (f)  Floor (f)  Concat <axis = 0> (f, f)  Concat <axis = -1> (i, i, i)
ConstantOfShape (few)  ConstantOfShape <value = int64[1] {7}> (few)  Div (f, g)  Div (i, j)  Equal (i, j)
Exp (f)  Expand (g, wide)  Expand (f, one)  Gather (f, two)  Gather <axis = 1> (f, pair)
Gather <axis = -1> (i, last)  Greater (f, g)  GreaterOrEqual (i, j)  Less (f, g)  LessOrEqual (i, j)
Identity (f)  Max (f, g, three)  Max (i, j)  Min (f, g)  Min (i, j, i)  Mod (i, j)  Mod <fmod = 1> (f, g)
Mod <fmod = 1> (i, j)  Mul (f, g)  Mul (i, j)  Neg (f)  Neg (i)  Pow (f, two)  Pow (i, two)
Pow (g, three)  Range (zero, nine, two)  Range (nine, zero, minus)  Reciprocal (f)  ReduceMax (f)
ReduceMax <keepdims = 0> (i, one)  ReduceMin (f, last)  ReduceProd <keepdims = 0> (j)
ReduceSum (i, pair)  ReduceSum (i)  ReduceSum (i, none)  ReduceSum <noop_with_empty_axes = 1> (i)
Reshape (thin, sizes)  Reshape (f, last)  Size (f)  Size (s)  Shape <start = 1> (f)  Shape <end = -1> (f)
Shape <start = -1> (f)  Slice (f, pair, few)  Slice (f, one, end)  Slice (i, last, end, one)
Slice (i, last, past, one, last)  Slice (i, last, first, first, last)  Slice (f, from, to, pair, by)
Sqrt (h)  Slice (j, last, four, first, last)  Log (h)  Squeeze (thin)  Squeeze (thin, first)  Sub (f, g)
Sub (i, j)  Transpose (f)  Transpose <perm = [1, 2, 0]> (thin)  Unsqueeze (f, pair)  Unsqueeze (f, last)
Where (b, g, three)  Where (c, j, two)
"""
PARTLY = """
Identity (s)  Mul (s, two)  Add (s, s)  Sub (two, s)  Slice (s, one, end)
Slice (s, last, past, first, last)  Gather (s, last)  Gather (s, pair)  Concat <axis = 0> (s, one, s)
Unsqueeze (s, first)  Cast <to = 1> (s)  Where (b, s, j)  Max (s, two)  Expand (s, wide)  Transpose (s)
Div (s, j)  Shape <start = 1, end = 3> (x)  Equal (s, two)  Neg (s)
"""
UNKNOWN = """
Size (x)  ReduceProd (s)  Range (zero, nine, zero)  ConstantOfShape (s)  Expand (one, s)  Gather (j, s)
Reshape (j, s)  Relu (f)  Cast <to = 8> (f)  Cast <to = 16> (f)  Pow (g, huge)  Exp (x)
"""


def expressions(table: str) -> list[str]:
    """Return the expressions of a table."""
    return [each for line in table.strip().splitlines() for each in line.split("  ")]


def folded(table: str) -> tuple[Any, dict[str, tuple[Any, ...]]]:
    """Return the model with the expressions of a table, and ONNX's results for several sizes of its input."""
    nodes = " ".join(f"z{at} = {each}" for at, each in enumerate(expressions(table)))
    text = f"{HEAD}{nodes} }}"
    reference = ReferenceEvaluator(parser.parse_model(text))
    names = [f"z{at}" for at in range(len(expressions(table)))]
    feeds = [{"x": np.ones((n, 8, length, 64), np.float32)} for n, length in ((2, 3), (5, 2), (4, 9))]
    with np.errstate(all="ignore"):
        runs = [reference.run(names, feed) for feed in feeds]
    return model_of(text), dict(zip(names, zip(*runs, strict=True), strict=True))


@pytest.mark.parametrize(
    ("start", "end", "expected"), [(-7, -9, [1]), (-7, 0, []), (9, -9, [3, 2, 1]), (-1, -3, [3, 2])]
)
def test_bounds_of_a_slice_with_a_negative_step(start: int, end: int, expected: list[int]) -> None:
    model = model_of(
        f"""< ir_version: 8, opset_import: ["" : 18] > g () => (int64[n] y)
        < int64[3] x = {{1, 2, 3}}, int64[1] a = {{{start}}}, int64[1] b = {{{end}}}, int64[1] c = {{0}},
          int64[1] d = {{-1}} > {{ y = Slice (x, a, b, c, d) }}"""
    )
    found = model.constants.array(model.graph.resolve("y"))
    assert found is not None
    assert found.tolist() == expected


def test_operators_compute_what_onnx_says() -> None:
    model, wanted = folded(KNOWN)
    for expression, (name, (expected, *_)) in zip(expressions(KNOWN), wanted.items(), strict=True):
        found = model.constants.array(model.graph.resolve(name))
        assert found is not None, expression
        undefined = ~np.isfinite(expected) if expected.dtype.kind == "f" else np.zeros(expected.shape, bool)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), expression
        assert np.array_equal(np.ma.getmaskarray(found), undefined), expression
        np.testing.assert_allclose(found[~undefined], expected[~undefined], rtol=1e-3, err_msg=expression)


def test_elements_that_depend_on_dynamic_sizes_are_unknown() -> None:
    model, wanted = folded(PARTLY)
    for expression, (name, (expected, *others)) in zip(expressions(PARTLY), wanted.items(), strict=True):
        found = model.constants.array(model.graph.resolve(name))
        assert found is not None, expression
        known = ~np.ma.getmaskarray(found)
        same = np.all([expected == other for other in others], axis=0)
        assert np.array_equal(known, same), expression
        np.testing.assert_array_equal(np.asarray(found)[known], expected[known], err_msg=expression)


@pytest.mark.parametrize(
    ("expression", "size"),
    [
        ("Range (zero, k, step)", 4096),
        ("ConstantOfShape (n)", 4096),
        ("ConstantOfShape (even)", 4096),
        ("Expand (zero, even)", 4096),
        ("Concat <axis = 0> (half, half)", 4096),
        ("Add (half, column)", 4096),
        ("Where (yes, half, column)", 4096),
        ("Gather (half, column)", 2),
        ("Range (zero, k1, step)", None),
        ("ConstantOfShape (n1)", None),
        ("ConstantOfShape (odd)", None),
        ("Expand (zero, odd)", None),
        ("Concat <axis = 0> (half, half, one)", None),
        ("Add (half, three)", None),
        ("Where (yes, half, three)", None),
        ("Gather (half, three)", None),
        ("Range (zero, k, zero)", None),
        ("Range (k, zero, zero)", None),
        ("Range (zero, zero, zero)", None),
        ("Range (k, zero, step)", 0),
    ],
)
def test_results_are_small(expression: str, size: int | None) -> None:
    text = """< ir_version: 8, opset_import: ["" : 18] > g (float x) => (float y)
    < int64 zero = {0}, int64 k = {4096}, int64 k1 = {4097}, int64 step = {1}, int64[1] one = {1},
      int64[1] n = {4096}, int64[1] n1 = {4097}, int64[2] even = {64, 64}, int64[2] odd = {64, 65},
      int64[2,1] column = {1, 0}, int64[3,1] three = {0, 1, 2}, int64[1] two = {2048}, bool yes = {1} >
    { half = ConstantOfShape <value = int64[1] {1}> (two) y = Identity (x) """
    model = model_of(f"{text} z = {expression} }}")
    found = model.constants.array(model.graph.resolve("z"))
    assert (None if found is None else found.size) == size


@pytest.mark.parametrize(
    ("dtype", "dividend", "divisor", "quotient"),
    [
        ("int64", 2**32, 2**31, 2),
        ("int32", 2**16, 2**15, 2),
        ("int64", -(2**32), -(2**31), 2),
        ("int64", 2**32, -(2**31) - 1, -1),
        ("uint8", 200, 3, 66),
        ("int64", -(2**63), 2, -(2**62)),
        ("int32", -(2**31), 4, -(2**29)),
        ("int64", -(2**63), 3, -3074457345618258602),
        ("int64", -7, 2, -3),
    ],
)
def test_quotients_of_large_integers(dtype: str, dividend: int, divisor: int, quotient: int) -> None:
    """The product of the operands may not fit into their type."""
    text = f"""< ir_version: 8, opset_import: ["" : 18] > g (float x) => (float y)
    < {dtype} a = {{{dividend}}}, {dtype} b = {{{divisor}}} > {{ y = Identity (x) z = Div (a, b) }}"""
    model = model_of(text)
    assert model.constants.integers(model.graph.resolve("z")) == (quotient,)


@pytest.mark.parametrize("expression", expressions(UNKNOWN))
def test_results_that_are_not_computed(expression: str) -> None:
    model = model_of(f"{HEAD} z = {expression} }}")
    assert model.constants.array(model.graph.resolve("z")) is None


def test_external_data_of_an_attribute_are_not_read_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ONNX's own reader looks for the file in the working directory."""
    monkeypatch.chdir(tmp_path)
    Path("w.bin").write_bytes(np.float32(7).tobytes())
    model = parser.parse_model(
        """< ir_version: 8, opset_import: ["" : 17] > g (float[2] x) => (float[2] y)
        < int64[1] s = {2} > { c = ConstantOfShape <value = float[1] {1}> (s)  y = Add (x, c) }"""
    )
    value = model.graph.node[0].attribute[0].t
    value.CopyFrom(TensorProto(data_type=1, dims=[1], data_location=TensorProto.EXTERNAL))
    for name in ("w.bin", "gone.bin", "../w.bin", str(tmp_path / "w.bin"), ""):
        del value.external_data[:]
        value.external_data.add(key="location", value=name)
        Path("folder").mkdir(exist_ok=True)
        Path("folder/m.onnx").write_bytes(model.SerializeToString())
        loaded = load(Path("folder/m.onnx"))
        filled = loaded.graph.resolve("c")
        assert filled is not None
        assert loaded.constants.array(filled) is None
