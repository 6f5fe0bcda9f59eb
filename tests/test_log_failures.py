"""Tests of logs with one failure: the log gives one error, with the advice for its cause."""

# ruff: noqa: E501 (lines of logs are quoted whole)

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.inprocess import printed

NO_DRIVER = "[E] [checkMacros.cpp::catchCudaError::250] Error Code 1: Cuda Runtime (In catchCudaError at /_src/common/dispatch/checkMacros.cpp:250 (cudaError 35: CUDA driver version is insufficient for CUDA runtime version))"
WINDOW = "ILRNLayer::setWindowSize: Error Code 3: API Usage Error (Parameter check failed, condition: (windowSize >= kLRN_MIN_WINDOW && windowSize <= kLRN_MAX_WINDOW && (windowSize & 0x1)).  In setWindowSizeInternal at /_src/optimizer/api/layers/lrnLayer.h:38)"
ORDER = "[E] IOptimizationProfile::isValid: Error Code 4: API Usage Error (Invalid optimization profiles for input tensors x, please ensure that the optimization profiles satisfy MIN<=OPT<=MAX. In isValid at /_src/optimizer/api/optimizationProfile.cpp:367)"
INVALID = "[E] IBuilderConfig::addOptimizationProfile: Error Code 3: API Usage Error (Parameter check failed, condition: profile->isValid().  In addOptimizationProfile at /_src/optimizer/api/builderConfig.cpp:569)"
NO_PROFILE = "[E] IBuilder::buildSerializedNetwork: Error Code 4: API Usage Error (Network has dynamic or shape inputs, but no optimization profile has been defined. In validate at /_src/optimizer/api/network.cpp:4023)"
SIZES = "[E] IBuilder::buildSerializedNetwork: Error Code 4: API Usage Error (Dimension mismatch for tensor x and profile 0. At dimension axis 3, profile has min=9, opt=9, max=9 but tensor has 6. In validate at /_src/optimizer/api/network.cpp:4054)"
RANK = "[E] IBuilder::buildSerializedNetwork: Error Code 4: API Usage Error (Dynamic-shaped input tensor x has 4 dimensions but profile 0 has 3 dimensions. In validate at /_src/optimizer/api/network.cpp:4048)"
WHOLE = "[E] IBuilder::buildSerializedNetwork: Error Code 4: API Usage Error (Input tensor x has static dimensions that don't match kMIN dimensions in profile index 0. Input dimensions are [1,128] but profile dimensions are [1,512]. In operator() at /_src/optimizer/api/network.cpp:4067)"
NO_FILE = "In node -1 with name:  and operator:  (parseFromFile): INVALID_VALUE: Assertion failed: stat(onnxModelFile, &sb) == 0 && S_ISREG(sb.st_mode): Input file cannot be found, or is not a regular file: models/mc3_dynamic.onnx"
FALLBACK = "Add --allowGPUFallback"
# https://github.com/NVIDIA-AI-IOT/jetson_dla_tutorial/issues/3
SWITCHED = "[W] [TRT] Layer '(Unnamed Layer* 277) [Shuffle]' (SHUFFLE): Unsupported on DLA. Switching this layer's device type to GPU."
RUN = "&&&& RUNNING TensorRT.trtexec [TensorRT v{}] # trtexec --onnx=a.onnx {}"


def parser(op: str, node: str, *quoted: str) -> tuple[str, ...]:
    """Return the lines in which Polygraphy prints an error of TensorRT-RTX 1.7.1 without a GPU."""
    named = node or "node_of_y"
    return (
        *(f"[E] {line}\n{NO_DRIVER}" for line in quoted),
        f'[E] ModelImporter.cpp:140: While parsing node number 0 [{op} -> "y"]:',
        "[E] ModelImporter.cpp:142: --- Begin node ---",
        f"    Node name: {node}",
        "[E] ModelImporter.cpp:143: --- End node ---",
        "[E] ModelImporter.cpp:151: ERROR: ModelImporter.cpp:473 In function parseNode:",
        f"    [6] Invalid Node - {named}",
        *(f"    {line}\n    {NO_DRIVER[4:]}" for line in quoted),
        f"[E] In node 0 with name: {node} and operator: {op} (parseNode): INVALID_NODE: Invalid Node - {named}",
        *(f"    {line}\n    {NO_DRIVER[4:]}" for line in quoted),
        "[!] Could not parse ONNX correctly",
    )


