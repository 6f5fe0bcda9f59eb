"""Tests of log rules with lines from threads that name the cause of a failure."""

# ruff: noqa: E501 (lines of logs are quoted whole)

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.inprocess import printed

BAD_CACHE = (
    "[2023-12-25 12:50:15][Error][TRT] 1: [stdArchiveReader.cpp::nvinfer1::rt::StdArchiveReader::StdArchiveReaderInitCommon::36] Error Code 1: Serialization (Serialization assertion magicTagRead == kMAGIC_TAG failed.Magic tag does not match)",
    "[2023-12-25 12:50:15][Error][TRT] 4: The timing cache will not be used!",
)
NO_ROUND = (
    "[02/03/2022-06:14:51] [E] [TRT] 3: getPluginCreator could not find plugin: Round version: 1",
    '[02/03/2022-06:14:51] [E] [TRT] ModelImporter.cpp:720: While parsing node number 12 [If -> "cond:0"]:',
    "[02/03/2022-06:14:51] [E] [TRT] ModelImporter.cpp:726: ERROR: builtin_op_importers.cpp:4643 In function importFallbackPluginImporter:",
    '[8] Assertion failed: creator && "Plugin not found, are the plugin name, version, and namespace correct?"',
)
# https://github.com/NVIDIA-ISAAC-ROS/isaac_ros_common/issues/223
LITTLE_MEMORY = (
    "[11/26/2025-05:51:59] [TRT] [W] Tactic Device request: 143MB Available: 112MB. Device memory is insufficient to use tactic.",
    "[11/26/2025-05:51:59] [TRT] [W] UNSUPPORTED_STATE: Skipping tactic 0 due to insufficient memory on requested size of 150405120 detected for tactic 0x0000000000000009.",
    # The excerpt of the first thread has no complete line of the failure. This line comes from
    # https://github.com/NVIDIA-AI-IOT/Lidar_AI_Solution/issues/34
    "[05/24/2023-16:26:52] [E] Error[10]: [optimizer.cpp::computeCosts::1855] Error Code 10: Internal Error (Could not find any implementation for node ConvTranspose_56 + BatchNormalization_57 + Relu_58.)",
)
WRONG_KEY = (
    "[ERROR] ModelImporter.cpp:735: Failed to parse ONNX model from file: /tmp/file4IbqiP",
    "[ERROR] Failed to parse the model, please check the encoding key to make sure it's correct",
)
NO_PROFILE_OF_PART = (
    "terminate called after throwing an instance of 'Ort::Exception'",
    "  what():  User needs to provide all the dynamic shape inputs with associated profiles if they want to explicitly set profiles through provider options. Following input(s) has no associated shape profiles provided: /rpn/Squeeze_2_output_0",
)
NO_TF_TRT = (
    "2021-06-17 20:18:13.799235: W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not load dynamic library 'libnvinfer.so.7'; dlerror: libnvrtc.so.11.1: cannot open shared object file: No such file or directory; LD_LIBRARY_PATH: /usr/local/cuda/lib64",
    "2021-06-17 20:18:13.799292: F tensorflow/compiler/tf2tensorrt/stub/nvinfer_stub.cc:49] getInferLibVersion symbol not found.",
    "Aborted (core dumped)",
)


