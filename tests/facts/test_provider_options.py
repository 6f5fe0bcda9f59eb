"""Tests of facts about the options of TensorRT providers."""

from __future__ import annotations

import onnx
import onnx.parser
import pytest

import trtlint
from trtlint.knowledge.providers import PROVIDERS, provider_options

MODEL = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[N,3] x) => (float[N,3] y) { y = Relu (x) }
"""
CLASS = {"tensorrt": "TensorrtExecutionProvider", "nv-tensorrt-rtx": "NvTensorRTRTXExecutionProvider"}


def rules_of(command: str, **target: str) -> set[str]:
    """Return the provider rules that fire."""
    model = onnx.parser.parse_model(MODEL)
    (report,) = trtlint.lint(model, command=command, preview=True, **target).models  # type: ignore[arg-type]
    return {finding.rule for finding in report.findings if finding.rule.startswith("ORT")}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_misspelt_option_is_reported(provider: str) -> None:
    """One session has all misspelt options, which needs one lint."""
    names = provider_options(provider)
    text = ", ".join(f'"{name}_x": "1"' for name in names)
    model = onnx.parser.parse_model(MODEL)
    command = f'{{"{CLASS[provider]}": {{{text}}}}}'
    (report,) = trtlint.lint(model, command=command).models
    (finding, *more) = [each for each in report.findings if each.rule == "ORT101"]
    places = {site.node for each in (finding, *more) for site in each.sites}
    assert places == {f"{name}_x" for name in names}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_wrong_value_is_reported(provider: str) -> None:
    """Text is wrong for every option except text and path options."""
    options = provider_options(provider)
    text = ", ".join(f'"{name}": "perhaps"' for name in options)
    model = onnx.parser.parse_model(MODEL)
    (report,) = trtlint.lint(model, command=f'{{"{CLASS[provider]}": {{{text}}}}}').models
    found = [each for each in report.findings if each.rule == "ORT102"]
    places = {site.node for each in found for site in each.sites}
    assert places == {name for name, option in options.items() if option.kind not in {"text", "path"}}


def test_a_complete_session_is_silent() -> None:
    options = (
        '"trt_engine_cache_enable": "1", "trt_timing_cache_enable": "1", "trt_profile_min_shapes": "x:1x3", '
        '"trt_profile_opt_shapes": "x:4x3", "trt_profile_max_shapes": "x:8x3"'
    )
    assert rules_of(f'{{"TensorrtExecutionProvider": {{{options}}}}}', trt="10.9") == set()


def test_precision_options_of_tensorrt_11() -> None:
    command = '{"TensorrtExecutionProvider": {"trt_fp16_enable": "1"}}'
    assert "ORT104" in rules_of(command, trt="11.4")
    assert "ORT104" not in rules_of(command, trt="10.9")


def test_options_of_the_other_provider() -> None:
    assert "ORT101" in rules_of('{"NvTensorRTRTXExecutionProvider": {"trt_fp16_enable": "1"}}', rtx="1.7")


SERVED = (
    'max_batch_size: 0 input { name: "image" data_type: TYPE_FP32 dims: [ -1, 3 ] } '
    "optimization { execution_accelerators { gpu_execution_accelerator: [ { "
    'name: "tensorrt" parameters { key: "minimum_segment_size" value: "3" } } ] } }'
)


@pytest.mark.parametrize(
    ("backend", "expected"),
    [("onnxruntime", {"TRI101", "ORT101"}), ("python", set()), ("tensorflow", set()), ("pytorch", set())],
)
def test_configurations_of_other_backends_are_not_about_the_model(backend: str, expected: set[str]) -> None:
    model = onnx.parser.parse_model(MODEL)
    (report,) = trtlint.lint(model, command=f'backend: "{backend}" {SERVED}', trt="10.9").models
    found = {finding.rule for finding in report.findings}
    assert {rule for rule in found if rule in ("TRI101", "ORT101")} == expected
    if backend != "onnxruntime":
        assert not any(rule.startswith("TRI") for rule in found)