MATMUL = "ITensor::getDimensions: Error Code 4: API Usage Error (/fc/MatMul: last dimension of input0 = 7 and second to last dimension of input1 = 8 but must match. In validate at /_src/optimizer/api/layers/matrixMultiplyLayer.cpp:192)"
TYPES = "ITensor::getDimensions: Error Code 4: API Usage Error (/attn/Add: ElementWiseOperation SUM must have same input types. But they are of types Half and Float. In validateTypes at /_src/optimizer/common/nodes/elementWiseNode.cpp:40)"
SYMBOLIC = "[graphShapeAnalyzer.cpp::getSymbolicValue::1383] Error Code 2: Internal Error (Assertion isDefined(it->second) failed. value should have been set by symbolic execution of producer. In getSymbolicValue at /_src/optimizer/shapeof/graphShapeAnalyzer.cpp:1383)"


def findings(folder: Path, *lines: str) -> list[dict[str, Any]]:
    """Lint a log and return its findings."""
    (folder / "build.log").write_text("\n".join([*lines, ""]), "utf-8")
    out = printed(folder, "--isolated", "--no-cache", "--format", "json", "build.log").out
    return [each for model in json.loads(out)["models"] for each in model["findings"]]


@pytest.mark.parametrize(
    ("lines", "rule", "message", "advice"),
    [
        # The DLA: https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/dla-runtime-configuration.html
        (
            (
                "[TensorRT] ERROR: Default DLA is enabled but layer (Unnamed Layer* 79) [Shuffle] is not supported on DLA and falling back to GPU is not enabled.",
                "[TensorRT] ERROR: Network validation failed.",
            ),
            "LOG132",
            "because of (Unnamed Layer* 79) [Shuffle]",
            FALLBACK,
        ),
        (
            (
                "[E] Error[9]: [standardEngineBuilder.cpp::isValidDLAConfig::2189] Error Code 9: Internal Error (Default DLA is enabled but layer /model.24/Pow is not supported on DLA and falling back to GPU is not enabled.)",
                "[E] Engine could not be created from network",
            ),
            "LOG132",
            "because of /model.24/Pow",
            FALLBACK,
        ),
        (
            (
                "[E] Error Code 2: Internal Error (Assertion allowGPUFallback failed. Layer '644' is not supported on DLA but GPU fallback is not enabled.)",
                "[E] Error[4]: [network.cpp::validate::3062] Error Code 4: Internal Error (DLA validation failed)",
            ),
            "LOG132",
            "because of 644",
            FALLBACK,
        ),
        (
            (
                RUN.format("100300", "--useDLACore=0 --buildDLAStandalone"),
                "[E] Error Code 2: Internal Error (Assertion allowGPUFallback failed. Layer '/a/Shape' is not supported on DLA but GPU fallback is not enabled.)",
            ),
            "LOG132",
            "because of /a/Shape",
            "remove --buildDLAStandalone",
        ),
        # Files: https://github.com/onnx/onnx-tensorrt/blob/main/ModelImporter.cpp
        (
            (f"[08/17/2025-20:09:54] [E] Error[3]: {NO_FILE}", "[08/17/2025-20:09:54] [E] Failed to parse onnx file"),
            "LOG141",
            "a file cannot be read: models/mc3_dynamic.onnx",
            "Check the path",
        ),
        (
            ("[W] Model path does not exist: m.onnx", f"[E] {NO_FILE}", f"[E] {NO_FILE}", "[!] Could not parse ONNX correctly"),
            "LOG141",
            "a file cannot be read: models/mc3_dynamic.onnx",
            "Check the path",
        ),
        (
            (
                "[E] In node -1 with name:  and operator:  (parseFromFile): MODEL_DESERIALIZE_FAILED: Assertion failed: ParseFromFileAsBinary(&mOnnxModel, onnxModelFile): Cannot read from input file: a b.onnx",
            ),
            "LOG141",
            "a file cannot be read: a b.onnx",
            "truncated download",
        ),
        # Profiles
        ((SIZES,), "LOG135", "At dimension axis 3", "dimension 3 of the input x has the fixed size 6"),
        ((RANK,), "LOG135", "x has 4 dimensions", "Give 4 sizes"),
        ((WHOLE,), "LOG135", "static dimensions", "The input x has the fixed shape [1,128]"),
        # https://github.com/NVIDIA/TensorRT/issues/939
        (
            ("ERROR: [TRT]: input_1: number of dimensions is 4 but profile 0 has 3",),
            "LOG135",
            "input_1",
            "The input input_1 has 4 dimensions",
        ),
        (
            (
                "ERROR: [TRT]: input_1: for dimension number 1 in profile 0 does not match network definition (got min=100, opt=1024, max=4096), expected min=opt=max=1024)",
            ),
            "LOG135",
            "input_1",
            "dimension 1 of the input input_1 has the fixed size 1024",
        ),
        (
            (
                "[TRT] [E] Error Code 4: Internal Error (pos: kMIN dimensions in profile 0 are [1,1024,3] but input has static dimensions [1,3500,3].)",
            ),
            "LOG135",
            "pos: kMIN",
            "The input pos has the fixed shape [1,3500,3]",
        ),
        # https://github.com/jamjamjon/usls/issues/180
        (
            (
                "[E] Error[3]: IBuilder::buildSerializedNetwork: Error Code 3: API Usage Error (Parameter check failed, condition: dims.d[i] == profileDim. images: profile 0 has min=1920, opt=1920, max=1920 but tensor has 1008.)",
                "[E] Error[4]: IBuilder::buildSerializedNetwork: Error Code 4: Internal Error (images: for dimension number 2 in profile 0 does not match network definition (got min=1920, opt=1920, max=1920), expected min=opt=max=1008).)",
            ),
            "LOG135",
            "but tensor has 1008",
            "a dimension of the input images has the fixed size 1008",
        ),
        ((ORDER, NO_DRIVER, INVALID, NO_DRIVER, NO_PROFILE), "LOG135", "the profile is invalid", "In every dimension of x"),
        # https://github.com/NVIDIA/Stable-Diffusion-WebUI-TensorRT/pull/57
        (
            (
                "[E] 4: Specified optimization profiles must satisfy MIN<=OPT<=MAX.",
                "[!] Profile is not valid, please provide profile data.",
                "    Note: profile was: {x [min=[4, 3], opt=[2, 3], max=[8, 3]]}",
            ),
            "LOG135",
            "the profile is invalid",
            "the minimum must not be above the optimum",
        ),
        # https://github.com/NVIDIA/TensorRT/blob/main/samples/common/sampleEngines.cpp
        (
            (
                "[E] Error[4]: [optimizationProfile.cpp::isValid::111] Error Code 4: Internal Error (Specified optimization profiles must satisfy MIN<=OPT<=MAX.)",
                "[E] Required optimization profile is invalid",
                "[E] Network And Config setup failed",
            ),
            "LOG135",
            "the profile is invalid",
            "the minimum must not be above the optimum",
        ),
        # The parser, with TensorRT-RTX 1.7.1 without a GPU
        (parser("MatMul", "/fc/MatMul", MATMUL), "LOG102", "stopped at MatMul /fc/MatMul: ", "input shapes of this node"),
        (parser("LRN", "", WINDOW), "LOG102", "stopped at LRN y: Parameter check failed", "Lint the model"),
        (parser("Reshape", "", SYMBOLIC), "LOG102", "stopped at Reshape y: ", "Lint the model"),
        (parser("Add", "/attn/Add", TYPES), "LOG102", "stopped at Add /attn/Add: ", "Insert a Cast"),
        # A wrong call is the reason, not the missing GPU.
        ((f"[E] {WINDOW}", NO_DRIVER), "LOG124", "windowSize", ""),
        ((NO_DRIVER,), "LOG127", "error 35", "Update the driver"),
        # Polygraphy
        (("[E] Unrecognized Options: ['m/a.onnx']",), "LOG178", "unknown arguments: 'm/a.onnx'", "TOOL --help"),
        (
            (
                "[!] One or more runners was specified, but no model file was provided. Make sure you've specified the model path, and also that it's not being consumed as an argument for another parameter",
            ),
            "LOG178",
            "no model file was provided",
            "directly after the name of the tool",
        ),
        (
            (
                "[!] Module: 'tensorrt_rtx' is required but could not be imported.",
                "    Note: Error was: No module named 'tensorrt_rtx'",
                "    You can set POLYGRAPHY_AUTOINSTALL_DEPS=1 in your environment variables to allow Polygraphy to automatically install missing modules.",
            ),
            "LOG178",
            "tensorrt_rtx",
            "pip install tensorrt-rtx-cu12",
        ),
        (("ModuleNotFoundError: No module named 'tensorrt_rtx'",), "LOG143", "tensorrt_rtx", "pip install tensorrt-rtx "),
        # Options of trtexec
        ((RUN.format("110000", "--fp16"), "[E] Unknown option: --fp16 "), "LOG154", "--fp16", "trtlint convert --to fp16"),
        (
            (
                RUN.format("100300", "--workspace=4096"),
                "[E] Unknown option: --workspace 4096",
                "=== Model Options ===",
                "  --onnx=<file>               ONNX model",
            ),
            "LOG154",
            "--workspace",
            "TensorRT 10.0 removed --workspace from trtexec. Replacement: --memPoolSize=workspace:",
        ),
        ((RUN.format("100001", "--int4"), "[E] Unknown option: --int4"), "LOG154", "--int4", "TensorRT 10.1 adds --int4"),
        (("[E] Unknown option: --saveEngin a.engine",), "LOG154", "--saveEngin", "Write --saveEngine."),
        (("[E] Unknown option: --unheard",), "LOG154", "--unheard", "Remove the option"),
    ],
)  # fmt: skip
def test_one_failure_gives_one_error(
    tmp_path: Path, lines: tuple[str, ...], rule: str, message: str, advice: str
) -> None:
    (finding,) = findings(tmp_path, *lines)
    assert (finding["rule"], finding["severity"]) == (rule, "error")
    assert message in finding["message"]
    assert advice in " ".join(finding["advice"])


