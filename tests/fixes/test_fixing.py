"""The note of a fixed model about its fixes."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import onnx
import pytest

from trtlint.fixes.fixing import KEY, described
from trtlint.fixes.outcome import AppliedFix, Proof

SETS, SHAPE = Proof(True, "4 sets", {"sets": 4}), Proof(None, "no shape", {})


def fixed(keys: tuple[str, ...], *applied: AppliedFix) -> Any:
    """Return a fixed model whose source has metadata with some keys."""
    proto = onnx.ModelProto()
    for index, key in enumerate(keys):
        proto.metadata_props.add(key=key, value=str(index))
    return SimpleNamespace(proto=proto, source="sha256:0", outcome=SimpleNamespace(applied=list(applied)))


def applied(rule: str, fix: str, place: str, proof: Proof | None = None) -> AppliedFix:
    return AppliedFix(rule, "error", fix, "safe", place, "does", proof)


@pytest.mark.parametrize(
    ("keys", "kept"),
    [
        ((), []),
        (("a", "b"), [("a", "0"), ("b", "1")]),
        ((KEY,), []),
        (("a", KEY), [("a", "0")]),
        ((KEY, "a"), [("a", "1")]),
        ((KEY, "a", KEY, KEY, "b", KEY), [("a", "1"), ("b", "4")]),
    ],
)
def test_the_note_replaces_notes_of_earlier_fixes(keys: tuple[str, ...], kept: list[tuple[str, str]]) -> None:
    model = fixed(keys)
    found = [(each.key, each.value) for each in described(model).metadata_props]
    assert found[:-1] == kept
    assert (found[-1][0], json.loads(found[-1][1])) == (
        KEY,
        {"source": "sha256:0", "fixes": [], "proofs": []},
    )
    assert [each.key for each in model.proto.metadata_props] == list(keys)


def test_the_note_lists_the_places_and_proofs_of_each_rewrite() -> None:
    model = fixed(
        (),
        applied("ACC102", "scale-on-query", "first", SETS),
        applied("PERF103", "scale-on-query", "second"),
        applied("ACC102", "scale-on-query", "third", SHAPE),
        applied("ACC102", "widen-norm", "fourth", SETS),
        applied("ACC102", "scale-on-query", "fifth", SETS),
    )
    (note,) = described(model, ["outputs"]).metadata_props
    assert json.loads(note.value) == {
        "source": "sha256:0",
        "fixes": [
            {
                "rule": "ACC102",
                "fix": "scale-on-query",
                "sites": ["first", "third", "fifth"],
                "proofs": [SETS.document, SHAPE.document],
            },
            {"rule": "PERF103", "fix": "scale-on-query", "sites": ["second"], "proofs": []},
            {"rule": "ACC102", "fix": "widen-norm", "sites": ["fourth"], "proofs": [SETS.document]},
        ],
        "proofs": ["outputs"],
    }
