"""Tests of fix sessions: helpful rewrites stay, harmful ones go, the source never changes."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import onnx
import pytest

from tests import schemas
from tests.fixes.fixing import fixed, ops
from tests.workspace import Workspace
from trtlint.cli import run
from trtlint.engine.rulebook import load_builtin
from trtlint.fixes import names, proposer
from trtlint.fixes.fixing import KEY
from trtlint.fixes.patch import Draft, Patch
from trtlint.model.load import Model

ATTENTION = """
< ir_version: 11, opset_import: ["" : 23] >
g (float[1,4,16,64] q, float[1,4,16,64] k, float[1,4,16,64] v) => (float[1,4,16,64] y)
{ y = Attention (q, k, v) }
"""
RTX = ("--rtx", "1.7", "--isolated")


def test_every_fix_that_a_rule_names_is_there_and_can_be_loaded() -> None:
    named = {advice.fix for rule in load_builtin() for advice in rule.advice} - {None}
    assert named == set(names())
    for name in names():
        assert callable(proposer(name))


def test_it_is_written_beside_the_source_with_what_was_done(tmp_path: Path) -> None:
    before, after = fixed(tmp_path, ATTENTION)
    assert onnx.load(tmp_path / "model.onnx") == before
    assert after is not None
    note = json.loads(next(entry.value for entry in after.metadata_props if entry.key == KEY))
    done = {"rule": "BLD213", "fix": "decompose-attention", "sites": ["Attention_0"], "proofs": []}
    assert note["fixes"] == [done]
    assert note["source"].startswith("sha256:")


def test_exit_codes_and_refusals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(ATTENTION), path)
    assert run(["fix", str(path), *RTX]) == 0
    assert run(["fix", str(path), "-o", str(path), *RTX]) == 2
    assert "is the model itself" in capsys.readouterr().err
    assert run(["fix", str(path), "-o", str(tmp_path / "none" / "x.onnx"), *RTX]) == 2
    assert run(["fix", str(tmp_path / "absent.onnx"), *RTX]) in (2, 3)
    path.write_bytes(path.read_bytes()[:60])
    assert run(["fix", str(path), *RTX]) == 3


def test_what_was_wrong_before_is_told_from_what_a_rewrite_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = onnx.parser.parse_model(ATTENTION)
    model.graph.node.add(op_type="Foreign", domain="own", input=["y"], output=["z"])
    model.opset_import.add(domain="own", version=1)
    model.graph.output[0].name = "z"
    model.graph.output[0].type.tensor_type.ClearField("shape")  # of an operator that ONNX does not know
    assert fixed(tmp_path, model)[1] is None
    printed = capsys.readouterr().out
    assert (
        "not written: the ONNX checker rejects both the fixed model and the source model: Field 'shape'"
        " of 'type' is required but missing; correct the source model first" in printed
    )
    assert "no model was written, because the fixed model is invalid" in printed
    assert "  fixed " not in printed


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        ("(float[4] x) => (int64[1,N] y) { y = NonZero (x) }", "known only at run time"),
        (
            "(float[4] x) => (float[4] y) < float r = {0.5}, bool t = {1} > { y = Dropout (x, r, t) }",
            "in training mode the results are random or depend on the batch",
        ),
        (
            "(float[6] x) => (float[6] y)"
            " < int64 n = {40}, bool t = {1}, int64[1] z = {0}, int64[1] o = {1} >"
            " { y = Loop (n, t, x) <body = b (int64 i, bool c, float[6] v) => (bool a, float[6] w)"
            " { a = Identity (c) u = Unsqueeze (i, z) e = Add (u, o)"
            "   s = Slice (v, u, e, z) w = Add (v, s) }> }",
            "a size or bound of the operator changes from one iteration to the next",
        ),
    ],
)
def test_what_has_no_rewrite_is_named_with_the_reason(
    graph: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f'< ir_version: 8, opset_import: ["" : 17] > g {graph}'
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    assert run(["fix", str(path), *RTX]) == 1
    assert reason in capsys.readouterr().out
    assert not (tmp_path / "model.fixed.onnx").exists()


def test_nothing_is_written_in_a_dry_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(ATTENTION), path)
    assert run(["fix", str(path), "--dry-run", "--diff", *RTX]) == 0
    assert [file.name for file in tmp_path.glob("*.onnx")] == ["model.onnx"]
    out = capsys.readouterr().out
    assert "\n-y = Attention (q, k, v)" in out
    assert "Softmax" in out


def test_json_follows_its_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(ATTENTION), path)
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    run(["fix", str(tmp_path), "--format", "json", "--diff", *RTX])
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, schemas.load("trtlint.fix/1"))
    assert [entry["fix"] for entry in document["models"][0]["applied"]] == ["decompose-attention"]
    assert len(document["errors"]) == 1


RULE = """---
id: {id}
name: find-{low}
severity: {severity}
since: 0.1.0
evidence: documented
find: node
where: op == "{op}"
message: "there is {op}"
advice:
  - do: "do something"
{fix}references:
  - https://example.org
