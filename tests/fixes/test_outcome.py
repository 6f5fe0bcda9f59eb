"""Tests of fix outcomes in words."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import onnx
import pytest

from trtlint.fixes.outcome import AppliedFix, LintedModel, Proof, proofs
from trtlint.fixes.patch import Bound, Patch


def test_what_was_not_proven_is_not_hidden_behind_what_was() -> None:
    told = [Proof(True, "4 sets", {}), Proof(None, "no shape", {}), Proof(True, "8 sets", {}), None]
    members = [AppliedFix("ACC102", "error", "scale-on-query", "safe", "n", "does", proof) for proof in told]
    assert list(proofs(members)) == ["4 sets (+1 more)", "no shape"]
    assert not list(proofs(members[-1:]))


def test_proofs_are_counted_by_their_results() -> None:
    told = [Proof(None, "no shape", {}), Proof(None, "no type", {}), Proof(None, "no shape", {})]
    members = [AppliedFix("ACC102", "error", "scale-on-query", "safe", "n", "does", proof) for proof in told]
    assert list(proofs(members)) == ["no shape (+1 more)"]
    assert list(proofs(members[:1])) == ["no shape"]
    assert list(proofs([])) == []


def test_a_proof_as_json_data() -> None:
    bounds = (Bound("x", -math.inf, 4.0), Bound("z", -2.0, math.inf))
    proof = Proof(True, "4 sets", {"difference": 0.5, "sets": 4}, bounds)
    assert proof.difference == 0.5
    assert proof.document == {
        "equal": True,
        "says": "4 sets",
        "figures": {"difference": 0.5, "sets": 4},
        "bounds": [{"tensor": "x", "low": None, "high": 4.0}, {"tensor": "z", "low": -2.0, "high": None}],
    }
    assert Proof(None, "no shape", {}).difference == 0.0


@pytest.mark.parametrize(
    ("equal", "condition", "words", "bounded"),
    [
        (True, "small scores", "4 sets, for small scores", True),
        (True, "", "4 sets", False),
        (False, "small scores", "4 sets", False),
        (None, "small scores", "4 sets", False),
    ],
)
def test_a_successful_proof_names_the_condition_of_its_patch(
    equal: bool | None, condition: str, words: str, bounded: bool
) -> None:
    bounds = (Bound("x", -1.0, 1.0),)
    patch = Patch("copies", (), (), bounds=bounds, condition=condition)
    figures: dict[str, float | int | str] = {"sets": 4}
    expected = Proof(equal, words, figures, bounds if bounded else ())
    assert Proof(equal, "4 sets", figures).under(patch) == expected


def test_findings_of_several_targets_are_listed_once() -> None:
    def report(*fingerprints: str) -> Any:
        return SimpleNamespace(findings=[SimpleNamespace(fingerprint=each) for each in fingerprints])

    facts: Any = SimpleNamespace(model="model")
    linted = LintedModel(onnx.ModelProto(), facts, (report("a", "b"), report("b", "c"), report()))
    assert [each.fingerprint for each in linted.findings] == ["a", "b", "c"]
    assert linted.model == "model"
    assert LintedModel(onnx.ModelProto(), facts, ()).findings == []