OTHER_CACHE = (
    "[E] 1: [stdArchiveReader.cpp::nvinfer1::rt::StdArchiveReader::stdArchiveReaderInitCommon::47] Error Code 1: Serialization (Serialization assertion stdVersionRead == kSERIALIZATION_VERSION failed.Version tag does not match. Note: Current Version: 228, Serialized Engine Version: 224)",
    "[E] 4: The timing cache will not be used!",
)
NO_CONTEXT_MEMORY = (
    "2026-05-01 00:04:05,398 - torch_tensorrt [TensorRT Conversion Context] - ERROR - [defaultAllocator.cpp::allocate::59] Error Code 1: Cuda Runtime (In allocate at /_src/common/dispatch/defaultAllocator.cpp:59)",
    "2026-05-01 00:04:05,398 - torch_tensorrt [TensorRT Conversion Context] - WARNING - Requested amount of GPU memory (149635638784 bytes) could not be allocated. There may not be enough free memory for allocation to succeed.",
    "2026-05-01 00:04:05,399 - torch_tensorrt [TensorRT Conversion Context] - ERROR - [executionContext.cpp::initializeExecutionContext::644] Error Code 2: OutOfMemory (Requested size was 149635638784 bytes.)",
)
OTHER_CUBLAS = (
    "[TensorRT] ERROR: myelin/myelinGraphContext.h (26) - Myelin Error in MyelinGraphContext: 1 (myelinVersionMismatch : Compiled against cuBLAS 11.3.0.0 but running against cuBLAS 11.2.1.0.",
    ")",
    "terminate called after throwing an instance of 'nvinfer1::MyelinError'",
    "  what():  std::exception",
    "Aborted (core dumped)",
)
HOST_POINTERS = (
    "[TRT] [E] IExecutionContext::enqueueV3: Error Code 1: Myelin ([cask.cpp:exec_with_offset:1448] Platform (Cuda) error)",
    "[TRT] [E] IExecutionContext::enqueueV3: Error Code 1: Cuda Runtime (an illegal memory access was encountered)",
)


def report(folder: Path, *lines: str) -> str:
    """Return the report about a log with the given lines, as JSON."""
    (folder / "build.log").write_text("\n".join([*lines, ""]), "utf-8")
    return printed(folder, "--isolated", "--no-cache", "--format", "json", "build.log").out


def findings(folder: Path, *lines: str) -> list[dict[str, Any]]:
    """Return the findings about a log with the given lines after a line that names TensorRT."""
    found: list[dict[str, Any]] = json.loads(report(folder, "TensorRT", *lines))["models"][0]["findings"]
    return found


@pytest.mark.parametrize(
    ("lines", "rules"),
    [
        # https://github.com/NVIDIA/TensorRT/issues/3566
        (BAD_CACHE, {"LOG119"}),
        # https://github.com/phineas-pta/comfy-trt-test/issues/5: the engine works
        (OTHER_CACHE, {"LOG119"}),
        # https://github.com/pytorch/TensorRT/issues/4227: not a missing driver
        (NO_CONTEXT_MEMORY, {"LOG133"}),
        # https://github.com/grimoire/mmdetection-to-tensorrt/issues/124: not LOG125, which gives no reason
        (OTHER_CUBLAS, {"LOG134"}),
        # https://github.com/NVIDIA/TensorRT-LLM/issues/3580
        (HOST_POINTERS, {"LOG128"}),
        # https://github.com/NVIDIA/TensorRT/issues/4690
        (
            (
                "[E] Error[1]: IExecutionContext::enqueueV3: Error Code 1: Myelin ([exec_instruction.cpp:exec:1087] CUDA error 700 launching __myl_MulMeanAddSqrtDivMulMul kernel.)",
                "Cuda failure at ../common/sampleInference.cpp:660: an illegal memory access was encountered",
            ),
            {"LOG128"},
        ),
        # https://github.com/NVIDIA/TensorRT/issues/2202: at the end of the program
        (
            (
                "[TRT] [E] 1: [graphContext.h::~MyelinGraphContext::35] Error Code 1: Myelin (Error 709 destroying stream '0x19d55400'.)",
            ),
            set(),
        ),
        # https://github.com/ack00gar/FunGen-AI-Powered-Funscript-Generator/issues/36
        (("ERROR: TensorRT model exported with a different version than 10.11.0.33",), {"LOG114"}),
        # https://github.com/NVIDIA/TensorRT/issues/1775
        (NO_ROUND, {"LOG103"}),
        # https://github.com/NVIDIA/TensorRT/issues/4343
        (WRONG_KEY, {"LOG186"}),
        # https://github.com/ultralytics/yolov5/issues/8069
        (
            (
                "TensorRT: export failure: 'tensorrt.tensorrt.OnnxParser' object has no attribute 'parse_from_file'",
            ),
            {"LOG143"},
        ),
        # https://github.com/microsoft/onnxruntime/issues/17434
        (NO_PROFILE_OF_PART, {"LOG135"}),
        # https://github.com/tensorflow/tensorflow/issues/50330
        (NO_TF_TRT, {"LOG139"}),
        # https://github.com/NVIDIA/TensorRT/issues/3105
        (
            (
                "[07/03/2023-14:32:48] [TRT] [E] 1: [runner.cpp::execute::386] Error Code 1: Myelin (Final synchronize failed (700))",
            ),
            {"LOG128"},
        ),
        # https://github.com/inducer/pycuda/issues/460
        (
            (
                "[09/12/2024-14:32:23] [TRT] [E] 1: [defaultAllocator.cpp::nvinfer1::internal::DefaultAllocator::deallocate::42] Error Code 1: Cuda Runtime (invalid argument)",
            ),
            {"LOG167"},
        ),
        # https://github.com/marcoslucianops/DeepStream-Yolo/issues/16
        (("WARNING: Num classes mismatch. Configured: 80, detected by network: 0",), {"LOG172"}),
        # https://github.com/xjsxujingsong/FairMOT_TensorRT_C/issues/1
        (
            ("detection.cpp:(.text+0x62): undefined reference to `createNvOnnxParser_INTERNAL'",),
            {"LOG195"},
        ),
        # https://github.com/grimoire/mmdetection-to-tensorrt/issues/45
        (
            ("#assertion/root/space/amirstan_plugin/src/plugin/batchedNMSPlugin/batchedNMSPlugin.cpp,140",),
            {"LOG199"},
        ),
    ],
)
def test_rules(tmp_path: Path, lines: tuple[str, ...], rules: set[str]) -> None:
    assert {each["rule"] for each in findings(tmp_path, *lines)} == rules


