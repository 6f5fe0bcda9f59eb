"""Parts by NVIDIA's parser, asked as the providers ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dry_build.rtx import NEEDS_WHEELS
from tests.partition.test_predict import FOLDED_AXES, IN_A_BODY, TWO_UNIQUES, partition, write
from trtlint.dry_build.wheels import find
from trtlint.partition.result import Partition, Settings
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


def simulated(path: Path, settings: Settings | None = None) -> Partition:
    """Divide a model as the TensorRT provider does, without the rewrites of ONNX Runtime."""
    found = simulate(path, "tensorrt", find(), settings or Settings(), rewrite=False)
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


def test_options_count(tmp_path: Path) -> None:
    path = write(tmp_path, TWO_UNIQUES)
    assert simulated(path, Settings(min_nodes=2)).parts == ()
    assert [each.op for each in simulated(path, Settings(exclude=frozenset({"Abs"}))).left] == [
        "Unique", "Abs", "Unique"
    ]  # fmt: skip


def test_too_few_rounds_leave_everything(tmp_path: Path) -> None:
    assert simulated(write(tmp_path, TWO_UNIQUES), Settings(max_rounds=0)).parts == ()


def test_rewrites_of_onnx_runtime_come_first(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[4] x) => (float[N] y) < float[1] w = {2}, float[1] v = {3} >
    { [sum] s = Add (w, v) [a] p = Mul (x, s) [u] q = Unique (p) [i] i = Identity (q) [b] y = Relu (i) }
    """
    found = simulate(write(tmp_path, text), "tensorrt", find(), Settings())
    assert found.rewritten
    assert found.partition is not None
    assert found.partition.parts == (("a",), ("b",))


def test_the_parser_takes_operands_that_onnx_runtime_computes(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path = write(tmp_path, FOLDED_AXES)
    found = simulate(path, "tensorrt", find(), Settings())
    assert found.partition is not None
    assert found.partition.parts == (("r", "s"),)
    assert [each.node for each in simulated(path).left] == ["s"]
