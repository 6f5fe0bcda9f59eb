"""Tests of one run of a model in ONNX Runtime, part by part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, parser

from trtlint.network import parts
from trtlint.network.expected import session
from trtlint.network.parts import Parts

_HEAD = '<ir_version: 8, opset_import: ["" : 18]>'


def chain(length: int, *, body: str = "") -> ModelProto:
    """Return a model whose last node also reads the first tensor."""
    nodes = "t0 = Exp(x)" + "".join(f" t{at} = Tanh(t{at - 1})" for at in range(1, length))
    text = f"g (float[n,3] x) => (float[n,3] y) {{ {nodes} {body} y = Add(t0, t{length - 1}) }}"
    return parser.parse_model(_HEAD + text)


class _Runs:
    """Counts the sessions and their runs."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.runs = 0

    def open(self, proto: ModelProto, names: Sequence[str]) -> Any:
        """Return a session that counts its runs."""
        self.sizes.append(len(proto.graph.node))
        return _Counted(session(proto, names, 0), self)


class _Counted:
    def __init__(self, inner: Any, counts: _Runs) -> None:
        self._inner, self._counts = inner, counts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def run_with_ort_values(self, *given: Any) -> Any:
        self._counts.runs += 1
        return self._inner.run_with_ort_values(*given)


def made(proto: ModelProto, budget: int | None) -> tuple[Parts, _Runs, list[str]]:
    """Return the parts of a model, its runs and the names of its tensors."""
    names = [name for node in proto.graph.node for name in node.output]
    runs = _Runs()
    return Parts(proto, names, runs.open(proto, names), runs.open, budget), runs, names


def all_of(found: Parts, feeds: dict[str, Any]) -> dict[str, Any]:
    """Return the tensors of all parts."""
    return {name: value for tensors in found.run(feeds) for name, value in tensors.items()}


def test_a_model_that_fits_runs_once_as_a_whole() -> None:
    proto = chain(80)
    found, runs, names = made(proto, 1 << 20)
    assert set(all_of(found, {"x": np.ones((2, 3), np.float32)})) == set(names)
    assert (len(runs.sizes), runs.runs) == (1, 1)


def test_parts_compute_what_the_whole_model_computes() -> None:
    proto = chain(200)
    x = np.random.default_rng(1).standard_normal((4, 3)).astype(np.float32)
    whole, _, names = made(proto, 1 << 20)
    cut, runs, _ = made(proto, 1000)
    wanted, got = all_of(whole, {"x": x}), all_of(cut, {"x": x})
    assert list(got) == names
    assert all(np.array_equal(wanted[name], got[name]) for name in names)
    assert sum(runs.sizes[1:]) == len(proto.graph.node)  # each node is in one part
    assert runs.runs == len(runs.sizes) - 1  # each part ran once


def test_no_part_gives_much_more_than_its_budget() -> None:
    found, _, _ = made(chain(200), 480)
    sizes = [len(tensors) for tensors in found.run({"x": np.ones((4, 3), np.float32)})]
    assert max(sizes[1:]) <= 10  # 48 bytes each


def test_parts_are_made_once_and_anew_for_larger_inputs() -> None:
    found, runs, _ = made(chain(200), 1000)
    all_of(found, {"x": np.ones((4, 3), np.float32)})
    count = len(runs.sizes)
    all_of(found, {"x": np.zeros((4, 3), np.float32)})
    assert len(runs.sizes) == count
    all_of(found, {"x": np.ones((40, 3), np.float32)})
    assert len(runs.sizes) > count


def test_tensors_of_earlier_parts_can_be_had_again() -> None:
    found, _, _ = made(chain(100), 500)
    feeds = {"x": np.ones((4, 3), np.float32)}
    wanted = all_of(found, feeds)
    again = found.of(feeds, ["t3", "t90"])
    assert {name: value.tolist() for name, value in again.items()} == {
        name: wanted[name].tolist() for name in ("t3", "t90")
    }


@pytest.mark.parametrize(
    "body",
    [
        "s = SequenceConstruct(t0, t1) one = Constant <value = int64 {0}>() u = SequenceAt(s, one)",
        "o = Optional(t0) u = OptionalGetElement(o)",
    ],
)
def test_a_model_with_values_that_are_no_tensors_is_not_cut(body: str) -> None:
    found, runs, _ = made(chain(60, body=body), 100)
    assert "y" in all_of(found, {"x": np.ones((4, 3), np.float32)})
    assert runs.runs == 1


def test_bodies_read_tensors_of_earlier_parts() -> None:
    body = """c = Constant <value = bool {1}>()
        u = If(c) <then_branch = t () => (float[n,3] a) { a = Neg(t0) }, else_branch = e () => (float[n,3] b)
        { b = Abs(t0) }>"""
    found, _, _ = made(chain(100, body=body), 300)
    tensors = all_of(found, {"x": np.ones((4, 3), np.float32)})
    assert np.array_equal(tensors["u"], -tensors["t0"])


def test_whole_numbers_without_dimensions_stay_so() -> None:
    assert parts._value(np.asarray(3, np.int64)).shape() == []
