"""Tests of the message, layer and build fields that build rules need."""

# ruff: noqa: E501 (lines of logs are quoted whole)

from __future__ import annotations

import json

import pytest

from tests.facts.builds import facts_of_build
from trtlint.buildfiles.plan import PlanHeader
from trtlint.engine.evidence.build import BuildEvidence
from trtlint.facts.of_build.build import BuildFact, _release
from trtlint.facts.of_build.layer import LayerFact, asked_type, layer_types
from trtlint.facts.of_build.log_message import LogMessage

WORKSPACE = "[06/07/2022-19:05:53] [W] [TRT] Skipping tactic 0 due to insuficient memory on requested size of 29147520 detected for tactic 0.\n"
FAILED = "[06/07/2022-19:05:53] [E] [TRT] Error Code 10: Internal Error (Could not find any implementation for node conv1.)\n"


def messages(log: str, name: str) -> list[LogMessage]:
    return [
        fact
        for fact in facts_of_build(log=log).of("log_message")
        if isinstance(fact, LogMessage) and fact.name == name
    ]


def layers(text: str, log: str | None = None) -> list[LayerFact]:
    return [fact for fact in facts_of_build(log=log, layers=text).of("layer") if isinstance(fact, LayerFact)]


def test_the_cause_of_a_failure_is_said_above_it() -> None:
    (failure,) = messages(WORKSPACE + FAILED, "no_implementation")
    assert failure.cause is not None
    assert "insuficient memory" in failure.cause
    (failure,) = messages(FAILED + WORKSPACE, "no_implementation")
    assert failure.cause is None


def test_what_was_said_of_another_layer_is_no_cause() -> None:
    first = "[06/07/2022-19:05:53] [V] [TRT] =============== Computing costs for conv0\n"
    second = first.replace("conv0", "conv1")
    (failure,) = messages(first + WORKSPACE + second + FAILED, "no_implementation")
    assert failure.cause is None
    (failure,) = messages(second + WORKSPACE + FAILED, "no_implementation")
    assert failure.cause is not None


def test_the_operator_at_which_the_parser_stopped() -> None:
    log = (
        '[E] ModelImporter.cpp:138: While parsing node number 0 [MyOp -> "z"]:\n'
        "[E] ModelImporter.cpp:151: ERROR: onnxOpCheckers.cpp:998 In function checkFallbackPluginImporter:\n"
        '[6] creator && "Plugin not found, are the plugin name, version, and namespace correct?"\n'
    )
    (missing,) = messages(log, "plugin_not_found")
    assert missing.op == "MyOp"
    assert messages(FAILED, "no_implementation")[0].op is None


def test_a_message_that_means_two_things_is_not_alone() -> None:
    log = "[E] 4: [network.cpp::validate::3062] Error Code 4: Internal Error (Network has dynamic or shape inputs, but no optimization profile has been defined.)\n"
    assert [fact.alone for fact in messages(log, "api_error")] == [False]
    other = "[E] ILayer::setOutputType: Error Code 3: API Usage Error (Parameter check failed.)\n"
    (error,) = messages(other, "api_error")
    assert error.alone
    assert error.groups["what"] == "Parameter check failed."


def test_a_specific_cause_leads_the_general_entries_of_its_line() -> None:
    log = (
        "[E] [TRT] ModelImporter.cpp:732: ERROR: builtin_op_importers.cpp:1235 In function QuantDequantLinearHelper:\n"
        '[6] Assertion failed: shiftIsAllZeros(zeroPoint) && "zeroPt must be all zeros"\n'
    )
    (general,) = messages(log, "parser_error")
    (specific,) = messages(log, "quantization_refused")
    assert general.echo
    assert specific.leads
    assert not specific.echo
    (alone,) = messages(log.replace("shiftIsAllZeros(zeroPoint)", "other"), "parser_error")
    assert not alone.echo


def test_a_refusal_that_only_names_its_node_repeats_the_error_beside_it() -> None:
    invalid = "In node 534 (parseGraph): INVALID_NODE: Invalid Node - If_534\n"
    error = "[TRT] [E] If_534_OutputLayer: IIfConditionalOutputLayer inputs must have the same shape.\n"
    (refusal,) = messages(error + invalid, "network_refused")
    assert refusal.echo
    (refusal,) = messages("[TRT] [E] Something else failed.\n" + invalid, "network_refused")
    assert not refusal.echo


