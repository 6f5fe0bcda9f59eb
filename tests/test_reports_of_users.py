"""Tests of the log rules with lines that users reported from 2024 to 2026."""

# ruff: noqa: E501 (lines of logs are quoted whole)

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.test_advice_of_threads import findings
from trtlint.buildfiles.log import read_log

# https://github.com/NVIDIA/Isaac-GR00T/issues/380
EMPTY_ENGINE = (
    "[09/23/2025-16:41:15] [V] [TRT] Compiler backend convergence mode enabled",
    "[09/23/2025-16:41:15] [E] Error[4]: IBuilder::buildSerializedNetworkToStream: Error Code 4: API Usage Error (Dimension mismatch for tensor vit_embeds and profile 0. At dimension axis 1, profile has min=256, opt=512, max=512 but tensor has 256. In validate at optimizer/api/network.cpp:3788)",
    "[09/23/2025-16:41:15] [I] Created engine with size: 0 MiB",
    "[09/23/2025-16:41:15] [I] Engine built in 0.0193608 sec.",
    '[09/23/2025-16:41:15] [E] Assertion failure: false && "Attempting to access an empty engine!"',
)
# https://github.com/NVIDIA/TensorRT/issues/4494
LARGE_MESSAGE = "[libprotobuf WARNING google/protobuf/io/coded_stream.cc:604] Reading dangerously large protocol message.  If the message turns out to be larger than 2147483647 bytes, parsing will be halted for security reasons.  To increase the limit (or to disable these warnings), see CodedInputStream::SetTotalBytesLimit() in google/protobuf/io/coded_stream.h."
NOT_BUILT = "Status Message: TensorRT EP failed to create engine from network."


def test_an_empty_engine_is_no_success(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, *EMPTY_ENGINE)
    assert (finding["rule"], finding["severity"]) == ("LOG135", "error")


def test_a_line_of_both_products_does_not_decide(tmp_path: Path) -> None:
    (tmp_path / "build.log").write_text(f"{EMPTY_ENGINE[0]}\n", "utf-8")
    with (tmp_path / "build.log").open("rb") as file:
        assert read_log(file).settings.product is None


def test_the_calibration_cache_tells_the_release(tmp_path: Path) -> None:
    line = "[I] [TRT] Writing Calibration Cache for calibrator: TRT-101100-EntropyCalibration2"
    (tmp_path / "build.log").write_text(f"{line}\n", "utf-8")
    with (tmp_path / "build.log").open("rb") as file:
        settings = read_log(file).settings
    assert (settings.product, settings.version) == ("tensorrt", "10.11.0")


def test_a_warning_of_protobuf_is_no_failure(tmp_path: Path) -> None:
    assert findings(tmp_path, LARGE_MESSAGE) == []


