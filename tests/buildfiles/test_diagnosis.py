"""Tests of the outcome of a log, and of the line with its reason."""

# ruff: noqa: E501 (lines of logs are quoted whole)

from __future__ import annotations

import io
from pathlib import Path

import pytest

from trtlint.buildfiles.diagnosis import Diagnosis, cut_in_parsing, diagnose
from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.patterns import table
from trtlint.engine.rulebook import builtin_rules

UNKNOWN = "[E] [TRT] 2: [a.cpp::b::1] Error Code 2: Internal Error (Assertion !mValueMapUndo failed. )"
ECHO = "[E] Engine could not be created from network"
CAUSE = "[E] [TRT] Target GPU SM 60 is not supported by this TensorRT release."
SKIPPED = "[E] [TRT] Error Code: 9: Skipping tactic 0xaa15e43058248292 due to exception canImplement1"
GOES_ON = "[I] [TRT] Detected 1 inputs and 1 output network tensors."
BUILT = "[I] Engine built in 2.1 sec."
GETTER = (
    "[E] [TRT] IAttention::getScale: Error Code 3: API Usage Error (Parameter check failed, condition: x)"
)
MISSING = "ERROR: [network.cpp::getInput::1888] Error Code 3: API Usage Error (Parameter check failed at: n.cpp::getInput::1888, condition: index < getNbInputs())"
SETTER = "[E] Error[3]: [builderConfig.cpp::setFlag::65] Error Code 3: API Usage Error (Parameter check failed at: b.cpp::setFlag::65, condition: x)"
REFUSED = "[E] Error[2]: [a.cpp::b::1] Error Code 2: OutOfMemory (no further information)"
NO_GPU = "[TRT] [W] CUDA initialization failure with error: 35. Please check your CUDA installation"
DISTURBED = "[TRT] [E] Could not register plugin creator:  FlattenConcat_TRT in namespace:"
UFF = "ERROR: UffParser: Unsupported number of graph 0"
DEEPSTREAM = "0:00:05.86  1845 0x56206e548360 {}  nvinfer gstnvinfer.cpp:632:gst_nvinfer_logger:<p> NvDsInferContext[UID 1]: "
EXCEEDED = (
    DEEPSTREAM.format("WARN")
    + "Warning from NvDsInferContextImpl::checkBackendParams() <a.cpp:1833> [UID = 1]: Backend has maxBatchSize 1 whereas 2 has been requested"
)
NO_BACKEND = (
    DEEPSTREAM.format("ERROR")
    + "Error in NvDsInferContextImpl::initialize() <a.cpp:1257> [UID = 1]: generate backend failed, check config file settings"
)
OLD_ENGINE = "ERROR: Deserialize engine failed because file path: /a/b.engine open error"
AGAIN = (
    DEEPSTREAM.format("WARN")
    + "Warning from NvDsInferContextImpl::generateBackendContext() <a.cpp:1888> [UID = 1]: deserialize backend context from engine from file :/a/b.engine failed, try rebuild"
)
RUNNING = "&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec"
WARNED = "[W] [TRT] Using an engine plan file across different models of devices is not recommended"


