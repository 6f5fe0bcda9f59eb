"""Tests of rules on real exported models, against independent labels and verdicts.

The labels say where attention scales sit and where convolution weights come from; the verdicts are
what NVIDIA's own parser and builder (TensorRT-RTX 1.7.1) said of each model.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.linting import lint_file
from tests.sampling import sample
from trtlint.engine.finding import Finding, ModelReport
from trtlint.engine.rulebook import load_builtin
from trtlint.target.target import Target

TARGETS = {
    "10.6": Target(version="10.6"),
    "10.7": Target(version="10.7"),
    "10.7 fp16": Target(version="10.7", asked=frozenset({"fp16"})),
    "10.8": Target(version="10.8"),
    "10.8 L4": Target(version="10.8", gpu="L4"),
    "10.0 L4": Target(version="10.0", gpu="L4"),
    "10.0 L4 no tf32": Target(version="10.0", gpu="L4", refused=frozenset({"tf32"})),
    "10.0 T4": Target(version="10.0", gpu="T4"),
    "11.4": Target(version="11.4"),
    "11.4 L4": Target(version="11.4", gpu="L4"),
    "rtx 1.7": Target(product="tensorrt-rtx", version="1.7", gpu="L4"),
}

Lookup = Callable[[str, str], list[Finding]]


@pytest.fixture(scope="module")
def models(exported: Path) -> dict[str, Path]:
    return {path.stem: path for path in sample(sorted(exported.glob("*.onnx")), one_of=5)}


@pytest.fixture(scope="module")
def labels(exported: Path, models: dict[str, Path]) -> list[dict[str, Any]]:
    lines = (exported / "labels.jsonl").read_text().splitlines()
    return [label for label in map(json.loads, lines) if label["model"] in models]


@pytest.fixture(scope="module")
def verdicts(exported: Path, models: dict[str, Path]) -> dict[str, dict[str, Any]]:
    lines = (exported / "verdicts-rtx-1.7.1.jsonl").read_text().splitlines()
    return {entry["model"]: entry for entry in map(json.loads, lines) if entry["model"] in models}


@pytest.fixture(scope="module")
def reports(models: dict[str, Path]) -> dict[str, dict[str, ModelReport]]:
    """Return each model's report for every target."""
    rules = load_builtin()
    targets = list(TARGETS.values())
    return {
        model: dict(zip(TARGETS, lint_file(path, targets, rules), strict=True))
        for model, path in models.items()
    }


@pytest.fixture(scope="module")
def found(reports: dict[str, dict[str, ModelReport]]) -> Lookup:
    def lookup(model: str, target: str) -> list[Finding]:
        return list(reports[model][target].findings)

    return lookup


def sites(findings: list[Finding], rule: str) -> int:
    return sum(len(finding.sites) for finding in findings if finding.rule == rule)


@pytest.mark.slow
def test_split_scales_are_found_on_10_7_alone(labels: list[dict[str, Any]], found: Lookup) -> None:
    for label in labels:
        model, both = label["model"], label["attention_scale"].get("both", 0)
        assert sites(found(model, "10.7"), "ACC102") == both, model
        assert sites(found(model, "10.6"), "ACC102") == 0, model
        assert sites(found(model, "10.8"), "ACC102") == 0, model


UNWARNED_FP16_NORMS = {
    # The mean is subtracted twice, and Pow and ReduceMean run on FP16 tensors: the statistics are
    # in FP16, and the builder does not recognise this spelling as a layer norm.
    "norm_layernorm_manual_pow__dynamo__op20__fp16",
    "norm_layernorm_manual_pow__ts__op17__fp16",
}


def test_fp16_norms_are_those_the_builder_warned_of(labels: list[dict[str, Any]], found: Lookup) -> None:
    for label in labels:
        model = label["model"]
        if model.endswith("fp16"):
            expected = label["builder_warned_fp16_norm"] or model in UNWARNED_FP16_NORMS
            assert (sites(found(model, "11.4"), "ACC101") > 0) == expected, model


