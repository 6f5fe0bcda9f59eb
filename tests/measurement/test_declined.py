"""Tests of forms that are neither expanded nor folded, and of non-finite outputs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from tests.graphs import model_of
from trtlint.measurement import formulas
from trtlint.measurement.folding import find_folding
from trtlint.measurement.measuring import _require_finite
from trtlint.measurement.narrowing import Probe
from trtlint.measurement.trial import RangeRun
from trtlint.measurement.trialmodel import TrialError
from trtlint.measurement.writing import FormulaWriter

NORM = """< ir_version: 8, opset_import: ["" : 17] >
g (float[1,2,4,4] x, float[2] given) => (float[1,2,4,4] y)
< float[2,2,1,1] w = {1, 2, 3, 4}, float[2] c = {5, 6}, float[2] g = {2, 3}, float[2] b = {1, 1},
  float[2] m = {0, 0}, float[2] v = {1, 1} >
{ h = Conv (x, w%s)  y = BatchNormalization <epsilon = 0.0> (h, g, b, m, v) }"""


@pytest.mark.parametrize(
    ("bias", "joined", "shift"),
    [("", True, [1, 1]), (", c", True, [11, 19]), (", given", False, [1, 1])],
)
def test_a_normalization_joins_a_convolution_with_a_stored_bias(
    bias: str, joined: bool, shift: list[float]
) -> None:
    model = model_of(NORM % bias)
    found = find_folding(model.graph, model.tensors, 17)
    (affine,) = found.affine.values()
    assert (affine.convolution is not None) == joined == bool(found.partner)
    np.testing.assert_allclose(affine.shift, shift)
    np.testing.assert_allclose(affine.scale, [2, 3])


class Written:
    """A writer that records operators."""

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.ops: list[tuple[str, int, dict[str, Any]]] = []

    def add(self, op: str, inputs: list[str], **attributes: Any) -> str:
        self.ops.append((op, len(inputs), attributes))
        return op

    def constant(self, values: Any, dtype: Any = np.float32) -> str:
        return "constant"

    def step(self, node: Any, name: str, what: str = "") -> str:
        return name


@pytest.mark.parametrize(
    ("opset", "ops"),
    [
        (12, []),
        (13, [("ReduceMax", 1), ("Sub", 2), ("Exp", 1), ("ReduceSum", 2), ("Div", 2)]),
        (17, [("ReduceMax", 1), ("Sub", 2), ("Exp", 1), ("ReduceSum", 2), ("Div", 2)]),
        (18, [("ReduceMax", 2), ("Sub", 2), ("Exp", 1), ("ReduceSum", 2), ("Div", 2)]),
    ],
)
def test_a_softmax_is_written_out_where_it_has_one_axis(opset: int, ops: list[tuple[str, int]]) -> None:
    head = f'< ir_version: 7, opset_import: ["" : {opset}] >'
    (node,) = model_of(f"{head} g (float[2,4] x) => (float[2,4] y) {{ y = Softmax (x) }}").graph.nodes
    write = Written(opset)
    found = formulas._softmax(node, ["x"], cast("FormulaWriter", write))
    assert (found is None) == (opset < 13)
    assert [each[:2] for each in write.ops] == ops


def test_the_first_tensor_that_is_not_finite_is_an_output_of_a_node() -> None:
    probes = (
        Probe("a", "Mul", "fine", 0, narrow=False),
        Probe("b", "ReduceMean", "within", 1, narrow=False, inside="sum"),
        Probe("c", "Exp", "outside", 2, narrow=False),
    )
    figures = np.array([[1, -1, 1], [np.inf, 0, np.inf], [np.inf, 0, np.inf]])
    ranged = RangeRun(probes, figures, ({"y": np.array([np.inf])},))
    trial: Any = SimpleNamespace(ranged=ranged, judged=frozenset())
    with pytest.raises(TrialError) as error:
        _require_finite(trial, made_up=True)
    assert "outside" in str(error.value)
    assert "within" not in str(error.value)
    trial.judged = frozenset({"y"})
    _require_finite(trial, made_up=True)