def of(*lines: str) -> Diagnosis:
    return diagnose(read_log(io.BytesIO("\n".join([*lines, ""]).encode())))


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        ((UNKNOWN, ECHO), 1),
        ((EXCEEDED, NO_BACKEND), 1),
        ((OLD_ENGINE, AGAIN, UNKNOWN, ECHO), 3),
        ((ECHO, UNKNOWN), 2),
        ((ECHO, ECHO), 1),
        ((SKIPPED, ECHO), 1),
        ((BUILT, UNKNOWN), 2),
        ((REFUSED,), 1),
        ((GOES_ON, SKIPPED), 2),
        (
            (
                "program: a.cpp:78: void init(): Assertion `engine != nullptr' failed.",
                "Aborted (core dumped)",
            ),
            1,
        ),
        (("terminate called after throwing an instance of 'E'", "  what():  CUDA error in f()"), 2),
        ((WARNED, UNKNOWN), 2),
        (("Begin building engine...", "Killed"), 2),
        (("[V] [TRT] Tactic: 0x1 Time: 0.01",), 1),
        (("&&&& FAILED TensorRT.trtexec [TensorRT v8601] # trtexec",), 1),
        ((RUNNING, "&&&& FAILED TensorRT.trtexec [TensorRT v8601] # trtexec"), 2),
        (("ERROR: [UID = 1]: build of the engine gave up",), 1),
        ((UNKNOWN, CAUSE), 1),
        ((SETTER, UNKNOWN), 2),
        ((SETTER, ECHO), 1),
        ((SETTER, SETTER.replace("builderConfig", "network")), 2),
        ((SETTER, SETTER.replace("Code 3", "Code 4")), 2),
        (("[E] [TRT] some words",), 1),
        (("ERROR: 2: [a.cpp::b::1] Error Code 2: Internal Error (Assertion !mValueMapUndo failed. )",), 1),
        # https://github.com/linClubs/BEVFusion-ROS-TensorRT/issues/19
        (("[ERROR] [bevfusion_node-1]: process has died [pid 23482, exit code -11, cmd 'x'].",), 1),
        # https://github.com/microsoft/onnxruntime/issues/14614
        (
            (
                "Exception thrown at 0x00007FF8 (onnxruntime_providers_tensorrt.dll) in a.exe: 0xC0000005: Access violation reading location 0xFF.",
            ),
            1,
        ),
        # https://github.com/AmusementClub/vs-mlrt/issues/89
        (("Python exception: trtexec execution fails, log has been written to C:\\a.log",), 1),
        # https://github.com/comfyanonymous/ComfyUI_TensorRT/issues/105
        (("- **Exception Message:** a bytes-like object is required, not 'NoneType'",), 1),
        # https://github.com/mcmonkeyprojects/SwarmUI/issues/248
        (
            ('    "message": "Cannot execute because node DYNAMIC_TRT_MODEL_CONVERSION does not exist.",',),
            1,
        ),
        # tensorrtx prints it whatever came of the build: https://github.com/wang-xinyu/tensorrtx/issues/819
        ((UNKNOWN, "Build engine successfully!"), 1),
        # https://github.com/microsoft/onnxruntime/issues/19489
        (
            (
                "Unhandled exception. Microsoft.ML.OnnxRuntime.OnnxRuntimeException: [ErrorCode:RuntimeException] ",
                '[ONNXRuntimeError] : 1 : FAIL : LoadLibrary failed with error 126 "" when trying to load ',
            ),
            2,
        ),
    ],
)
def test_failures_that_no_entry_explains(lines: tuple[str, ...], line: int) -> None:
    found = of(*lines)
    assert found.failed
    assert found.line is not None
    assert found.line.line == line


@pytest.mark.parametrize(
    "lines",
    [
        (CAUSE, UNKNOWN),
        (CAUSE, ECHO),
        (NO_GPU,),
        (SKIPPED, CAUSE),
        (UFF, "  what():  std::exception"),
        # https://github.com/pykeio/ort/issues/236
        ("Failed to register TensorRT!", "Attempt to use DefaultLogger but none has been registered."),
        # https://github.com/autowarefoundation/autoware/issues/6434
        ("  what():  cudaErrorUnsupportedPtxVersion (222)@a.cpp#L222: the provided PTX is unsupported",),
        # https://github.com/comfyanonymous/ComfyUI_TensorRT/issues/53
        (
            "Error occurred when executing DYNAMIC_TRT_MODEL_CONVERSION:",
            "",
            "load_models_gpu() got an unexpected keyword argument 'force_patch_weights'",
        ),
        # https://github.com/dusty-nv/jetson-inference/issues/1736
        ("imagenet: error while loading shared libraries: /usr/lib/libnvinfer.so.8: file too short",),
        # https://github.com/NVIDIA-ISAAC-ROS/isaac_ros_dnn_inference/issues/35
        (
            "ERROR: infer_trtis_server.cpp:994 Triton: failed to create repo server, err_msg:failed to stat file /tmp/models",
        ),
    ],
)
def test_failures_that_an_entry_explains(lines: tuple[str, ...]) -> None:
    found = of(*lines)
    assert (found.failed, found.line) == (True, None)
    assert found.cause is not None


