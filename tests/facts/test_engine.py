"""Tests of facts about a whole engine: counts and unknown values."""

# ruff: noqa: E501 - a graph, a message or a case in one line is read at once

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import asdict

from tests.facts.builds import facts_of_build
from trtlint.facts.of_build.engine import EngineFact

REFORMAT = "Reformatting CopyNode for Input Tensor 0 to c"


def layer(
    name: str, kind: str = "PointWise", dtype: str = "Half", reads: str = "x", writes: str = "y"
) -> dict[str, Any]:
    def tensor(of: str) -> dict[str, object]:
        return {"Name": of, "Dimensions": [1], "Format/Datatype": dtype}

    return {"Name": name, "LayerType": kind, "Inputs": [tensor(reads)], "Outputs": [tensor(writes)]}


def times(*layers: tuple[str, float]) -> str:
    entries = [{"name": name, "timeMs": 2 * ms, "averageMs": ms, "percentage": 1} for name, ms in layers]
    return json.dumps([{"count": 2}, *entries])


def engine(
    layers: list[Any] | None = None, profile: str | None = None, model: str | None = None
) -> dict[str, Any]:
    text = None if layers is None else json.dumps({"Layers": layers, "Bindings": ["x", "y"]})
    (fact,) = facts_of_build(layers=text, profile=profile, model=model).of("engine")
    assert isinstance(fact, EngineFact)
    assert fact.place == fact.file
    known = asdict(fact)
    assert (known.pop("node"), known.pop("chain")) == (None, ())
    return known


NAMES: dict[str, Any] = {
    "file": "layers.json",
    "layers": 2,
    "timed_layers": None,
    "detailed": False,
    "joined": 0,
    "reformat_layers": 0,
    "precisions": frozenset(),
    "profiles": 1,
    "ms": None,
    "reformat_ms": None,
    "reformat_share": None,
    "tiny_layers": None,
    "tiny_share": None,
    "top_layer": None,
    "top_share": None,
    "inputs": (),
    "outputs": (),
}


def test_an_engine_of_which_only_names_are_known() -> None:
    assert engine(["a", "b"]) == NAMES
    assert engine([]) == {**NAMES, "layers": 0}


def test_an_engine_of_which_only_times_are_known() -> None:
    assert engine(
        profile=times(("a", 6.0), (REFORMAT, 3.0), ("b", 0.99), ("c", 0.01), ("d", 0.0), ("e", 0.005))
    ) == {
        **NAMES,
        "file": "profile.json",
        "layers": 6,
        "timed_layers": 5,
        "reformat_layers": 1,
        "ms": pytest.approx(10.005),
        "reformat_ms": 3.0,
        "reformat_share": pytest.approx(3 / 10.005),
        "tiny_layers": 1,
        "tiny_share": pytest.approx(0.005 / 10.005),
        "top_layer": "a",
        "top_share": pytest.approx(6 / 10.005),
    }


def test_an_engine_without_any_time() -> None:
    """An engine with a total time of zero was not measured."""
    assert engine(profile=times(("a", 0.0), ("b", 0.0))) == {
        **NAMES,
        "file": "profile.json",
        "timed_layers": 0,
    }


def test_layers_and_their_times() -> None:
    found = engine(
        [
            layer("a"),
            layer(REFORMAT, "Reformat", "Float"),
            layer("b", dtype="Int8"),
            layer("c", dtype="Unknown"),
        ],
        times(("a", 1.0), (REFORMAT, 4.0), ("b", 3.0), ("other", 2.0)),
        '< ir_version: 8, opset_import: ["" : 17] > g (float[4] x) => (float[4] y) { [a] z = Relu (x)  [b] y = Abs (z) }',
    )
    assert found == {
        **NAMES,
        "layers": 4,
        "timed_layers": 4,
        "detailed": True,
        "joined": 2,
        "reformat_layers": 1,
        "precisions": frozenset({"f16", "i8"}),
        "ms": 10.0,
        "reformat_ms": 4.0,
        "reformat_share": 0.4,
        "tiny_layers": 0,
        "tiny_share": 0.0,
        "top_layer": REFORMAT,
        "top_share": 0.4,
    }


def test_profiles_are_counted_from_one() -> None:
    assert [engine([f"a [profile {number}]", "b"])["profiles"] for number in (0, 1, 4)] == [1, 2, 5]


def test_inputs_and_outputs_where_the_file_says_which() -> None:
    tensors = [{"Name": "x", "TensorIOMode": "kINPUT"}]
    assert tensors