def test_a_type_mismatch_is_no_problem_of_shapes(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, *parser("Add", "/attn/Reshape_add", TYPES))
    assert not any("input shapes" in each for each in finding["advice"])


def test_usage_text_is_no_part_of_an_error(tmp_path: Path) -> None:
    (finding,) = findings(
        tmp_path, "[E] Unknown option: --workspace 4096", "=== Model Options ===", "  --onnx"
    )
    assert finding["evidence"] == ["build.log:1: Unknown option: --workspace 4096"]


@pytest.mark.parametrize("fallback", [False, True])
def test_other_layers_of_a_failed_build_for_the_dla(tmp_path: Path, fallback: bool) -> None:
    stopped = "[E] Error Code 9: Internal Error (Default DLA is enabled but layer /model.24/Pow is not supported on DLA and falling back to GPU is not enabled.)"
    found = {each["rule"]: each for each in findings(tmp_path, SWITCHED, *(() if fallback else (stopped,)))}
    assert found.keys() == ({"LOG131"} if fallback else {"LOG131", "LOG132"})
    words = (
        "layers run on the GPU instead of the DLA" if fallback else "the DLA does not support these layers"
    )
    assert found["LOG131"]["message"] == f"{words}: (Unnamed Layer* 277) [Shuffle]"
    assert any("At every switch" in each for each in found["LOG131"]["advice"]) is fallback


def test_cuda_fails_in_another_run(tmp_path: Path) -> None:
    lines = (RUN.format("100300", ""), NO_DRIVER, RUN.format("100300", ""), *parser("LRN", "", WINDOW))
    assert {each["rule"] for each in findings(tmp_path, *lines)} == {"LOG102", "LOG127"}