@pytest.mark.parametrize(
    "lines",
    [
        (),
        ("a program", "that prints"),
        (UNKNOWN, BUILT),
        (SKIPPED, GOES_ON),
        (GETTER,),
        (REFUSED, SKIPPED, GOES_ON),
        (BUILT, NO_GPU),
        (DISTURBED,),
        ("[TRT] [E] 6: [e.cpp::a::1] Error Code 6: Internal Error (The timing cache will not be used)",),
        (WARNED,),
        ("ERROR: pip's dependency resolver does not take this into account",),
        ("Failed to load the engine cache; building engine from a.onnx",),
        ("loading of model.onnx: 0 errors, 0 failed",),
        # https://github.com/NVIDIA/TensorRT-LLM/issues/1826
        (
            "pa:21856:21856 [0] NCCL INFO NET/Plugin : dlerror=libnccl-net.so: cannot open shared object file: No such file or directory",
        ),
        ("Absolute error of engine output: error rate 0.1",),
        ("onnx model error vs torch: max abs 1e-6",),
        ("Loading engine from file model.engine failed: file does not exist, building a new one",),
        ("[E]         FAILED | Output: 'y' | Difference exceeds tolerance (rel=1e-05, abs=1e-05)",),
        (
            "ERROR: pip's dependency resolver does not currently take into account all the packages that are installed.",
            "torch-tensorrt 2.3.0 requires tensorrt<10.2, but you have tensorrt 10.3.0 which is incompatible.",
        ),
        (
            "(gst-plugin-scanner:93): GStreamer-WARNING **: 10:05:31.311: Failed to load plugin '/usr/lib/libnvdsgst_inferserver.so': libtritonserver.so: cannot open shared object file: No such file or directory",
        ),
        (CAUSE, "[05/21/2024-10:00:33] [TRT-LLM] [I] Total time of building all engines: 00:01:44"),
        (CAUSE, "TensorRT: export success ✅ 190.1s, saved as 'a.engine' (16.1 MB)"),
        # https://github.com/NVIDIA/TensorRT/issues/3855
        (
            "[E]     FAILED | Mismatched outputs: ['score']",
            "        [E] FAILED | Runtime: 13.374s | Command: /usr/local/bin/polygraphy run a.engine --trt --load-outputs debug_output.json",
            "[E]     ========== CAPTURED STDERR ==========",
            "[E]     Artifact: replay.json does not exist, skipping.",
            "[E]     FAILED | Iteration 1 | Duration 110.6s",
        ),
        # https://github.com/wang-xinyu/tensorrtx/issues/1299
        (
            "[E] [TRT] 3: [builder.cpp::~Builder::307] Error Code 3: API Usage Error (Parameter check failed at: b.cpp::~Builder::307, condition: mObjectCounter.use_count() == 1. Destroying a builder object before destroying objects it created leads to undefined behavior.",
            ")",
        ),
    ],
)
def test_logs_that_show_no_failure(lines: tuple[str, ...]) -> None:
    assert of(*lines) == Diagnosis()


def test_a_report_of_the_parser_that_was_cut() -> None:
    # https://github.com/spacewalk01/depth-anything-tensorrt/issues/8
    found = of(
        '[E] [TRT] ModelImporter.cpp:773: While parsing node number 1249 [If -> "output"]:',
        "[E] [TRT] ModelImporter.cpp:774: --- Begin node ---",
        '[E] [TRT] ModelImporter.cpp:775: input: "1593"',
        'output: "output"',
        'name: "If_1249"',
    )
    assert found.line is not None
    assert (found.line.pattern, found.line.line) == ("parsing_failed", 1)


@pytest.mark.parametrize("last", [ECHO, RUNNING])
def test_a_run_that_failed_is_not_forgiven_for_the_next(last: str) -> None:
    assert of(CAUSE, last, BUILT).failed