---
"""


def house(work: Workspace, id_: str, op: str, severity: str = "error", fix: str = "") -> None:
    """Write a rule about an operator, with an optional rewrite."""
    line = f"    fix: {fix}\n" if fix else ""
    text = RULE.format(id=id_, low=op.lower(), op=op, severity=severity, fix=line)
    (work.path / "house" / f"{id_}-find-{op.lower()}.md").write_text(text)


@pytest.fixture
def planted(work: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Write rules, one with a rewrite of Relu to Abs that skips blocks.1."""
    for file in (work.path / "house").glob("*.md"):
        file.unlink()
    house(work, "XYZ901", "Relu", fix="planted")

    def propose(fact: object, model: Model) -> Patch:
        node = next(n for n in model.graph.nodes if n is fact.node)  # type: ignore[attr-defined]
        draft = Draft(model, node)
        draft.op("Abs", node.inputs[0], out=node.output.name)
        return draft.patch("makes it Abs", [node])

    monkeypatch.setattr("trtlint.fixes.session.names", lambda: ("planted",))
    monkeypatch.setattr("trtlint.fixes.session.proposer", lambda name: propose)
    return work


def test_a_rewrite_that_helps_is_kept(planted: Workspace) -> None:
    assert run(["fix", "models/a.onnx", "--isolated"]) == 0
    assert ops(onnx.load("models/a.fixed.onnx")) == ["Abs", "Abs", "Sin"]


@pytest.mark.parametrize(("severity", "kept"), [("error", False), ("warning", True)])
def test_one_that_brings_something_as_grave_is_taken_back(
    severity: str, kept: bool, planted: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    house(planted, "XYZ902", "Abs", severity)
    assert run(["fix", "models/a.onnx", "--isolated"]) == (0 if kept else 1)
    assert Path("models/a.fixed.onnx").exists() is kept
    assert ("withdrawn because the rewrite causes the finding XYZ902" in capsys.readouterr().out) is not kept


def test_what_is_only_seen_now_is_no_harm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Inference stops at an operator of another domain; the hidden refusal existed before."""
    text = """< ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1] >
    g (float[2,8] x, float[8] gain, float[8] bias) => (float[A,B] y)
    { s = com.microsoft.SkipLayerNormalization (x, x, gain, bias)  y = Det (s) }"""
    model = onnx.parser.parse_model(text)
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    run(["fix", str(path), "--isolated", "--trt", "11.4", "--dry-run"])
    out = capsys.readouterr().out
    assert "withdrawn because" not in out


def test_one_refusal_is_told_of_every_rule_that_names_the_rewrite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """< ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1] >
    g (float[b,s,h] x, float[h,k] w, float[k] c, int32[b,s] m) => (float[b,s,h] y)
    { y = com.microsoft.Attention <num_heads = 4> (x, w, c, m) }"""
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    run(["fix", str(path), "--isolated", "--trt", "11.4"])
    out = capsys.readouterr().out
    assert out.count("decompose-attention: the size of a head is not known") == 2
    assert "  left " not in out
