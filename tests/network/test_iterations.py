"""Tests of bounds on the iterations of loops."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import parser

from tests.dry_build.rtx import NEEDS_WHEELS
from tests.network import texts
from trtlint.dry_build.wheels import find
from trtlint.network.compare import CompareRequest, compare_network
from trtlint.network.iterations import MOST, bound_loops
from trtlint.process.spawn import Limits

_HEAD = '<ir_version: 8, opset_import: ["" : 18]>'
_BODY = """<body = b (int64 i, bool ci, float[1] v) => (bool co, float[1] vo) {
    co = Identity(ci) one = Constant <value = float[1] {1.0}>() vo = Add(v, one) }>"""
_ENDLESS = f"""g (float[1] x) => (float[1] y, float[1] z) {{
    t = Constant <value = bool {{1}}>() y = Loop( , t, x) {_BODY} z = Neg(y) }}"""


def iterations(text: str, **feeds: object) -> float:
    """Return the number of iterations of a model's loop."""
    proto = parser.parse_model(_HEAD + text)
    bound_loops(proto)
    onnx.checker.check_model(proto)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    (found, *_) = session.run(None, {"x": np.zeros(1, np.float32), **feeds})
    return float(found[0])


def test_a_loop_without_an_end_gets_one() -> None:
    assert iterations(_ENDLESS) == MOST


@pytest.mark.parametrize(("wanted", "found"), [(0, 0), (7, 7), (MOST + 5, MOST), (2**62, MOST)])
def test_a_trip_count_is_bounded(wanted: int, found: int) -> None:
    text = f"""g (float[1] x, int64 m) => (float[1] y) {{
        t = Constant <value = bool {{1}}>() y = Loop(m, t, x) {_BODY} }}"""
    assert iterations(text, m=np.asarray(wanted, np.int64)) == found


def test_a_known_trip_count_stays() -> None:
    text = f"""g (float[1] x) => (float[1] y) {{ m = Constant <value = int64 {{3}}>()
        t = Constant <value = bool {{1}}>() y = Loop(m, t, x) {_BODY} }}"""
    proto = parser.parse_model(_HEAD + text)
    before = proto.SerializeToString()
    bound_loops(proto)
    assert proto.SerializeToString() == before


def test_loops_in_bodies_and_functions_are_bounded() -> None:
    text = f"""<ir_version: 8, opset_import: ["" : 18, "my" : 1]>
        g (float[1] x) => (float[1] y) {{ c = Constant <value = bool {{1}}>()
            y = If(c) <then_branch = t () => (float[1] a) {{ a = my.f(x) }},
                else_branch = e () => (float[1] b) {{ d = Loop( , c, x) {_BODY} b = Neg(d) }}> }}
        <domain: "my", opset_import: ["" : 18]>
        f (x) => (y) {{ t = Constant <value = bool {{1}}>() y = Loop( , t, x) {_BODY} }}"""
    proto = parser.parse_model(text)
    bound_loops(proto)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"x": np.zeros(1, np.float32)})
    assert found.tolist() == [MOST]
    assert [node.op_type for node in proto.graph.node[1].attribute[1].g.node] == ["Constant", "Loop", "Neg"]


def test_a_loop_without_inputs_stays() -> None:
    """No parser accepts such a Loop, but the model may have one in a function that no operator calls."""
    proto = parser.parse_model(f"{_HEAD} g (float[1] x) => (float[1] y) {{ y = Loop() {_BODY} }}")
    before = proto.SerializeToString()
    bound_loops(proto)
    assert proto.SerializeToString() == before


@NEEDS_WHEELS
def test_a_loop_beyond_the_bound_is_not_compared_and_what_follows_is(tmp_path: Path) -> None:
    model = texts.write(tmp_path, _ENDLESS)
    found = compare_network(model, CompareRequest(), find(), Limits(60, 4 << 30))
    assert [(each.reason, each.tensors) for each in found.reasons] == [
        (f"a loop of more than {MOST} iterations", 1)
    ]
    assert (found.tensors, found.compared, found.uncomputed, found.outcome) == (2, 1, 1, "agrees")
