"""Tests that a renamed or moved model keeps its baseline entries."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from tests.inprocess import Printed, printed
from trtlint.policy.baseline import Renames
from trtlint.policy.entries import KnownSite

SCALED = """
< ir_version: 8, opset_import: ["" : 17] >
net (float[1,2,16,64] q, float[1,2,64,16] k, float[1,2,16,64] v) => (float[1,2,16,64] y)
< float half = {0.5} >
{
  q1 = Mul (q, half)  k1 = Mul (k, half)  s1 = MatMul (q1, k1)  p1 = Softmax <axis = -1> (s1)
  y = MatMul (p1, v)
}
"""
TWICE = SCALED.replace(
    "y = MatMul (p1, v)",
    "o = MatMul (p1, v)  q2 = Mul (o, half)  k2 = Mul (k, half)  s2 = MatMul (q2, k2)\n"
    "  p2 = Softmax <axis = -1> (s2)  y = MatMul (p2, v)",
)
LINT = ("--trt", "10.7", "--isolated", "--no-cache")


def save(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    onnx.save(onnx.parser.parse_model(text), path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save(tmp_path / "models" / "a.onnx", SCALED)
    printed(tmp_path, "models", *LINT, "--write-baseline", "known.json")
    return tmp_path


def lint(folder: Path, *options: str) -> Printed:
    return printed(folder, ".", *LINT, "--baseline", "known.json", "--fail-on", "note", *options)


@pytest.mark.parametrize("name", ["models/b.onnx", "nets/a.onnx"])
def test_a_renamed_model_has_no_new_findings(folder: Path, name: str) -> None:
    assert lint(folder).code == 0
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / "models" / "a.onnx").rename(folder / name)
    found = lint(folder)
    assert found.code == 0
    note = f"{name}: renamed from models/a.onnx; --update-baseline"
    assert note in found.out
    assert "no longer exists" not in found.out


def test_an_update_records_the_new_path(folder: Path) -> None:
    (folder / "models" / "a.onnx").rename(folder / "models" / "b.onnx")
    assert "removed 0 places, 1 place left" in lint(folder, "--update-baseline").err
    document = json.loads((folder / "known.json").read_text("utf-8"))
    assert [entry["model"] for entry in document["entries"]] == ["models/b.onnx"]
    assert "renamed" not in lint(folder).out


def test_a_copy_is_a_new_model(folder: Path) -> None:
    save(folder / "models" / "b.onnx", SCALED)
    assert lint(folder).code == 1


def test_two_copies_share_no_entries(folder: Path) -> None:
    (folder / "models" / "a.onnx").unlink()
    for name in ("b", "c"):
        save(folder / "models" / f"{name}.onnx", SCALED)
    found = lint(folder)
    assert found.code == 1
    assert found.out.count("renamed from") == 1


def test_another_model_in_its_place_has_new_findings(folder: Path) -> None:
    (folder / "models" / "a.onnx").unlink()
    save(folder / "models" / "b.onnx", TWICE)
    found = lint(folder)
    assert found.code == 1
    assert "renamed" not in found.out


def test_rules_that_did_not_run_are_not_compared() -> None:
    listed = [KnownSite("a", "ACC102", "1", ""), KnownSite("a", "PERF103", "2", "")]
    keys = frozenset({("ACC102", "1")})
    for ran, taken in (({"ACC102"}, "a"), ({"ACC102", "PERF103"}, None), (set(), None)):
        assert Renames({"a": listed}, lambda _: False).take(keys, keys, ran) == taken
    assert Renames({"a": listed}, lambda _: True).take(keys, keys, {"ACC102"}) is None


def test_conditional_findings_may_be_known() -> None:
    listed = [KnownSite("a", "ACC102", "1", ""), KnownSite("a", "ACC102", "2", "")]
    found = frozenset({("ACC102", "1")})
    renames = Renames({"a": listed}, lambda _: False)
    assert renames.take(found, found, {"ACC102"}) is None
    assert renames.take(found, found | {("ACC102", "2")}, {"ACC102"}) == "a"
    assert renames.take(found, found | {("ACC102", "2")}, {"ACC102"}) is None
