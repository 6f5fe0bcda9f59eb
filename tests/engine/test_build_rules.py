"""Tests of build rules on real logs, layer files and profiles.

Each expectation was checked against the file by eye.
"""

# ruff: noqa: E501 (lines of logs are quoted whole)

from __future__ import annotations

import io
import re
from functools import cache
from pathlib import Path

import pytest

from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.record import FileContents, read_build, together
from trtlint.buildfiles.records import Log
from trtlint.engine.evaluate import evaluate
from trtlint.engine.evidence.build import BuildEvidence
from trtlint.engine.finding import Finding, ModelReport
from trtlint.engine.rule import Rule
from trtlint.engine.rulebook import load_builtin
from trtlint.facts.facts import Facts
from trtlint.model.load import load
from trtlint.target.completion import complete
from trtlint.target.target import Target

_LOG = re.compile(r"^```log[^\n]*\n(.*?)\n```$", re.MULTILINE | re.DOTALL)

GRAPH_RULES = {"ACC101", "PERF101", "PERF104"}
"""Model rules with evidence in some of the builds."""

LOGS = {
    "cookbook-ort-tensorrt-ep.log": "LOG139",
    "cookbook-trt10.16.0-rtxcompare-trt-verbose.log": "",
    "cookbook-trt10.16.1-addscalar-trtexec-plugin.log": "LOG116 LOG146 LOG147",
    "cookbook-trt10.16.1-mnist-trtexec-default.log": "LOG116 LOG147",
    "cookbook-trt10.16.1-mnist-trtexec-dumplayerinfo.log": "LOG116",
    "cookbook-trt10.16.1-mnist-trtexec-dumpprofile.log": "LOG116",
    "cookbook-trt10.16.1-mnist-trtexec-fp16-verbose.log": "LOG108 LOG113 LOG119",
    "cookbook-trt10.16.1-mnist-trtexec-loadengine-verbose.log": "",
    "cookbook-trt10.16.2-attention-pyapi.log": "LOG122",
    "cookbook-trt10.16.2-dynamicquantize-pyapi-verbose.log": "LOG104 LOG123",
    "cookbook-trt10.16.2-errorrecorder-pyapi.log": "LOG124 LOG161",
    "cookbook-trt10.16.2-int8calibration-pyapi.log": "",
    "cookbook-trt10.16.2-mnist-polygraphy-convert.log": "LOG119",
    "cookbook-trt10.16.2-mnist-polygraphy-inspect.log": "",
    "cookbook-trt10.16.2-mnist-polygraphy-run-onnxrt-trt.log": "",
    "cookbook-trt10.16.2-mnist-polygraphy-run-vv.log": "LOG119",
    "cookbook-trt10.16.2-mnist-pyapi-profilingverbosity-verbose.log": "",
    "cookbook-trt10.16.2-mnist-pyapi-sparsity-verbose.log": "",
    "cookbook-trt10.16.2-normalization-pyapi.log": "",
    "cookbook-trt10.16.2-onnxparser-pyapi.log": "LOG103 LOG103",
    "cookbook-trt10.16.2-pytorch-workflow.log": "LOG118",
    "cookbook-trt10.16.2-stronglytyped-pyapi.log": "LOG124",
    "cookbook-trtrtx1.4-rtxcompare-rtx-verbose.log": "",
    "lix19937-trt8.4.10-script-best-orin-verbose-truncated.log": "LOG106 LOG117",
    "lix19937-trt8.5.10-identity-plugin-verbose.log": "LOG146 LOG147",
    "lix19937-trt8.5.10-mnist-best-verbose.log.gz": "ENG103 LOG117",
    "lix19937-trt8.5.10-resnet18-qat-verbose.log.gz": "LOG117 LOG147",
    "nvidia-trt8.5.2-yolo-qdq-int8-verbose.log.gz": "ENG102 ENG105 ENG108",
    **{
        f"own-trtrtx{version}-{model}-verbose.log": ids
        for version in ("1.4.0", "1.5.0", "1.7.1")
        for model, ids in {
            "chunk": "",
            "decln": "LOG101",
            "int64": "",
            "mixed": "LOG102",
            "prescale": "LOG101",
            "qkvchunk-ln": "",
            "unsup": "LOG103",
        }.items()
    },
    "own-trtrtx1.6.1-qkvchunk-ln-verbose.log": "",
}
ENGINES = {
    "cookbook-trt10.16.1-mnist-layers-detailed.json": "",
    "cookbook-trt10.16.2-mnist-inspector-oneline.txt": "",
    "farabimahmud-trtunknown-detr-int8-layernames.json": "ENG102 ENG104 ENG112",
    "nvidia-trt8.5.2-yolo-qdq-int8-layernames.json": "ENG105 ENG112",
    "own-trtrtx1.4.0-decln-layers-oneline.txt": "",
    "own-trtrtx1.5.0-decln-layers-oneline.txt": "",
    "own-trtrtx1.7.1-decln-layers-oneline.txt": "",
    "trex-trt8.x-mobilenet-qat-layers.json": "ENG102 ENG104 ENG108",
    "trex-trt8.x-mobilenet_v2_residuals-qat-layers.json": "ENG104 ENG108",
    "trex-trt8.x-resnet18-fp16-a100-layers.json": "",
    "trex-trt8.x-resnet18-fp32-a100-layers.json": "",
    "trex-trt8.x-resnet18-qat-a100-layers.json": "ENG102 ENG108",
    "trex-trt8.x-resnet18-qat-residual-a100-layers.json": "ENG102 ENG108",
}
WITH_MODEL = {
    "rtx-1.4.0-attn-fp16-d64-sqrtboth-mask.log": "",
    "rtx-1.4.0-conv-fp16-qdq-full.log": "LOG106",
    "rtx-1.4.0-ln-fp16-decomposed-warning.log": "ACC101",
    "rtx-1.7.1-attention-op23-fp32-buildfail.log": "LOG107",
    "rtx-1.7.1-attention-op23-gqa.log": "",
    "rtx-1.7.1-attn-chunked-rank3-split.log": "PERF104",
    "rtx-1.7.1-attn-chunked-rank4-split.log": "",
    "rtx-1.7.1-attn-fp16-d512-unfused.log": "PERF104",
    "rtx-1.7.1-attn-fp16-d64-sqrtboth-mask.log": "",
    "rtx-1.7.1-attn-fp32-d64-unfused.log": "PERF104",
    "rtx-1.7.1-conv-fp16-clip-pm1.log": "",
    "rtx-1.7.1-conv-fp16-qdq-full.log": "",
    "rtx-1.7.1-conv-fp16-qdq-runtime-scale-crash.log": "LOG125",
    "rtx-1.7.1-conv-fp16-runtime-weight.log": "PERF101",
    "rtx-1.7.1-ln-fp16-decomposed-warning.log": "ACC101",
    "rtx-1.7.1-ln-fp16-op17.log": "",
}


