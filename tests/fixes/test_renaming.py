"""Tests of rename-only patches: the proof compares operators without their names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from tests.fixes.fixing import fixed
from tests.fixes.proving import prove
from trtlint.facts.facts import Facts
from trtlint.fixes import proposer
from trtlint.fixes.patch import Patch
from trtlint.fixes.region import only_renames
from trtlint.model.load import Model, load

DRAWN = """< ir_version: 8, opset_import: ["" : 17] > g (float[2,4] x) => (float[2,4] y) {
  [n] t = Sqrt (x)  [n] u = Log (t)  [n] y = RandomNormalLike (u) }"""


def renamed(path: Path) -> tuple[Model, Patch]:
    """Return the model and a patch that numbers its operators."""
    onnx.save(onnx.parser.parse_model(DRAWN), path)
    model = load(path)
    (fact,) = Facts(model).of("shared_name")
    patch = proposer("name-nodes")(fact, model)
    assert isinstance(patch, Patch)
    return model, patch


def test_a_renaming_is_proven_where_nothing_can_be_computed(tmp_path: Path) -> None:
    model, patch = renamed(tmp_path / "model.onnx")
    proof = prove(model, patch)
    assert (proof.equal, proof.words) == (True, "only the names of operators change")


def test_a_renaming_of_operators_that_draw_numbers_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, after = fixed(tmp_path, DRAWN, "--trt", "10.7", "--verify")
    assert "proof: only the names of operators change" in capsys.readouterr().out
    assert after is not None
    assert len({node.name for node in after.graph.node}) == 3


def other_operator(node: onnx.NodeProto) -> None:
    node.op_type = "Exp"


def other_input(node: onnx.NodeProto) -> None:
    node.input[0] = "x"


def other_output(node: onnx.NodeProto) -> None:
    node.output[0] = "z"


def attribute(node: onnx.NodeProto) -> None:
    node.attribute.append(onnx.helper.make_attribute("alpha", 1.0))


@pytest.mark.parametrize("change", [other_operator, other_input, other_output, attribute])
def test_another_difference_is_no_renaming(change: Callable[[onnx.NodeProto], None], tmp_path: Path) -> None:
    _, patch = renamed(tmp_path / "model.onnx")
    assert only_renames(patch)
    change(patch.insert[0])
    assert not only_renames(patch)