@pytest.mark.parametrize(
    ("lines", "expected", "unexpected"),
    [
        (LITTLE_MEMORY, "A larger workspace does not help", "Raise the workspace"),
        (BAD_CACHE, "in binary mode", "from another TensorRT version or GPU"),
        # https://github.com/NVlabs/FoundationStereo/issues/209
        (
            ("RuntimeError: CUDA error code=35(b'cudaErrorInsufficientDriver')",),
            "Update the driver",
            "holds the memory of the GPU",
        ),
        # https://github.com/NVIDIA/TensorRT/issues/2633
        (
            (
                "[E] Error[4]: [network.cpp::validate::2902] Error Code 4: Internal Error (fp16 precision has been set for a layer or layer output, but fp16 is not configured in the builder)",
            ),
            "config.set_flag(trt.BuilderFlag.FP16)",
            "newest release first",
        ),
        # https://github.com/NVIDIA/TensorRT/issues/4174
        (
            (
                "ImportError: DLL load failed while importing tensorrt: The specified module could not be found.",
            ),
            "os.add_dll_directory",
            "Run ldd",
        ),
        # https://github.com/nvidia-holoscan/holohub/pull/512
        (
            ("libgxf_lstm_tensor_rt_inference_lib.so: undefined symbol: initLibNvInferPlugins",),
            "Link nvinfer_plugin",
            "Run ldd",
        ),
        # https://github.com/NVIDIA/TensorRT/issues/4121
        (
            (
                "IPluginRegistry::loadLibrary: Error Code 3: API Usage Error (SymbolAddress for getCreators could not be loaded, check function name against library symbol)",
            ),
            "must export setLoggerFinder and getCreators",
            "LOG124",
        ),
        # https://github.com/NVIDIA/TensorRT/issues/4057
        (
            (
                '[TRT] [E] IExecutionContext::executeV2: Error Code 3: API Usage Error (Parameter check failed, condition: nullPtrAllowed. Tensor "attention_mask" is bound to nullptr, which is allowed only for an empty input tensor, shape tensor, or an output tensor associated with an IOuputAllocator.)',
            ),
            "The buffer of attention_mask is a null pointer",
            "See the documentation of this call",
        ),
        # https://github.com/NVIDIA/Model-Optimizer/issues/118
        (
            (
                "[12/17/2024-08:28:27] [E] Error[9]: Error Code: 9: Skipping tactic 0x0000000000000000 due to exception [type.cpp:infer_type:145] Could not infer output types for operation:    40: quantize: /maxpool/MaxPool_output_0_QuantizeLinear_Output'-(fp8[7,64,192,256][]so[], mem_prop=0) | /maxpool/MaxPool_output_0'-(f32[7,64,192,256][]so[3,2,1,0]p[0,0,0,0], mem_prop=0)",
            ),
            "build with --stronglyTyped",
            "states the reason",
        ),
        # https://github.com/enazoe/yolo-tensorrt/issues/106
        (
            ("fatal error: NvInfer.h: No such file or directory",),
            "Add TensorRT's folder include",
            "The message comes from TensorRT",
        ),
        # https://github.com/triple-mu/YOLOv8-TensorRT/issues/159
        (
            (
                "/YOLOv8-TensorRT/csrc/detect/end2end/include/yolov8.hpp:6:10: fatal error: NvInferPlugin.h: Aucun fichier ou dossier de ce type",
            ),
            "Add TensorRT's folder include",
            "Compare the release",
        ),
        # https://github.com/triton-inference-server/server/issues/4384
        (
            (
                "request specifies invalid shape for input 'images' for yolov5x6_tensorrt. Error details: model expected the shape of dimension 0 to be between 1 and 1 but received 32",
            ),
            "accepts sizes from 1 to 1 in dimension 0 of images",
            "Remove the inputs and outputs",
        ),
        (
            (
                "WARNING: Number of classes mismatch, make sure to set num-detected-classes=4 in config_infer file",
            ),
            "If the model has 4 classes, set num-detected-classes=4",
            "parse-bbox-func-name",
        ),
        # https://github.com/pytorch/TensorRT/issues/1446
        (
            (
                "RuntimeError: [Error thrown at core/runtime/execute_engine.cpp:87] Expected inputs[pyt_idx].is_cuda() to be true but got false",
            ),
            "is on the CPU",
            "Search the issues of",
        ),
        # https://github.com/onnx/onnx-tensorrt/issues/818
        (
            ("[TRT] [E] onnx2trt_utils.cpp:1571: Failed to open file: transformer.wte.weight",),
            "parser.parse_from_file(path)",
            "mounts of a container",
        ),
    ],
)
def test_advice(tmp_path: Path, lines: tuple[str, ...], expected: str, unexpected: str) -> None:
    found = report(tmp_path, "TensorRT", *lines)
    assert expected in found
    assert unexpected not in found


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "main.cpp:(.text+0xf91): undefined reference to `cv::imread(cv::String const&, int)'",
            "the program is not linked with a library that it uses: cv::imread",
        ),
        (
            'a.obj : error LNK2019: unresolved external symbol "public: void __cdecl a::b(int)" (?b@a) referenced in main',
            "the program is not linked with a library that it uses: a::b",
        ),
        (
            'a.obj : error LNK2001: unresolved external symbol "class Logger gLogger" (?gLogger@)',
            "the program is not linked with a library that it uses: gLogger",
        ),
        ("/usr/bin/ld: cannot find -lnvparsers", "the linker does not find a library: nvparsers"),
        (
            "a.cpp(3,10): fatal error C1083: Cannot open include file: 'NvInfer.h': No such file or directory",
            "the compiler does not find a header: NvInfer.h",
        ),
        (
            "a.cpp:3:10: fatal error: 'NvInfer.h' file not found",
            "the compiler does not find a header: NvInfer.h",
        ),
        (
            "a.cpp:3:10: fatal error: opencv2/opencv.hpp: No such file or directory",
            "the compiler does not find a header: opencv2/opencv.hpp",
        ),
        (
            "a.cpp:9:5: error: cannot declare variable 'x' to be of abstract type 'Plugin'",
            "the source code does not match the installed headers: a.cpp:9:5: error: cannot declare variable 'x' to be of abstract type 'Plugin'",
        ),
        (
            "a.cpp:9:5: error: expected ';' before 'return'",
            "the source code does not compile: a.cpp:9:5: error: expected ';' before 'return'",
        ),
    ],
)
def test_messages_about_programs_that_do_not_compile(tmp_path: Path, line: str, message: str) -> None:
    (finding,) = findings(tmp_path, line)
    assert (finding["rule"], finding["message"]) == ("LOG195", message)


