"""Tests of engine facts: layers with times, the whole engine and the layer of each node."""

from __future__ import annotations

import time

import pytest

from tests.graphs import model_of
from trtlint.buildfiles.layers import layers_from_json
from trtlint.buildfiles.profile import profile_from_json
from trtlint.buildfiles.record import FileContents, together
from trtlint.engine.evidence.build import BuildEvidence
from trtlint.facts.facts import Facts
from trtlint.facts.of_build.engine import EngineFact
from trtlint.facts.of_build.layer import LayerFact
from trtlint.facts.of_build.placement import Placement
from trtlint.report.placements import table

MODEL = """
< ir_version: 8, opset_import: ["" : 17] >
g (float16[1,4,8] x) => (float16[1,8,4] y)
< float16[4] half = {14336, 14336, 14336, 14336} >
{
  [unused] folded = Sqrt (half)
  [a] va = Relu (x)
  [b] vb = Sigmoid (va)
  [c] vc = Softmax (vb)
  [t] y = Transpose <perm = [0, 2, 1]> (vc)
}
"""
REFORMAT = "Reformatting CopyNode for Input Tensor 0 to c"


def entry(name: str, type_: str, dtype: str, *, reads: str = "x", writes: str = "", **more: object) -> object:
    def tensor(of: str) -> dict[str, object]:
        return {"Name": of, "Dimensions": [1, 4, 8], "Format/Datatype": f"Row major linear {dtype}"}

    return {
        "Name": name,
        "LayerType": type_,
        "Inputs": [tensor(reads)],
        "Outputs": [tensor(writes or f"{name}_out")],
        **more,
    }


@pytest.fixture
def facts() -> Facts:
    layers = layers_from_json(
        {
            "Layers": [
                entry("a + b", "CaskConvolution", "FP16", HasDynamicFilter=1, Activation="NONE"),
                entry(REFORMAT, "Reformat", "FP32", Origin="REFORMAT"),
                entry("c", "SoftMaxV2", "FP32", writes="y"),
                entry("c", "SoftMaxV2", "FP32"),
            ],
            "Bindings": ["x", "y"],
        }
    )
    times = [(name, ms) for name, ms in (("a + b", 6.0), (REFORMAT, 3.0), ("c", 0.75), ("c", 0.25))]
    profile = profile_from_json(
        [
            {"count": 2},
            *(
                {"name": name, "timeMs": 2 * ms, "averageMs": ms, "medianMs": ms, "percentage": 10 * ms}
                for name, ms in times
            ),
        ]
    )
    files = FileContents("layers.json", layers), FileContents("profile.json", profile)
    return Facts(model_of(MODEL), evidence=[BuildEvidence(together(files))])


def test_a_large_island_takes_little_time() -> None:
    count = 10_000
    body = " ".join(f"[n{i}] v{i} = Relu (v{i - 1})" for i in range(1, count))
    head = '< ir_version: 8, opset_import: ["" : 17] > g (float[4] v0)'
    island = entry(f"{{ForeignNode[n1...n{count - 1}]}}", "Myelin", "FP32", writes=f"v{count - 1}")
    files = [FileContents("layers.json", layers_from_json({"Layers": [island]}))]
    model = model_of(f"{head} => (float[4] v{count - 1}) {{ {body} }}")
    facts = Facts(model, evidence=[BuildEvidence(together(files))])
    assert len(facts.of("layer")) == 1
    started = time.process_time()
    places = facts.of("placement")
    assert {place.others for place in places if isinstance(place, Placement)} == {count - 2}
    assert time.process_time() - started < 1


def test_layers(facts: Facts) -> None:
    fused, reformat, first, second = (fact for fact in facts.of("layer") if isinstance(fact, LayerFact))
    assert [node.path for node in fused.nodes] == ["a", "b"]
    assert (fused.family, fused.precision, fused.dynamic_filter) == ("convolution", "f16", True)
    assert (fused.activation, fused.ms, fused.share) == (None, 6.0, pytest.approx(0.6))
    assert (reformat.reformat, reformat.origin, reformat.nodes) == (True, "REFORMAT", ())
    assert (first.ms, second.ms) == (0.75, 0.25)  # layers of one name take the times in their order


def test_the_engine(facts: Facts) -> None:
    (engine,) = facts.of("engine")
    assert isinstance(engine, EngineFact)
    assert (engine.file, engine.layers, engine.joined, engine.reformat_layers) == ("layers.json", 4, 3, 1)
    assert (engine.ms, engine.reformat_ms) == (10.0, 3.0)
    assert engine.reformat_share == pytest.approx(0.3)
    assert engine.top_layer == "a + b"
    assert engine.top_share == pytest.approx(0.6)
    assert engine.precisions == frozenset({"f16", "f32"})


def test_where_nodes_went(facts: Facts) -> None:
    placed = {
        fact.place: (fact.layers, fact.absorbed, fact.precision, fact.ms)
        for fact in facts.of("placement")
        if isinstance(fact, Placement)
    }
    assert placed == {
        "a": (("a + b",), False, "f16", 6.0),
        "b": (("a + b",), False, "f16", 6.0),
        "c": (("c", "c"), False, "f32", 1.0),
        "t": (("c", "c"), True, "f32", 1.0),
    }


def test_what_computes_sizes_is_in_no_layer() -> None:
    model = model_of("""
< ir_version: 8, opset_import: ["" : 17] >
g (float[N,8] x) => (float[M,K] y)
< int64[1] two = {2}, int64[1] zero = {0}, int64[1] rest = {-1} >
{
  [s] sizes = Shape (x)
  [f] first = Gather (sizes, zero)
  [m] double = Mul (first, two)
  [c] target = Concat <axis = 0> (double, rest)
  [r] y = Reshape (x, target)
}
""")
    layers = layers_from_json({"Layers": ["r"], "Bindings": []})
    facts = Facts(model, evidence=[BuildEvidence(together([FileContents("layers.json", layers)]))])
    placed = {fact.place: fact for fact in facts.of("placement") if isinstance(fact, Placement)}
    assert {name: fact.shape for name, fact in placed.items()} == {
        "s": True,
        "f": True,
        "m": True,
        "c": True,
        "r": False,
    }
    rows = {line.split()[0]: line.split()[2] for line in table(placed.values())}
    assert (rows["f"], rows["r"]) == ("shape", "r")


def test_without_a_build_there_is_nothing() -> None:
    nothing = Facts(model_of(MODEL))
    assert all(not nothing.of(kind) for kind in ("build", "log_message", "layer", "engine", "placement"))


def test_without_a_model_the_build_is_there() -> None:
    layers = layers_from_json({"Layers": ["a", "b"], "Bindings": []})
    facts = Facts(None, evidence=[BuildEvidence(together([FileContents("layers.json", layers)]))])
    assert not facts.has_model
    assert [fact.place for fact in facts.of("layer")] == ["layer a", "layer b"]
    (engine,) = facts.of("engine")
    assert isinstance(engine, EngineFact)
    assert (engine.detailed, engine.ms, engine.joined) == (False, None, 0)