def test_fp32_norms_are_found_when_fp16_is_asked_for(
    verdicts: dict[str, dict[str, Any]], found: Lookup
) -> None:
    families = ("nafnet", "norm_rmsnorm", "llama", "norm_layernorm_manual", "mistral", "t5", "qwen2")
    for model in verdicts:
        if model.startswith(families) and model.endswith(("op13__fp32", "op17__fp32", "op20__fp32")):
            assert sites(found(model, "10.7 fp16"), "ACC101") > 0, model
            assert sites(found(model, "11.4"), "ACC101") == 0, model


def test_chunked_channels_first_attention(verdicts: dict[str, dict[str, Any]], found: Lookup) -> None:
    for model in verdicts:
        expected = model.startswith("guided_diffusion_")
        for target in ("10.0 L4", "10.7", "10.8"):
            assert (sites(found(model, target), "ACC103") > 0) == expected, model


def test_tf32_convolutions(verdicts: dict[str, dict[str, Any]], found: Lookup) -> None:
    for model in verdicts:
        clipped = model.startswith(("conv_clamp", "conv_relu6")) and not model.endswith("fp16")
        if clipped:
            assert sites(found(model, "10.0 L4"), "ACC104") > 0, model
        if model.endswith("fp16"):
            assert sites(found(model, "10.0 L4"), "ACC104") == 0, model
        assert sites(found(model, "10.0 L4 no tf32"), "ACC104") == 0, model
        assert sites(found(model, "10.0 T4"), "ACC104") == 0, model


def test_sources_of_convolution_weights(labels: list[dict[str, Any]], found: Lookup) -> None:
    for label in labels:
        findings = found(label["model"], "10.8 L4")
        weights = label["conv_weights"]
        assert sites(findings, "PERF101") == weights.get("runtime", 0), label["model"]
        assert sites(findings, "PERF102") == weights.get("foldable", 0), label["model"]


WRONG_RESULTS = {"ACC102", "ACC105"}
"""Errors about wrong results of this version, which a successful build does not refute."""


@pytest.mark.parametrize("target", list(TARGETS))
def test_no_error_on_a_model_that_builds(
    verdicts: dict[str, dict[str, Any]], found: Lookup, target: str
) -> None:
    for model, verdict in verdicts.items():
        if verdict["parse"] and verdict["build"]:
            errors = {f.rule for f in found(model, target) if f.severity == "error" and not other(f, target)}
            assert errors <= WRONG_RESULTS, (model, errors)


SAME_PARSER = {"11.4", "11.4 L4", "rtx 1.7"}
"""Targets with the parser version of the verdicts."""


def other(finding: Finding, target: str) -> bool:
    """Return whether a finding is a refusal of another parser than the verdicts' parser."""
    return finding.refusal is not None and target not in SAME_PARSER


def test_refusals_are_the_parsers_at_the_node_that_it_names(
    verdicts: dict[str, dict[str, Any]], found: Lookup
) -> None:
    for model, verdict in verdicts.items():
        refusals = [f for f in found(model, "rtx 1.7") if f.refusal is not None]
        parse = [f for f in refusals if f.refusal is not None and f.refusal.stage == "parse"]
        assert bool(parse) == (not verdict["parse"]), model
        if verdict["parse"]:
            assert bool(refusals) == (not verdict["build"]), model
        elif named := verdict["errors"][0]["node_name"]:
            assert named in {site.node for finding in parse for site in finding.sites}, model


def test_a_cause_is_told_once(verdicts: dict[str, dict[str, Any]], found: Lookup) -> None:
    for model in verdicts:
        causes = [(f.rule, f.message) for f in found(model, "rtx 1.7") if f.refusal is not None]
        assert len(causes) == len(set(causes)), model


def test_two_places_never_share_a_fingerprint(reports: dict[str, dict[str, ModelReport]]) -> None:
    for model, by_target in reports.items():
        for report in by_target.values():
            prints = Counter(
                (finding.rule, site.fingerprint)
                for finding in (*report.findings, *report.conditional)
                for site in finding.sites
            )
            assert all(count == 1 for count in prints.values()), model


def test_no_model_fails_to_be_read(reports: dict[str, dict[str, ModelReport]]) -> None:
    assert not [model for model, by_target in reports.items() for r in by_target.values() if r.errors]