@pytest.mark.parametrize(
    ("line", "name", "group", "text"),
    [
        (
            "7: [shapeMachine.cpp::execute::702] Error Code 7: Internal Error "
            "(IShuffleLayer /Reshape_1: reshaping "
            "failed for tensor: x reshape would change volume 3 to 4)",
            "shape_mismatch",
            "layer",
            "/Reshape_1",
        ),
        (
            "could not find any implementation for node Conv_12, try increasing",
            "no_implementation",
            "node",
            "Conv_12",
        ),
        (
            "x: for dimension number 2 in profile 0 does not match network definition",
            "profile_violated",
            "why",
            None,
        ),
        (
            "GPU error during getBestTactic: Conv_3 : an illegal memory access",
            "cuda_fault",
            "layer",
            "Conv_3",
        ),
        ("a has no runners", "other", "node", None),
    ],
)
def test_what_an_error_names(line: str, name: str, group: str, text: str | None) -> None:
    log = read_log(io.BytesIO(f"[E] [TRT] {line}\n".encode()))
    assert log.records[name][0].groups.get(group) == text


@pytest.mark.parametrize(
    "line",
    [
        "Killed",
        "free(): invalid pointer",
        "exit status 137",
        "Segmentation fault (core dumped)",
        "Process finished with exit code -1073741819 (0xC0000005)",
        "#1  0x00007f091e2e2859 in abort () from /usr/lib/libc.so.6",
    ],
)
def test_a_process_that_died(line: str) -> None:
    found = of("Begin building engine...", line)
    assert found.line is not None
    assert found.line.pattern == "died"


def test_every_cause_has_a_rule_that_names_it() -> None:
    folder = builtin_rules()
    text = "".join(path.read_text("utf-8") for path in sorted(folder.glob("*/*.md")))
    causes = [entry.name for entry in table().patterns if entry.says in ("cause", "refused", "unusable")]
    assert [name for name in causes if f'"{name}"' not in text] == []


@pytest.mark.parametrize(("between", "line"), [(0, 2), (2, 2), (3, 6)])
def test_a_crash_after_a_request_for_a_missing_input(between: int, line: int) -> None:
    # https://github.com/LCH1238/bevdet-tensorrt-cpp/issues/31
    found = of("Begin building engine...", MISSING, *[GOES_ON] * between, "Segmentation fault (core dumped)")
    assert found.line is not None
    assert found.line.line == line


def test_how_entries_settle_and_name_is_known() -> None:
    names = {entry.name for entry in table().patterns}
    for entry in table().patterns:
        assert {*entry.near} <= names
        assert not entry.announced or entry.announced in names
        groups = set(entry.compiled.groupindex)
        assert {*entry.names, *entry.lists} <= groups, entry.name


def test_the_node_that_an_error_itself_names() -> None:
    # https://github.com/NVIDIA/TensorRT/issues/3728
    found = of(
        "[03/21/2024-12:12:47] [TRT] [E] ModelImporter.cpp:777: ERROR: ModelImporter.cpp:195 In function parseGraph:",
        "[6] Invalid Node - /Where",
        "[graphShapeAnalyzer.cpp::checkCalculationStatusSanity::1503] Error Code 2: Internal Error (Assertion x failed. )",
    )
    assert found.cause is not None
    assert found.cause.groups["node"] == "/Where"