def test_the_weight_that_overflows_is_named_above() -> None:
    log = (
        "[01/27/2023-17:29:57] [TRT] [W] Weights [name=conv.weight] had the following issues when converted to FP16:\n"
        "[01/27/2023-17:29:57] [TRT] [W]  - Finite FP32 values which would overflow in FP16 detected.  Converting to closest finite FP16 value.\n"
    )
    assert [fact.named for fact in messages(log, "weights_overflow")] == [("conv.weight",)]


def test_the_modules_of_named_nodes() -> None:
    log = (
        "[V] Found /layers.0/norm/Sub to be part of layer norm pattern.\n"
        "[V] Found /layers.0/norm/Pow to be part of layer norm pattern.\n"
        "[V] Found ln to be part of layer norm pattern.\n"
        "[W] Detected layernorm nodes in FP16.\n"
    )
    assert messages(log, "norm_fp16")[0].modules == ("/layers.0/norm", "ln")


COMMAND = "&&&& RUNNING TensorRT.trtexec [TensorRT v101601] [b11] # trtexec --onnx=m.onnx {} --fp16\n"


@pytest.mark.parametrize(
    ("option", "names", "asked"),
    [
        ("--layerPrecisions=/norm/Pow:fp32,/a:fp16", ["/norm/Pow"], "f32"),
        ("--layerPrecisions=/norm/Pow:fp32,/a:fp16", ["/b", "/a"], "f16"),
        ('--layerPrecisions="/norm/*:fp32,*:fp16"', ["/norm/Sub"], "f32"),
        ("--layerPrecisions=*:fp32", ["/a"], None),
        ("--layerPrecisions=/a*:int8,/a/b*:bf16", ["/a/b/c"], "bf16"),
        ("--layerPrecisions=/a/b*:bf16,/a*:int8", ["/a/b/c"], "i8"),  # the later one counts
        ("--layerPrecisions=*/Pow:fp32", ["/norm/Pow"], "f32"),
        ("--layerPrecisions=/a:fp12", ["/a"], None),
        ("--layerPrecisions=/a:fp16 --layerPrecisions=/a:fp32", ["/a"], "f32"),
        ("", ["/a"], None),
    ],
)
def test_the_type_that_a_layer_was_asked_for(option: str, names: list[str], asked: str | None) -> None:
    assert asked_type(layer_types(COMMAND.format(option)), names) == asked


@pytest.mark.parametrize(
    ("name", "tactic", "fused"),
    [
        ("_gemm_mha_v2_myl0_1", "", True),
        ("__mha_myl1_2", "", True),
        ("kernel", "fmha_v2_flash_attention", True),
        ("/encoder/mha/out_proj/Gemm", "sm80_xmma_gemm_f16f16", False),
        ("mha.out_proj", "", False),
    ],
)
def test_a_fused_attention_kernel(name: str, tactic: str, fused: bool) -> None:
    layer = {"Name": name, "LayerType": "CaskGemm", "TacticName": tactic}
    (found,) = layers(json.dumps({"Layers": [layer]}))
    assert (found.attention, found.family == "attention") == (fused, fused)


def test_a_layer_knows_what_was_asked_of_its_nodes() -> None:
    log = COMMAND.format("--layerPrecisions=/norm/Pow:fp32")
    found = layers('{"Layers": ["/norm/Sub + /norm/Pow", "/norm/Add"]}', log)
    assert [layer.asked for layer in found] == ["f32", None]


def test_the_ends_of_an_engine_whose_file_does_not_list_them() -> None:
    tensor = '[{{"Name": "{}"}}]'.format
    text = ", ".join(
        f'{{"Name": "{name}", "LayerType": "Reformat", "Inputs": {tensor(read)}, "Outputs": {tensor(written)}}}'
        for name, read, written in [("first", "x", "a"), ("middle", "a", "b"), ("last", "b", "y")]
    )
    ends = [(layer.reads_network_input, layer.writes_network_output) for layer in layers(f"[{text}]")]
    assert ends == [(True, False), (False, False), (False, True)]


@pytest.mark.parametrize(
    ("version", "release"), [("10.7.0", (10, 7)), ("8.6", (8, 6)), ("10", None), ("x.y", None), (None, None)]
)
def test_the_release_of_an_engine(version: str | None, release: tuple[int, int] | None) -> None:
    assert _release(version) == release


def test_the_header_of_an_engine_is_a_fact_of_the_build() -> None:
    from trtlint.buildfiles.record import FileContents, together
    from trtlint.facts.facts import Facts

    build = together([FileContents("m.plan", PlanHeader("tensorrt", "10.7.0"))])
    (fact,) = Facts(None, evidence=[BuildEvidence(build)]).of("build")
    assert isinstance(fact, BuildFact)
    assert (fact.plan_version, fact.plan_release) == ("10.7.0", (10, 7))
