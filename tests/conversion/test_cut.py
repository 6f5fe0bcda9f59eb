"""Tests of the minimum cut."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tests.conversion.models import converted
from trtlint.conversion.session import ConversionRequest, ConversionSession


def chain(count: int) -> onnx.ModelProto:
    """Return residual blocks with one softmax, one sum and weights each."""
    nodes = []
    last = "x"
    for index in range(count):
        nodes.append(helper.make_node("Softmax", [last], [f"s{index}"], name=f"soft{index}"))
        nodes.append(helper.make_node("Sigmoid", [f"s{index}"], [f"g{index}"], name=f"gate{index}"))
        nodes.append(helper.make_node("Add", [f"g{index}", last], [f"a{index}"], name=f"add{index}"))
        last = f"a{index}"
    nodes.append(helper.make_node("Relu", [last], ["y"]))
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 8]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.slow
def test_a_region_between_kept_operators_stays_with_them(tmp_path: Path) -> None:
    onnx.save(chain(4), tmp_path / "m.onnx")
    _, draft = converted(tmp_path / "m.onnx", keep=("soft*", "add*"))
    gates = [kept.node for kept in draft.conversion.kept if kept.op == "Sigmoid"]
    assert gates == ["gate0", "gate1", "gate2", "gate3"]
    assert not [cast for cast in draft.conversion.casts if cast.inside]


@pytest.mark.slow
def test_thousands_of_operators_are_cut(tmp_path: Path) -> None:
    onnx.save(chain(1000), tmp_path / "m.onnx")
    session = ConversionSession(ConversionRequest(tmp_path / "m.onnx", keep=("soft*7",)))
    assert len(session.draft().conversion.kept) >= 100