@pytest.mark.parametrize(
    ("line", "pattern", "groups"),
    [
        # https://github.com/ultralytics/ultralytics/issues/9510
        (
            "TensorRT: export failure 3.7s: 'tensorrt_bindings.tensorrt.IBuilderConfig' object has no attribute 'max_workspace_size'",
            "api_gone",
            {"attribute": "max_workspace_size"},
        ),
        # https://github.com/indra4837/yolov4_trt_ros/issues/13
        (
            "python3: yolo_layer.cu:71: nvinfer1::YoloLayerPlugin::YoloLayerPlugin(const void*, size_t): Assertion d == a + length' failed.",
            "assertion",
            {"condition": "d == a + length"},
        ),
        # https://github.com/enazoe/yolo-tensorrt/issues/72
        (
            "ERROR: coreReadArchive.cpp (55) - Serialization Error in verifyHeader: 0 (Length in header does not match remaining archive length)",
            "engine_damaged",
            {},
        ),
        # https://github.com/NVIDIA/TensorRT/issues/1526
        (
            "[TensorRT] ERROR: 4: Output tensor (Unnamed Layer* 0) [ElementWise]_output of type Float produced from output of incompatible type Bool",
            "type_error",
            {"tensor": "(Unnamed Layer* 0) [ElementWise]_output"},
        ),
        # https://github.com/agrechnev/trt-cpp-min/issues/5
        (
            "ERROR: 10: Could not find any implementation for node node_of_output",
            "no_implementation",
            {"node": "node_of_output"},
        ),
        # https://github.com/wang-xinyu/tensorrtx/issues/729
        ("read yolov5s.engine error!", "model_unreadable", {"engine": "yolov5s.engine"}),
        # https://github.com/triton-inference-server/server/issues/3204
        (
            "| encode_onnx | 1       | UNAVAILABLE: Invalid argument: unknown Execution Accelerator 'tensorrt' is requested |",
            "provider_failed",
            {"served": "encode_onnx"},
        ),
        # https://github.com/AmusementClub/vs-mlrt/issues/138
        (
            "Failed to evaluate: operator (): engine deserialization failedTraceback (most recent call last):",
            "no_engine",
            {},
        ),
        # https://github.com/NVIDIA/TensorRT/issues/4603
        (
            "/bb/rope_embeddings/If_OutputLayer: IIfConditionalOutputLayer inputs must have the same shape. Shapes are [2] and [1].",
            "branches_differ",
            {"layer": "/bb/rope_embeddings/If"},
        ),
        # https://github.com/NVIDIA/retinanet-examples/issues/314
        (
            "6: The engine plan file is not compatible with this version of TensorRT, expecting library version 8.0.0 got 8.0.1, please rebuild.",
            "engine_version",
            {"expected": "8.0.0", "found": "8.0.1"},
        ),
        # https://github.com/NVIDIA/TensorRT-RTX/issues/20
        (
            "Internal Error: MyelinCheckException: cudnn_graph_utils.h:379: CHECK(false) failed. cuDNN graph compilation failed.",
            "island_exception",
            {"where": "cudnn_graph_utils.h:379"},
        ),
        # https://github.com/wangzhaode/llm-export/issues/57
        (
            "[08:50:22] :241: Fail to open external data: /mnt/model/llm.onnx.data",
            "model_unreadable",
            {"file": "/mnt/model/llm.onnx.data"},
        ),
        # https://github.com/triton-inference-server/server/issues/3919
        (
            "UNAVAILABLE: Internal: trt failed to set binding dimension to [8,10,128] for input 'input_id' for paraRecognition",
            "profile_violated",
            {},
        ),
        # https://github.com/tensorflow/tensorrt/issues/16
        (
            "ERROR:tensorflow:Not a calib graph. Doesn't seem to contain any calibration nodes.",
            "other",
            {},
        ),
        # https://github.com/blakeblackshear/frigate/issues/6336
        (
            "entrypoint.sh: line 49: exec: /tensorrt_models.sh: cannot execute: Is a directory",
            "any_failure",
            {},
        ),
        # https://github.com/triton-inference-server/server/issues/281
        (
            "Description of the error: Assertion failed: dims.nbDims == 3",
            "parser_bare",
            {"old": "Assertion failed: dims.nbDims == 3"},
        ),
        # https://github.com/onnx/onnx-tensorrt/issues/486
        ("RuntimeError: While parsing node number -1:", "parser_bare", {"number": "-1"}),
    ],
)
def test_lines_of_public_threads(line: str, pattern: str, groups: dict[str, str]) -> None:
    found = of("Building the engine...", line)
    record = found.cause or found.line
    assert record is not None
    assert record.pattern == pattern
    assert groups.items() <= record.groups.items()


HEADER = (
    "[I] Start parsing network model.",
    "[I] [TRT] Input filename:   ./m.onnx",
    "[I] [TRT] ONNX IR version:  0.0.9",
    "[I] [TRT] Doc string:       ",
)