@pytest.mark.parametrize(
    "error",
    [
        "class 'nvinfer1::ICudaEngine' has no member named 'getNbBindings'",
        'class "nvinfer1::ICudaEngine" has no member "getNbBindings"',
        "no member named 'getNbBindings' in 'nvinfer1::ICudaEngine'",
        "'getNbBindings' is not a member of 'nvinfer1::ICudaEngine'",
        "'getNbBindings': is not a member of 'nvinfer1::ICudaEngine'",
    ],
)
def test_the_missing_member_is_named(tmp_path: Path, error: str) -> None:
    out = report(tmp_path, "TensorRT", f"a.cpp:9:5: error: {error}")
    assert "getNbBindings does not exist in the installed release" in out


def test_a_warning_about_classes_does_not_hide_an_error(tmp_path: Path) -> None:
    lines = (
        "WARNING: Num classes mismatch. Configured: 80, detected by network: 2",
        # https://github.com/marcoslucianops/DeepStream-Yolo/issues/640
        "0:00:09.303505002 18243 0xaaaadb449980 ERROR                nvinfer gstnvinfer.cpp:676:gst_nvinfer_logger:<primary_gie> NvDsInferContext[UID 1]: Error in NvDsInferContextImpl::parseBoundingBox() <nvdsinfer_context_impl_output_parsing.cpp:60> [UID = 1]: Could not find output coverage layer for parsing objects",
    )
    found = findings(tmp_path, *lines)
    assert {(each["rule"], each["severity"]) for each in found} == {
        ("LOG172", "error"),
        ("LOG172", "warning"),
    }


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        # https://github.com/LCH1238/bevdet-tensorrt-cpp/issues/31
        (
            "ERROR: [network.cpp::getInput::1888] Error Code 3: API Usage Error (condition: index < getNbInputs())\nSegmentation fault (core dumped)",
            "the parser rejected the model",
        ),
        # https://github.com/NVIDIA/TensorRT/issues/2144
        (
            "[TRT] [E] 2: [caskBuilderUtils.cpp::getCaskHandle::408] Error Code 2: Internal Error (Assertion !isGroupConv || findConvShaderByHandle(klib, caskHandle) failed. )",
            "Delete the timing cache",
        ),
        # https://github.com/NVIDIA/TensorRT-LLM/issues/2386
        (
            "[TRT] [E] IBuilder::buildSerializedNetwork: Error Code 3: API Usage Error (Parameter check failed, condition: !config.getFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS). )",
            "The network is strongly typed",
        ),
        # https://github.com/pytorch/TensorRT/issues/2516 and https://github.com/fabio-sim/LightGlue-ONNX/issues/85
        (
            "[TRT] [E] 1: Unexpected exception vector::_M_range_check: __n (which is 0) >= this->size() (which is 0)",
            "build the engine with an optimization profile",
        ),
        # https://github.com/NVIDIA/TensorRT-Edge-LLM/pull/209
        (
            "[E] IExecutionContext::enqueueV3: Error Code 1: Myelin ([immediate.cpp:exec:156] Custom layer callback with tactic id '0_7' failed. In executeMyelinGraph at runtime/myelin/runner.cpp:778)",
            "A plugin returned an error",
        ),
        # https://github.com/NVIDIA/TensorRT/issues/4210
        (
            "[E] [TRT] ModelImporter.cpp:942: ERROR: onnxOpCheckers.cpp:993 In function checkSequenceEmpty:\n[8] false",
            "the parser does not support the operator SequenceEmpty",
        ),
        # https://github.com/NVIDIA/TensorRT/issues/4738
        (
            "[TRT] [E] ModelImporter.cpp:149: ERROR: onnxOpImporters.cpp:191 In function importAttention:\n[6] Assertion failed: node.output().size() == 1: TensorRT only supports Attention nodes with one output.",
            "If the node has is_causal=1, replace this attribute",
        ),
        # https://github.com/NVIDIA/TensorRT/issues/3688
        (
            "[E] Error[2]: [optimizer.cpp::getFormatRequirements::3154] Error Code 2: Internal Error (Assertion !n->candidateRequirements.empty() failed. No supported formats for /attn/Unsqueeze_1)",
            "no implementation for /attn/Unsqueeze_1: no kernel",
        ),
        # https://github.com/NVIDIA/TensorRT-Edge-LLM/issues/192
        (
            "[ERROR] IBuilder::buildSerializedNetwork: Error Code 1: Internal Error (Not implemented for node type PLUGIN_V3. In removeEmptyProducersFromSubgraph at optimizer/myelin/a.cpp:8)",
            "fails at a plugin with the interface IPluginV3",
        ),
        (
            "[TRT] [E] ModelImporter.cpp:149: ERROR: onnxOpImporters.cpp:191 In function importTRT_FP4DynamicQuantize:\n[6] Assertion failed: scale.shape().nbDims == 0: Scale input must be a scalar",
            "no longer concatenates these scales",
        ),
        # https://github.com/NVIDIA/TensorRT-RTX/issues/26
        (
            "[E] [TRT] INetworkDefinition::addAttention: Error Code 3: API Usage Error (Parameter check failed, condition: mScopedOps.back() == nullptr)",
            "success with 1.3",
        ),
        # https://github.com/NVIDIA/TensorRT/issues/3847
        (
            "&&&& RUNNING TensorRT.trtexec [TensorRT v8502] # trtexec --onnx=m.onnx --int8 --useDLACore=0 --allowGPUFallback\n[E] Error[10]: [optimizer.cpp::computeCosts::3728] Error Code 10: Internal Error (Could not find any implementation for node {ForeignNode[/cnn/cnn.0/Conv]}.)",
            "Build without --useDLACore",
        ),
        # https://github.com/NVIDIA/TensorRT/issues/2190
        (
            "4: [standardEngineBuilder.cpp::engineValidationForSafeDLAMode::1519] Error Code 4: Internal Error (Safe DLA is enabled but not all layers are running on DLA.)",
            "the DLA must support every layer",
        ),
        # https://github.com/DDTRobot/tita_rl_sim2sim2real/issues/7
        (
            "[E] Error[9]: IBuilder::buildSerializedNetwork: Error Code 9: API Usage Error (Target GPU SM 120 is not supported by this TensorRT release.)",
            "TensorRT 10.8 is the first release",
        ),
    ],
)
def test_remedy_of_the_thread(tmp_path: Path, line: str, advice: str) -> None:
    (finding,) = findings(tmp_path, line)
    assert advice in json.dumps(finding)


