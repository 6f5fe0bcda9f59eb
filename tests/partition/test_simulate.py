"""Tests of parts from NVIDIA's parser, with the same queries as the providers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.dry_build.rtx import NEEDS_WHEELS
from tests.partition.test_predict import FOLDED_AXES, IN_A_BODY, TWO_UNIQUES, WIDE, partition, write
from trtlint.dry_build.wheels import Wheels, find
from trtlint.knowledge.providers import Provider
from trtlint.partition import simulate as simulate_module
from trtlint.partition.result import Partition, ProviderSettings, RemainingNode
from trtlint.partition.simulate import Simulation, simulate
from trtlint.process import Cause
from trtlint.process.spawn import Limits, ProcessResult

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
    """Partition a model like the TensorRT provider, without ONNX Runtime's rewrites."""
    found = simulate(path, "tensorrt", find(), settings or ProviderSettings(), rewrite=False)
    assert found.partition is not None, found.ended
    return found.partition


@NEEDS_WHEELS
@pytest.mark.parametrize("text", [TWO_UNIQUES, IN_A_BODY])
def test_the_parser_agrees_with_the_prediction(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    found, expected = simulated(path), partition(path)
    assert sorted(map(list, found.parts)) == sorted(expected["parts"])  # type: ignore[call-overload]
    assert {each.node for each in found.left} == set(expected["left"])  # type: ignore[call-overload]


@NEEDS_WHEELS
def test_the_parser_is_asked_for_each_part(tmp_path: Path) -> None:
    assert simulated(write(tmp_path, TWO_UNIQUES)).calls == 4


@NEEDS_WHEELS
def test_constants_are_no_nodes_and_names_keep_their_positions(tmp_path: Path) -> None:
    found = simulated(write(tmp_path, CONSTANT_BESIDE))
    assert found.parts == (("Mul_1",), ("Mul_3",))
    assert [each.node for each in found.left] == ["Unique_2"]


@NEEDS_WHEELS
def test_options_count(tmp_path: Path) -> None:
    path = write(tmp_path, TWO_UNIQUES)
    assert simulated(path, ProviderSettings(min_nodes=2)).parts == ()
    assert [each.op for each in simulated(path, ProviderSettings(exclude=frozenset({"Abs"}))).left] == [
        "Unique", "Abs", "Unique"
    ]  # fmt: skip


@NEEDS_WHEELS
def test_too_few_rounds_leave_everything(tmp_path: Path) -> None:
    assert simulated(write(tmp_path, TWO_UNIQUES), ProviderSettings(max_rounds=0)).parts == ()


@NEEDS_WHEELS
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


@NEEDS_WHEELS
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


@NEEDS_WHEELS
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


@NEEDS_WHEELS
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


@NEEDS_WHEELS
def test_the_rtx_provider_takes_nothing_with_a_double_input(tmp_path: Path) -> None:
    path = write(tmp_path, WIDE)
    found = simulate(path, "nv-tensorrt-rtx", find(), ProviderSettings(), rewrite=False).partition
    assert found is not None
    assert found.parts == ()
    assert list(found.dropped) == partition(path, "nv-tensorrt-rtx")["dropped"]
    assert simulated(path).parts == (("a", "b", "c"),)


def scope(name: str, nodes: str, *parts: tuple[int, ...], **more: Any) -> dict[str, Any]:
    """Return the answer about one graph. Operators are the first letters of the nodes."""
    paths = nodes.split()
    given = {
        "scope": name,
        "nodes": [[path, path.rpartition("/")[2][:1].upper()] for path in paths],
        "added": [],
        "parts": parts,
        "small": (),
        "cyclic": (),
        "joined": False,
        "whole": sum(map(len, parts)) == len(paths),
        "rejected": "",
    }
    return {**given, **more}


def answered(
    *scopes: dict[str, Any],
    provider: Provider = "tensorrt",
    merged: dict[str, list[list[str]]] | None = None,
    shapeless: str = "",
) -> Partition:
    """Return the partition from the answers of a process."""
    answer = {
        "scopes": scopes,
        "calls": 5,
        "rewritten": True,
        "merged": merged or {},
        "shapeless": shapeless,
    }
    ended = ProcessResult("done", 0, "", 1.5, None, ({"stage": "parse"}, answer))
    found = simulate_module._read(ended, provider, "1.7.1")
    assert found.partition is not None
    assert found == Simulation(found.partition, "1.7.1", rewritten=True, ended="ended")
    return found.partition


def test_the_parts_of_one_graph() -> None:
    failure = "tensor q has no full shape: Please run shape inference on the onnx model first"
    given = scope("", "a b u c d", (0, 1), (4,), small=((3,),))
    found = answered(given, shapeless="q")
    assert found == Partition(
        "tensorrt",
        "parser",
        (("a", "b"), ("d",)),
        (RemainingNode("u", "U"), RemainingNode("c", "C")),
        dropped=("c: the region has 1 nodes, fewer than the minimum size of a part",),
        failure=failure,
        calls=5,
    )
    assert answered(given, provider="nv-tensorrt-rtx", shapeless="q").failure == ""


def test_regions_that_are_given_up() -> None:
    rejected = scope("i/then", "i/then/n", rejected="the reason")
    found = answered(
        rejected,
        scope("", "a b c i", (1,), small=((0, 2),), cyclic=((2, 3), (1,)), rejected="another", joined=True),
    )
    assert found.dropped == (
        "a: the region has 2 nodes, fewer than the minimum size of a part",
        "c: the region is part of a cycle",
        "b: the region is part of a cycle",
        "i/then: the reason",
        "the model: another",
    )
    assert found.joined
    assert found.left == (
        RemainingNode("a", "A"),
        RemainingNode("c", "C"),
        RemainingNode("i", "I"),
        RemainingNode("i/then/n", "N"),
    )


def test_bodies_belong_to_the_part_of_their_node() -> None:
    inner = scope("i/then/j/else", "i/then/j/else/n i/then/j/else/m", (0, 1))
    then, other = scope("i/then", "i/then/j i/then/k", (0, 1)), scope("i/else", "i/else/l", (0,))
    assert answered(inner, then, other, scope("", "a i b", (0, 1), (2,))).parts == (
        ("a", "i", "i/else/l", "i/then/j", "i/then/k", "i/then/j/else/n", "i/then/j/else/m"),
        ("b",),
    )
    left = answered(inner, then, other, scope("", "a i b", (0,), (2,)))
    assert left.parts == (("a",), ("b",))
    assert [each.node for each in left.left] == [
        "i",
        "i/else/l",
        "i/then/j",
        "i/then/k",
        "i/then/j/else/n",
        "i/then/j/else/m",
    ]
    cut = scope("i/then", "i/then/j i/then/k", (0,))
    assert answered(inner, cut, other, scope("", "a i b", (0,), (2,))).parts == (
        ("a",),
        ("b",),
        ("i/then/j", "i/then/j/else/n", "i/then/j/else/m"),
    )


def test_nodes_of_the_file_behind_rewritten_nodes() -> None:
    merged = {"a": [["m", "M"], ["n", "N"]], "b": [["m", "M"]], "u": [["v", "V"]]}
    given = scope("", "a new b u only", (0, 1, 2), (4,), added=["new", "only"])
    found = answered(given, merged=merged)
    assert found.parts == (("m", "n", "a", "b"), ("only",))
    assert found.left == (RemainingNode("v", "V"), RemainingNode("u", "U"))


@pytest.mark.parametrize(
    ("cause", "words"), [("time", "was stopped after 1.5 s"), ("crashed", "crashed (SIGSEGV)")]
)
def test_a_process_without_a_result(cause: Cause, words: str) -> None:
    ended = ProcessResult(cause, None, "SIGSEGV", 1.5, None, ({"stage": "parse"},))
    assert simulate_module._read(ended, "tensorrt", "1.7.1") == Simulation(None, "1.7.1", ended=words)


def test_the_request_of_a_simulation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def run(*given: Any, **more: Any) -> ProcessResult:
        asked.append((given, more))
        return ProcessResult("done", 0, "", 1.5, None, ())

    monkeypatch.setattr(simulate_module, "run", run)
    path = write(tmp_path, TWO_UNIQUES)
    settings = ProviderSettings(min_nodes=2, max_rounds=3, exclude=frozenset({"A"}))
    wheels = Wheels("1.7.1", "/wheels")
    simulate(path, "tensorrt", wheels, settings, limits=Limits(7, 1 << 30), rewrite=False)
    simulate(path, "nv-tensorrt-rtx", wheels, ProviderSettings())
    first = {
        "model": str(path),
        "provider": "tensorrt",
        "rewrite": False,
        "settings": {"min_nodes": 2, "max_rounds": 3, "exclude": ["A"], "profile": False},
    }
    second = {
        "model": str(path),
        "provider": "nv-tensorrt-rtx",
        "rewrite": True,
        "settings": {"min_nodes": 1, "max_rounds": 1000, "exclude": [], "profile": False},
    }
    more = {"paths": ("/wheels",), "environment": {"CUDA_VISIBLE_DEVICES": ""}}
    module = "trtlint.partition._parser"
    assert asked == [((module, first, Limits(7, 1 << 30)), more), ((module, second, Limits()), more)]
