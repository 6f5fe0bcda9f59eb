"""Tests of final states in branches, taken from sequences with the same results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tests.fixes.fixing import fixed

RTX = ("--rtx", "1.7", "--gpu", "L4", "--verify")
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
BRANCHES = """< ir_version: 8, opset_import: ["" : 17] >
g (float[4,2,3] x, bool c, int32[2] n) => (float[A,B,C] y)
{ y = If (c) <
    then_branch = t () => (float[P,Q,R] p) { %s = %s <hidden_size = 2, direction = "%s"> (x, w, r%s) },
    else_branch = e () => (float[P,Q,R] q) { q = Identity (o) }
  > }"""


def model(op: str, direction: str, outputs: str = "u, p", rest: str = "") -> onnx.ModelProto:
    ways, rng = 2 if direction == "bidirectional" else 1, np.random.default_rng(7)
    proto = onnx.parser.parse_model(BRANCHES % (outputs, op, direction, rest))
    shapes = {"w": (ways, GATES[op] * 2, 3), "r": (ways, GATES[op] * 2, 2), "o": (ways, 2, 2)}
    for name, shape in shapes.items():
        proto.graph.initializer.append(
            numpy_helper.from_array(rng.normal(size=shape).astype(np.float32), name)
        )
    return proto


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_the_state_is_a_step(
    op: str, direction: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, after = fixed(tmp_path, model(op, direction), *RTX)
    assert "outputs: equal within tolerance" in capsys.readouterr().out
    assert after is not None
    then = next(each.g for each in after.graph.node[0].attribute if each.name == "then_branch")
    assert "Gather" in [node.op_type for node in then.node]


@pytest.mark.parametrize(
    ("outputs", "rest", "reason"),
    [("u, v, p", "", "the final cell state"), ("u, p", ", , n", "has sequence lengths")],
)
def test_what_is_left(
    outputs: str, rest: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, after = fixed(tmp_path, model("LSTM", "forward", outputs, rest), *RTX[:-1])
    assert after is None
    assert reason in " ".join(capsys.readouterr().out.split())
