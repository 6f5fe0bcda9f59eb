"""Tests of constants that need no Cast."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

from tests.conversion.models import converted, saved, types
from trtlint.conversion.known import copying, known_numbers
from trtlint.conversion.measuring import KeepSearchResult
from trtlint.conversion.result import Conversion
from trtlint.conversion.session import ConversionRequest, ConversionSession

SCALED = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[N,8] x) => (float[N,8] y)
< int64 last = {1} >
{
  [first] a = MatMul(x, w)
  size = Shape(w) [width] n = Gather(size, last) [cast] f = Cast<to = 1>(n) [root] r = Sqrt(f)
  [scale] b = Mul(a, r) [second] c = MatMul(b, w) y = Relu(c)
}
"""
"""A scale that is computed from the shape of the weights, as in exported attention."""
JOINED = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[8,8] x) => (float[16,8] y)
{
  [one] a = MatMul(x, w) [two] b = MatMul(a, w)
  [t1] c = Transpose<perm = [1, 0]>(a) [t2] d = Transpose<perm = [1, 0]>(b)
  [join] e = Concat<axis = 0>(c, d) [soft] f = Softmax(e) [last] y = MatMul(f, w)
}
"""
"""Two results that are transposed and joined before a Softmax."""


def drafted(path: Path, *kept: str) -> Conversion:
    """Convert a model whose constants keep these operators in FP32."""
    session = ConversionSession(ConversionRequest(path, measure=False))
    session.found = KeepSearchResult(dict.fromkeys(kept, "the outputs need more digits here"))
    return session.draft().conversion


def test_a_scale_from_a_shape_is_written_as_a_constant(tmp_path: Path) -> None:
    model, draft = converted(saved(SCALED, tmp_path / "m.onnx"))
    assert not [cast for cast in draft.conversion.casts if cast.inside]
    assert types(model)["b"] == TensorProto.FLOAT16
    scale = next(node for node in model.graph.node if node.name == "scale")
    written = next(node for node in model.graph.node if node.output[0] == scale.input[1])
    assert numpy_helper.to_array(written.attribute[0].t) == np.float16(8**0.5)


def test_a_number_from_a_shape_that_an_input_decides_is_not_known(tmp_path: Path) -> None:
    path = saved(
        SCALED.replace("Shape(w)", "Shape(x)").replace("last = {1}", "last = {0}"), tmp_path / "m.onnx"
    )
    session = ConversionSession(ConversionRequest(path, measure=False))
    assert known_numbers(session.model) == {}
    assert sum(cast.inside for cast in session.draft().conversion.casts) == 1


def test_operators_that_copy_numbers_follow_their_writers(tmp_path: Path) -> None:
    path = saved(JOINED, tmp_path / "m.onnx")
    found = drafted(path, "t1", "t2", "join", "soft")
    assert [kept.node for kept in found.kept] == ["soft"]
    assert [cast.tensor for cast in found.casts if cast.inside] == ["e", "f"]


def test_a_copy_between_operators_in_fp32_stays_in_fp32(tmp_path: Path) -> None:
    path = saved(JOINED, tmp_path / "m.onnx")
    found = drafted(path, "two", "t1", "t2", "join", "soft")
    assert [kept.node for kept in found.kept] == ["two", "t1", "t2", "join", "soft"]
    assert [cast.tensor for cast in found.casts if cast.inside] == ["a", "f"]


def test_copied_weights_get_the_type_of_their_reader(tmp_path: Path) -> None:
    text = JOINED.replace("MatMul(f, w)", "MatMul(f, v)").replace(
        "[one]", "[turn] v = Transpose<perm = [1, 0]>(w) [one]"
    )
    path = saved(text, tmp_path / "m.onnx")
    found = drafted(path, "turn", "soft")
    assert [kept.node for kept in found.kept] == ["soft"]
    found = drafted(path, "turn", "soft", "last")
    assert {kept.node for kept in found.kept} == {"turn", "soft", "last"}


@pytest.mark.parametrize(("op", "copies"), [("Transpose", True), ("Softmax", False)])
def test_some_operators_copy_numbers(tmp_path: Path, op: str, copies: bool) -> None:
    session = ConversionSession(ConversionRequest(saved(JOINED, tmp_path / "m.onnx"), measure=False))
    nodes = [node for node in session.model.graph.nodes if node.op == op]
    assert bool(copying(nodes, session.labels.ports)) is copies


def test_a_small_product_before_an_output_computes_in_16_bits(tmp_path: Path) -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[512,8] x) => (float[4] y)
    < int64 zero = {0} >
    { a = MatMul(x, w) b = MatMul(a, w) c = Gather(b, zero) [head] y = MatMul(c, v) }
    """
    path = saved(text, tmp_path / "m.onnx")
    model = onnx.load(path)
    model.graph.initializer.append(numpy_helper.from_array(np.ones((8, 4), np.float32), "v"))
    onnx.save(model, path)
    found = drafted(path)
    assert found.share == 1.0
    assert not [cast for cast in found.casts if cast.inside]


def test_a_size_that_inference_does_not_find_is_known(tmp_path: Path) -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[N,8] x) => (float[N,2,4] y)
    < int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64 last = {2} >
    {
      a = MatMul(x, w) sizes = Shape(a) row = Gather(sizes, zero) all = Gather(sizes, one)
      half = Div(all, two) dims = Concat<axis = 0>(row, two, half) b = Reshape(a, dims)
      size = Shape(b) n = Gather(size, last) f = Cast<to = 1>(n) r = Sqrt(f) c = Mul(b, r) y = Relu(c)
    }
    """
    session = ConversionSession(ConversionRequest(saved(text, tmp_path / "m.onnx"), measure=False))
    numbers = {value.name: float(array) for value, array in known_numbers(session.model).items()}
    assert numbers == {"f": 4.0, "r": 2.0}
