"""Tests of logs as evidence for model findings: the reason must match, not only the node."""

from __future__ import annotations

import io

import pytest

from tests.graphs import model_of
from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.record import FileContents, together
from trtlint.engine.evaluate import evaluate
from trtlint.engine.evidence.build import BuildEvidence
from trtlint.engine.finding import Finding, ModelReport
from trtlint.engine.rulebook import load_builtin
from trtlint.facts.facts import Facts
from trtlint.target.target import Target

MODEL = """
< ir_version: 10, opset_import: ["" : 17] >
g (float[1,4,4] x) => (float[1] y) { [det] y = Det (x) }
"""
STOPPED = """\
[E] [TRT] ModelImporter.cpp:949: While parsing node number 0 [Det -> "y"]:
[E] [TRT] ModelImporter.cpp:951: --- Begin node ---
name: "det"
[E] [TRT] ModelImporter.cpp:953: --- End node ---
"""
NO_PLUGIN = (
    STOPPED
    + """\
[E] [TRT] ModelImporter.cpp:957: ERROR: onnxOpCheckers.cpp:781 In function checkFallbackPluginImporter:
[6] creator && "Plugin not found, are the plugin name, version, and namespace correct?"
"""
)
IMPORTER = (
    STOPPED
    + """\
[E] [TRT] ModelImporter.cpp:957: ERROR: onnxOpImporters.cpp:1234 In function importDet:
[8] Assertion failed: inputs.at(0).shape().nbDims == 2
"""
)
PARSED = """\
[V] [TRT] Parsing node: det [Det]
[V] [TRT] Original: 1 layers
"""
OTHER = """\
[V] [TRT] Parsing node: /blocks.0/Conv [Conv]
[V] [TRT] Original: 1 layers
[V] [TRT] Engine generation completed in 2.1 seconds.
"""


def lint(text: str, log: str, *rules: str, version: str = "10.7") -> ModelReport:
    record = together([FileContents("build.log", read_log(io.BytesIO(log.encode())))])
    book = load_builtin()
    chosen = [rule for rule in book if rule.id in rules]
    return evaluate(chosen, Facts(model_of(text), evidence=[BuildEvidence(record)]), Target(version=version))


def only(report: ModelReport) -> Finding:
    (found,) = report.findings
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("log", "standing"),
    [(NO_PLUGIN, "confirmed"), (IMPORTER, "confirmed"), (PARSED, "refuted"), (OTHER, "open")],
)
def test_an_operator_without_importer(log: str, standing: str) -> None:
    assert only(lint(MODEL, log, "BLD201")).standing == standing


def test_an_error_of_the_importer_is_quoted() -> None:
    assert any("importDet" in words for words in only(lint(MODEL, IMPORTER, "BLD201")).said)


def test_the_log_of_another_model_says_so() -> None:
    assert [note for note in lint(MODEL, OTHER, "BLD201").notes if "build.log: the log names no node" in note]
    assert not [
        note for note in lint(MODEL, PARSED, "BLD201").notes if "build.log: the log names no node" in note
    ]


NORM = """
< ir_version: 8, opset_import: ["" : 17] >
norm (float16[1,197,192] x) => (float16[1,197,192] y)
< float16 two = {16384}, float16 eps = {1} >
{
  [mean] m = ReduceMean <axes = [-1]> (x)
  [sub] c = Sub (x, m)
  [pow] p = Pow (c, two)
  [var] v = ReduceMean <axes = [-1]> (p)
  [add] e = Add (v, eps)
  [sqrt] s = Sqrt (e)
  [div] y = Div (c, s)
}
"""
NAMELESS = "[W] [TRT] Detected layernorm nodes in FP16.\n"


@pytest.mark.slow
def test_a_warning_without_names_is_about_every_norm() -> None:
    report = lint(NORM, NAMELESS, "ACC101", "LOG101")
    assert (only(report).rule, only(report).standing, only(report).confidence) == (
        "ACC101",
        "confirmed",
        "confirmed",
    )


@pytest.mark.slow
def test_a_warning_with_names_is_about_these() -> None:
    named = NAMELESS.replace("FP16.", "FP16: elsewhere/Pow, sub")
    assert only(lint(NORM, named, "ACC101")).standing == "confirmed"
    other = NAMELESS.replace("FP16.", "FP16: elsewhere/Pow, elsewhere/Sub")
    assert only(lint(NORM, other, "ACC101")).standing == "open"