FAILED = """\
[V] Parsing node: /custom/MyCustomOp [MyCustomOp]
[E] ModelImporter.cpp:138: While parsing node number 0 [MyCustomOp -> "z"]:
[E] ModelImporter.cpp:151: ERROR: onnxOpCheckers.cpp:998 In function checkFallbackPluginImporter:
[6] creator && "Plugin not found, are the plugin name, version, and namespace correct?"
[V] =============== Computing costs for {ForeignNode[a...b]}
[W] UNSUPPORTED_STATE: Skipping tactic 0 due to insufficient memory on requested size of 2688 detected for tactic 0x0.
[E] Error Code 10: Internal Error (Could not find any implementation for node {ForeignNode[a...b]}. In computeCosts)
Layers:
Name: a, LayerType: gemm, Inputs: [ { Name: x, Dimensions: [1,2], Format/Datatype: Half }], Outputs: [], StreamId: 0
"""


@cache
def rules() -> tuple[Rule, ...]:
    return tuple(
        rule for rule in load_builtin() if rule.id.startswith(("LOG", "ENG")) or rule.id in GRAPH_RULES
    )


def lint(*files: Path, model: Path | None = None) -> ModelReport:
    build = read_build([str(file) for file in files])
    facts = Facts(None if model is None else load(model), evidence=[BuildEvidence(build)])
    return evaluate(rules(), facts, complete(Target(), build).target)


def ids(report: ModelReport) -> str:
    return " ".join(sorted(finding.rule for finding in report.findings))


def only(report: ModelReport, rule: str) -> Finding:
    (finding,) = (finding for finding in report.findings if finding.rule == rule)
    return finding


@pytest.mark.parametrize(("name", "expected"), LOGS.items(), ids=LOGS)
def test_findings_in_real_logs(shared: Path, name: str, expected: str) -> None:
    assert ids(lint(shared / "data" / "logs" / name)) == expected