@pytest.mark.parametrize(("release", "advised"), [("10.0", True), ("10.1", False)])
def test_quantized_constants_of_v3_plugins(tmp_path: Path, release: str, advised: bool) -> None:
    # https://github.com/NVIDIA/TensorRT/issues/3919
    line = "Error[2]: [qdqGraphOptimizer.cpp::matchQuantizedConstantPluginOrDQ::4004] Error Code 2: Internal Error (conv1.weight: Quantized constant is only allowed before DQ or PLUGIN_V2 node)"
    (tmp_path / "build.log").write_text(f"{line}\n", "utf-8")
    out = printed(tmp_path, "--isolated", "--no-cache", "--trt", release, "--log", "build.log").out
    assert ("Upgrade to TensorRT 10.1" in out) is advised


def test_a_program_that_is_found_later(tmp_path: Path) -> None:
    missing = "sh: 1: trtexec: not found"
    later = f"{missing}\n&&&& RUNNING TensorRT.trtexec [TensorRT v100300] # /opt/bin/trtexec --onnx=m.onnx"
    for text, severity, end in ((missing, "error", ", so no build ran"), (later, "note", "find trtexec")):
        every = json.loads(report(tmp_path, text))["models"][0]["findings"]
        found = [each for each in every if each["rule"] == "LOG200"]
        assert [(each["severity"], each["message"].endswith(end)) for each in found] == [(severity, True)]