@pytest.mark.parametrize(
    ("line", "rule", "advice"),
    [
        # https://github.com/DerryHub/BEVFormer_tensorrt/issues/100
        (
            'In node 5 (importFallbackPluginImporter): UNSUPPORTED_NODE: Assertion failed: creator && "Plugin not found, are the plugin name, version, and namespace correct?"',
            "LOG103",
            "plugin",
        ),
        # https://github.com/triton-inference-server/server/issues/7950
        ("TensorRT\nerror: creating server: Internal - failed to load all models", "LOG124", "UNAVAILABLE"),
        # https://github.com/frk-tt/yolov9-tensorrt/issues/2
        (
            "[02/27/2024-10:43:17] [E] Error[4]: [graphShapeAnalyzer.cpp::nvinfer1::builder::`anonymous-namespace'::ShapeAnalyzerImpl::analyzeShapes::2013] Error Code 4: Miscellaneous (IShuffleLayer /model/model.38/dfl/Reshape_1: reshape of empty tensor to non-empty tensor. Reshaping [1,1,4,0] to [1,4,0].)",
            "LOG136",
            "--minShapes=x:1x3x320x320",
        ),
        # https://github.com/marcoslucianops/DeepStream-Yolo/issues/589
        (
            "Failed to read image for calibration\nERROR: [TRT]: 1: Unexpected exception _Map_base::at",
            "LOG141",
            "INT8_CALIB_IMG_PATH",
        ),
        # https://github.com/ultralytics/ultralytics/issues/18799
        (
            "      RuntimeError: TensorRT does not currently build wheels for Tegra systems",
            "LOG196",
            "python3-libnvinfer",
        ),
        # https://github.com/onnx/onnx-tensorrt/issues/982
        (
            f"Non-zero status code returned while running TRTKernel_graph_torch_jit_1_0 node. Name:'TensorrtExecutionProvider_TRTKernel_graph_torch_jit_1_0_0' {NOT_BUILT}",
            "LOG142",
            "TensorRT's builder failed",
        ),
        # https://github.com/NVIDIA/TensorRT-RTX/issues/8
        (
            "[ERROR] IBuilderConfig::setDeviceType: Error Code 3: API Usage Error (Parameter check failed, condition: (layer) != nullptr. )",
            "LOG124",
            "Check the result of the parser",
        ),
        # https://github.com/laugh12321/TensorRT-YOLO/issues/170
        (
            "[06/05/2025-11:05:37] [E] Error[9]: Error Code: 9: Skipping tactic 0x0000000000000000 due to exception Assertion pluginUtils::isSuccess(status) failed. \n[06/05/2025-11:05:37] [E] Error[10]: IBuilder::buildSerializedNetwork: Error Code 10: Internal Error (Could not find any implementation for node /model.23/EfficientIdxNMS_TRT.)",
            "LOG105",
            "Compile the plugin library for this GPU",
        ),
        # https://github.com/NVIDIA/TensorRT/issues/4845, with the number of a tactic
        (
            "&&&& RUNNING TensorRT.trtexec [TensorRT v101600] # trtexec --onnx=a.onnx\n[E] Error Code: 9: Skipping tactic 0x1 due to exception Cask Pooling Runner Execute Failure\n[E] Error Code 10: Internal Error (Could not find any implementation for node MaxPool_0.)",
            "LOG105",
            "CUDA_VISIBLE_DEVICES",
        ),
        # https://github.com/NVIDIA/TensorRT/issues/3953
        (
            "[I] TensorRT version: 10.1.0\n[E] [builder.cpp::buildSerializedNetwork::858] Error Code 2: Internal Error (Assertion mConfig.caskKlibMapPtr failed. )",
            "LOG124",
            "10.2 and newer",
        ),
        # The excerpt of a log ends within the message.
        (
            "[I] TensorRT version: 10.1.0\n[E] IBuilder::buildSerializedNetwork: Error Code 10: Inte",
            "LOG124",
            "If the log ends here",
        ),
    ],
)
def test_remedy_of_the_report(tmp_path: Path, line: str, rule: str, advice: str) -> None:
    (finding,) = findings(tmp_path, line)
    assert finding["rule"] == rule
    assert advice in json.dumps(finding, ensure_ascii=False)


def test_a_plugin_that_fails_needs_no_other_type(tmp_path: Path) -> None:
    lines = (
        "[E] Error[9]: Error Code: 9: Skipping tactic 0x0000000000000000 due to exception Assertion pluginUtils::isSuccess(status) failed. ",
        "[E] Error[10]: IBuilder::buildSerializedNetwork: Error Code 10: Internal Error (Could not find any implementation for node /model.23/EfficientIdxNMS_TRT.)",
    )
    (finding,) = findings(tmp_path, *lines)
    assert "another type" not in json.dumps(finding)


@pytest.mark.parametrize("banner", ["v8601", "v100300", "v110200"])
def test_a_failed_runner_has_advice_for_every_release(tmp_path: Path, banner: str) -> None:
    lines = (
        f"&&&& RUNNING TensorRT.trtexec [TensorRT {banner}] # trtexec --onnx=a.onnx",
        "[E] Error Code: 9: Skipping tactic 0x1 due to exception Cask Pooling Runner Execute Failure",
        "[E] Error Code 10: Internal Error (Could not find any implementation for node MaxPool_1.)",
    )
    (finding,) = findings(tmp_path, *lines)
    assert finding["rule"] == "LOG105"
    assert "Run the layer in another type" in json.dumps(finding)


def test_a_message_that_ends_after_its_reason_keeps_its_advice(tmp_path: Path) -> None:
    line = "[E] Error Code 3: API Usage Error (Parameter check failed at: runtime/api/executionContext.cpp::setInputShape"
    (finding,) = findings(tmp_path, line)
    assert "If the log ends here" not in json.dumps(finding)


def test_a_skipped_tactic_alone_does_not_prove_a_failure(tmp_path: Path) -> None:
    line = "[10/02/2024-16:32:50] [E] [TRT] Error Code: 9: Skipping tactic 0xaa15e43058248292 due to exception canImplement1"
    (finding,) = findings(tmp_path, line)
    assert "the log does not show an engine, but a failed tactic" in finding["message"]
