"""Parts by NVIDIA's parser, asked as the providers ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dry_build.rtx import NEEDS_WHEELS
from tests.partition.test_predict import FOLDED_AXES, IN_A_BODY, TWO_UNIQUES, WIDE, partition, write
from trtlint.dry_build.wheels import find
from trtlint.partition.result import Partition, ProviderSettings
from trtlint.partition.simulate import simulate

pytestmark = NEEDS_WHEELS

CONSTANT_BESIDE = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[4,4] x) => (float[N] y) {
  c = Constant <value_float = 2.0> ()
  p = Mul (x, c)
  q = Unique (p)
  y = Mul (q, c)
}
"""


def simulated(path: Path, settings: ProviderSettings | None = None) -> Partition:
    """Divide a model as the TensorRT provider does, without the rewrites of ONNX Runtime."""
    found = simulate(path, "tensorrt", find(), settings or ProviderSettings(), rewrite=False)
    assert found.partition is not None, found.ended
    return found.partition


@pytest.mark.parametrize("text", [TWO_UNIQUES, IN_A_BODY])
def test_the_parser_agrees_with_the_prediction(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    found, expected = simulated(path), partition(path)
    assert sorted(map(list, found.parts)) == sorted(expected["parts"])  # type: ignore[call-overload]
    assert {each.node for each in found.left} == set(expected["left"])  # type: ignore[call-overload]


def test_the_parser_is_asked_for_each_part(tmp_path: Path) -> None:
    assert simulated(write(tmp_path, TWO_UNIQUES)).calls == 4


def test_constants_are_no_nodes_and_names_keep_their_positions(tmp_path: Path) -> None:
    found = simulated(write(tmp_path, CONSTANT_BESIDE))
    assert found.parts == (("Mul_1",), ("Mul_3",))
    assert [each.node for each in found.left] == ["Unique_2"]


@pytest.mark.slow
def test_options_count(tmp_path: Path) -> None:
    path = write(tmp_path, TWO_UNIQUES)
    assert simulated(path, ProviderSettings(min_nodes=2)).parts == ()
    assert [each.op for each in simulated(path, ProviderSettings(exclude=frozenset({"Abs"}))).left] == [
        "Unique", "Abs", "Unique"
    ]  # fmt: skip


def test_too_few_rounds_leave_everything(tmp_path: Path) -> None:
    assert simulated(write(tmp_path, TWO_UNIQUES), ProviderSettings(max_rounds=0)).parts == ()


def test_rewrites_of_onnx_runtime_come_first(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[4] x) => (float[N] y) < float[1] w = {2}, float[1] v = {3} >
    { [sum] s = Add (w, v) [a] p = Mul (x, s) [u] q = Unique (p) [i] i = Identity (q) [b] y = Relu (i) }
    """
    found = simulate(write(tmp_path, text), "tensorrt", find(), ProviderSettings())
    assert found.rewritten
    assert found.partition is not None
    assert found.partition.parts == (("a",), ("b",))


@pytest.mark.slow
def test_the_parser_takes_operands_that_onnx_runtime_computes(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path = write(tmp_path, FOLDED_AXES)
    found = simulate(path, "tensorrt", find(), ProviderSettings())
    assert found.partition is not None
    assert found.partition.parts == (("r", "s"),)
    assert [each.node for each in simulated(path).left] == ["s"]


MERGED = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[4,4] x) => (float[N] y, float[4] z)
< float[4,4] w = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7}, float[4] b = {1,2,3,4}, bool c = {1} >
{
  h = MatMul (x, w)
  p = Add (h, b)
  y = Unique (p)
  z = If (c) <
    then_branch = t () => (float[4] t1) { t0 = ReduceMax <axes = [0], keepdims = 0> (p) t1 = Abs (t0) },
    else_branch = e () => (float[4] e1) { e1 = Identity (b) }
  >
}
"""


def test_nodes_after_the_rewrites_keep_their_places_in_the_file(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path = write(tmp_path, MERGED)
    found = simulate(path, "tensorrt", find(), ProviderSettings())
    assert found.rewritten
    assert found.partition is not None
    parts = {frozenset(part) for part in found.partition.parts}
    assert parts == {
        frozenset({"MatMul_0", "Add_1"}),
        frozenset({"If_3/then_branch/ReduceMax_0", "If_3/then_branch/Abs_1"}),
    } or parts == {frozenset({"MatMul_0", "Add_1", "If_3/then_branch/ReduceMax_0", "If_3/then_branch/Abs_1"})}
    assert [each.node for each in found.partition.left] == ["Unique_2"]
    assert {frozenset(part) for part in partition(path)["parts"]} == parts  # type: ignore[attr-defined]


HALF = """
< ir_version: 8, opset_import: ["" : 17] >
g (float16[4] x) => (float16[N] y) < float16[4] w = {1,2,3,4}, float16[4] v = {1,2,3,4} > {
  [s] s = Mul (w, v) [a] p = Atan (x) [b] q = Add (p, s) [u] r = Unique (q) [c] y = Asinh (r)
}
"""


def test_casts_of_a_processor_are_removed(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path = write(tmp_path, HALF)
    found = simulate(path, "nv-tensorrt-rtx", find(), ProviderSettings())
    assert found.rewritten
    assert found.partition is not None
    # A processor does not multiply FP16, so that s is not computed ahead.
    assert [set(part) for part in found.partition.parts] == [{"s", "a", "b"}, {"c"}]
    assert [each.node for each in found.partition.left] == ["u"]
    assert [set(part) for part in partition(path)["parts"]] == [{"s", "a", "b"}, {"c"}]  # type: ignore[attr-defined]


@pytest.mark.slow
def test_the_rtx_provider_takes_nothing_with_a_double_input(tmp_path: Path) -> None:
    path = write(tmp_path, WIDE)
    found = simulate(path, "nv-tensorrt-rtx", find(), ProviderSettings(), rewrite=False).partition
    assert found is not None
    assert found.parts == ()
    assert list(found.dropped) == partition(path, "nv-tensorrt-rtx")["dropped"]
    assert simulated(path).parts == (("a", "b", "c"),)