@pytest.mark.parametrize(("name", "expected"), ENGINES.items(), ids=ENGINES)
def test_findings_in_real_engines(shared: Path, name: str, expected: str) -> None:
    file = shared / "data" / "layer-info" / name
    stem = name.partition("-layer")[0]
    others = [shared / "data" / "profiles" / f"{stem}-{part}.json" for part in ("profile", "build-metadata")]
    assert ids(lint(file, *(other for other in others if other.exists()))) == expected


@pytest.mark.parametrize(("name", "expected"), WITH_MODEL.items(), ids=WITH_MODEL)
def test_findings_in_real_logs_with_their_model(shared: Path, name: str, expected: str) -> None:
    logs = shared / "data" / "logs"
    model = logs / f"{name.split('-', 2)[2].removesuffix('.log')}.onnx"
    report = lint(logs / name, model=model)
    assert ids(report) == expected
    assert all(finding.confidence == "confirmed" for finding in report.findings if finding.rule != "PERF101")


def test_the_table_covers_every_log(shared: Path) -> None:
    files = {file.name for file in (shared / "data" / "logs").iterdir() if file.suffix != ".onnx"}
    assert files == {*LOGS, *WITH_MODEL, "fragments-issue-threads.log"}
    assert {file.name for file in (shared / "data" / "layer-info").iterdir()} == set(ENGINES)


def test_the_norm_warning_of_a_verbose_log_names_the_modules(shared: Path) -> None:
    report = lint(shared / "data" / "logs" / "own-trtrtx1.7.1-decln-verbose.log")
    assert "/layers.0/norm, /layers.1/norm" in only(report, "LOG101").message


def test_a_parser_failure_names_the_node_and_the_reason(shared: Path) -> None:
    finding = only(lint(shared / "data" / "logs" / "own-trtrtx1.7.1-mixed-verbose.log"), "LOG102")
    assert "/bad/Add" in finding.message
    assert "they are of types Half and Float" in finding.message


def test_an_island_without_implementation_shows_the_hidden_reason(shared: Path) -> None:
    log = shared / "data" / "logs" / "cookbook-trt10.16.2-dynamicquantize-pyapi-verbose.log"
    assert "double_quant_scale must have scalar block_size" in only(lint(log), "LOG104").message


def test_times_of_a_real_profile(shared: Path) -> None:
    stem = shared / "data"
    report = lint(
        stem / "layer-info" / "trex-trt8.x-resnet18-qat-a100-layers.json",
        stem / "profiles" / "trex-trt8.x-resnet18-qat-a100-profile.json",
    )
    assert only(report, "ENG102").message.endswith("take 25 % of the run time (13 layers)")
    assert len(only(report, "ENG108").sites) == 9


@pytest.mark.slow
def test_a_log_cut_at_any_byte_gives_findings_or_none() -> None:
    data = FAILED.encode()
    found = [_of_log(data[:end]) for end in range(0, len(data) + 1, 3)]
    assert found[0] == set()
    assert _of_log(data) == {"LOG103", "LOG104", "LOG108"}
    # Of a line that is cut only that something failed is known.
    assert all(ids <= {"LOG102", "LOG103", "LOG104", "LOG105", "LOG108", "LOG124"} for ids in found)


def _of_log(data: bytes) -> set[str]:
    build = together([FileContents("build.log", read_log(io.BytesIO(data)))])
    report = evaluate(rules(), Facts(None, evidence=[BuildEvidence(build)]), complete(Target(), build).target)
    return {finding.rule for finding in report.findings}


def _examples() -> list[str]:
    """Return the logs with errors of message rules, without those of aborted runs."""
    about = [rule for rule in rules() if rule.find == "log_message" and rule.severity == "error"]
    texts = dict.fromkeys(match[1] for rule in about for match in _LOG.finditer(rule.body))
    return [text for text in texts if not {"run_failed", "banner"} & set(_read(text).records)]


@pytest.mark.slow
def test_what_a_build_overcame_is_no_error() -> None:
    examples = _examples()
    for text in examples:
        overcome = f"{text}\n[I] [TRT] Engine generation completed in 1.5 seconds.\n"
        assert not _errors(overcome), text
    assert sum(bool(_errors(text)) for text in examples) > 30


def _read(text: str) -> Log:
    return read_log(io.BytesIO(text.encode()))


def _errors(text: str) -> set[str]:
    build = together([FileContents("build.log", _read(text))])
    report = evaluate(rules(), Facts(None, evidence=[BuildEvidence(build)]), complete(Target(), build).target)
    return {finding.rule for finding in report.findings if finding.severity == "error"}
