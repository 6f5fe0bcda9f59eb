"""Tests of refusals on the command line and in JSON, and of the refusal benchmark."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import onnx
import pytest

from benchmarks.parser_verdicts import answer, score
from tests import schemas
from tests.linting import lint_file
from trtlint.cli import run
from trtlint.engine.finding import ModelReport
from trtlint.engine.rulebook import Rulebook, load_builtin
from trtlint.files.problem import Problem
from trtlint.target.target import Target

CUSTOM = """
< ir_version: 8, opset_import: ["" : 17, "my.ops" : 1] >
g (float[4] x) => (float[4] y) { y = my.ops.Fancy (x) }
"""
MASK = """
< ir_version: 8, opset_import: ["" : 17] >
g (bool[4] m) => (int64[1,N] a, int64[1,N] b) { a = NonZero (m) b = NonZero (m) }
"""


@pytest.fixture(scope="module")
def rules() -> Rulebook:
    return load_builtin()


def linted(text: str, folder: Path, *options: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    path = folder / "model.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    run([str(path), *options, "--format", "json"])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, schemas.load("trtlint.report/1"))
    (model,) = document["models"]
    found: dict[str, Any] = model
    return found


def test_a_refusal_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = linted(MASK, tmp_path, "--rtx", "1.7", capsys=capsys)
    (finding,) = model["findings"]
    assert finding["refusal"] == {
        "stage": "parse",
        "op": "NonZero",
        "code": "UNSUPPORTED_NODE",
        "first_taken_by": None,
        "last_taken_by": "1.5",
    }
    assert len(finding["sites"]) == 2
    assert finding["applies"] == "TensorRT-RTX 1.6 and newer"
    assert any("NonZero" in advice for advice in finding["advice"])


def test_a_finding_without_refusal_has_no_such_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[1,3,8,8] x, float[4,3,3,3] w) => (float[1,4,6,6] y) { y = Conv (x, w) }
    """
    model = linted(text, tmp_path, "--trt", "10.8", capsys=capsys)
    assert model["findings"]
    assert all("refusal" not in finding for finding in model["findings"])


@pytest.mark.parametrize(
    ("options", "certain", "conditional"),
    [
        ((), 1, 0),
        (("--plugins", "Fancy"), 0, 0),
        (("--plugins", "Other, Fancy"), 0, 0),
        (("--plugins", "Other"), 1, 0),
        (("--plugins", ""), 1, 0),
    ],
)
def test_plugins_settle_what_a_custom_operator_is(
    options: tuple[str, ...],
    certain: int,
    conditional: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = linted(CUSTOM, tmp_path, "--trt", "10.8", *options, capsys=capsys)
    assert (len(model["findings"]), len(model["conditional"])) == (certain, conditional)
    for finding in (*model["findings"], *model["conditional"]):
        refusal = {"stage": "parse", "op": "Fancy", "code": "INVALID_NODE"}
        assert finding["refusal"] == refusal | {"first_taken_by": None, "last_taken_by": None}
    assert all(finding["depends"] == ["--plugins"] for finding in model["conditional"])


def test_three_answers(tmp_path: Path, rules: Rulebook) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(CUSTOM), path)
    targets = [
        Target(version="10.8"),
        Target(version="10.8", plugins=frozenset({"Fancy"})),
        Target(version="10.8", plugins=frozenset()),
    ]
    reports = lint_file(path, targets, rules)
    assert [answer(report, "parse") for report in reports] == ["refused", "accepted", "refused"]
    assert {answer(report, "build") for report in reports} == {"accepted"}
    assert answer(ModelReport("x", "", errors=(Problem("x", "no model"),)), "parse") == "unknown"


def test_unknown_counts_as_no_answer() -> None:
    refused = {"a": True, "b": True, "c": True, "d": False, "e": False}
    result = score({"a": "refused", "b": "accepted", "d": "refused", "e": "unknown"}, refused)
    assert result.counts == Counter(
        {
            ("refused", True): 1,
            ("accepted", True): 1,
            ("unknown", True): 1,
            ("refused", False): 1,
            ("unknown", False): 1,
        }
    )
    assert result.precision == 0.5
    assert math.isclose(result.recall, 1 / 3)
    assert math.isnan(score({}, {}).precision)
    assert "precision 0.5000" in result.lines("x")[0]