@pytest.mark.parametrize(
    ("after", "cut"),
    [
        ((), True),
        (("[I] [TRT] ----------------", "[W] [TRT] something else"), True),
        (("[I] Finished parsing network model. Parse time: 0.5",), False),
        (("[I] Engine built in 2.1 sec.",), False),
        (("&&&& PASSED TensorRT.trtexec [TensorRT v101303] # trtexec --onnx=m.onnx",), False),
        (("&&&& FAILED TensorRT.trtexec [TensorRT v101303] # trtexec --onnx=m.onnx",), False),
        (("[E] [TRT] ModelImporter.cpp:773: Failed to parse ONNX model from file: m.onnx",), False),
    ],
)
def test_a_log_that_ends_in_parsing(tmp_path: Path, after: tuple[str, ...], cut: bool) -> None:
    lines = (*HEADER, *after)
    (tmp_path / "build.log").write_text("\n".join([*lines, ""]), "utf-8")
    found = cut_in_parsing(read_log(tmp_path / "build.log"))
    assert found.startswith(f"the log ends in line {len(lines)}, while the parser reads the model;") is cut
    assert bool(found) is cut


def test_a_log_without_the_header_of_a_model_is_not_cut(tmp_path: Path) -> None:
    (tmp_path / "build.log").write_text(
        "[I] TensorRT version: 10.13.3\n[I] Loading standard plugins\n", "utf-8"
    )
    assert not cut_in_parsing(read_log(tmp_path / "build.log"))


RUN = (
    "&&&& RUNNING TensorRT.trtexec [TensorRT v101300] [b9] # trtexec --onnx=m.onnx",
    "[11/29/2026-05:00:01] [I] Format: ONNX",
    "[11/29/2026-05:00:01] [I] [TRT] Input filename:   m.onnx",
    "[11/29/2026-05:00:02] [I] Finished parsing network model. Parse time: 0.0123",
    "[11/29/2026-05:00:02] [W] [TRT] Detected layernorm nodes in FP16.",
    "[11/29/2026-05:00:26] [I] [TRT] Total Activation Memory: 1024 bytes",
)


@pytest.mark.parametrize("lines", range(1, len(RUN) + 1))
@pytest.mark.parametrize("half", [False, True])
def test_a_run_of_trtexec_that_ends_early(tmp_path: Path, lines: int, half: bool) -> None:
    last = RUN[lines - 1]
    text = "\n".join((*RUN[: lines - 1], last[: 90 if lines == 1 else len(last) // 2] if half else last))
    (tmp_path / "build.log").write_text(text, "utf-8")
    log = read_log(tmp_path / "build.log")
    found = diagnose(log)
    assert found.failed
    assert found.line is not None
    assert (found.line.pattern, found.line.line) == ("unfinished_run", lines)
    assert not cut_in_parsing(log)


@pytest.mark.parametrize(
    "line",
    [
        "[11/29/2026-05:00:26] [I] [TRT] Engine generation completed in 24.1 seconds.",
        "[11/29/2026-05:00:26] [I] Engine built in 24.3 sec.",
        "[11/29/2026-05:00:26] [I] Starting inference",
        "[11/29/2026-05:00:26] [I] Average on 10 runs - GPU latency: 0.1 ms",
        "&&&& PASSED TensorRT.trtexec [TensorRT v101300] [b9] # trtexec --onnx=m.onnx",
    ],
)
def test_a_log_of_trtexec_may_end_after_the_build(tmp_path: Path, line: str) -> None:
    (tmp_path / "build.log").write_text("\n".join((*RUN, line)), "utf-8")
    assert not diagnose(read_log(tmp_path / "build.log")).failed


@pytest.mark.parametrize("end", ["\n[V] [TRT] Tac", "\n[V] [TRT] ", "\n[V", "\n", ""])
def test_half_a_line_after_a_line_about_tactics(tmp_path: Path, end: str) -> None:
    lines = (*HEADER, "[V] [TRT] --------------- Timing Runner: conv (CaskConvolution)")
    (tmp_path / "build.log").write_text("\n".join(lines) + end, "utf-8")
    log = read_log(tmp_path / "build.log")
    found = diagnose(log).line
    assert found is not None
    assert (found.pattern, found.line) == ("unfinished", len(lines))
    assert not cut_in_parsing(log)


@pytest.mark.parametrize("end", ["Done", "[I] [TRT] Detected 1 inputs", "[I] Engine built in 2.1 sec."])
def test_a_whole_line_after_a_line_about_tactics(tmp_path: Path, end: str) -> None:
    (tmp_path / "build.log").write_text(f"[V] [TRT] Tactic: 0x0 Time: 0.031\n{end}", "utf-8")
    assert not diagnose(read_log(tmp_path / "build.log")).failed
