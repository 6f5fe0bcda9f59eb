"""Tests of log-rule advice: the remedy of the thread, in the terms of the program with the error."""

# ruff: noqa: E501 (lines of logs are quoted whole)

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import helper

from tests.inprocess import printed

NO_KERNEL = "[E] IBuilder::buildSerializedNetwork: Error Code 10: Internal Error (Could not find any implementation for node /a/Conv.)"
CRASHED = "[ERROR] [bevfusion_node-1]: process has died [pid 9, exit code -11, cmd 'node']."
NO_FLAG = "AttributeError: type object 'tensorrt_bindings.tensorrt.BuilderFlag' has no attribute 'FP16'"
FULL = "[TRT] [W] Tactic Device request: 600MB Available: 302MB. Device memory is insufficient to use tactic."
TOO_NEW = "[TRT] [E] Error Code 6: API Usage Error (Unable to load library: libnvinfer_builder_resource_win.so.10.2.0: libnvinfer_builder_resource_win.so.10.2.0: cannot open shared object file: No such file or directory)"
NO_PTX = "  what():  cudaErrorUnsupportedPtxVersion (222)@a.cpp#L222: the provided PTX was compiled with an unsupported toolchain."
KEPT = "Python exception: trtexec execution fails, log has been written to a.log"
EMPTY = "[TRT] [E] Error Code 3: API Usage Error (Parameter check failed, condition: !weights.values == !weights.count. )"
STAT = "ERROR: infer_trtis_server.cpp:994 Triton: failed to create repo server, err_msg:failed to stat file /tmp/models"
CLIPPED = "[W] [TRT] (Unnamed Layer* 18) [Constant] [CONSTANT] contains out-of-range weights when cast to BFloat16, clipping to +/- 3.38953e+38."
DLA_FORMATS = "[optimizer.cpp::checkIfDirectIOIsPossible::4316] Error Code 4: Internal Error (BuilderFlag::kDIRECT_IO specified but no conformant implementation exists)"
DLA_ALONE = "[01/19/2024-16:12:34] [E] Error[9]: Cannot deserialize serialized engine built with EngineCapability::kDLA_STANDALONE, use cuDLA APIs instead."
DLA_SUBMIT = "ERROR: [Torch-TensorRT TorchScript Conversion Context] - 1: [nvdlaUtils.cpp::submit::198] Error Code 1: DLA (Failure to submit program to DLA engine.)"
NO_BACKEND = "UNAVAILABLE: Invalid argument: unable to find 'libtriton_tensorrt_plan.so' for model 'object_detection', searched: /models/object_detection/1, /opt/tritonserver/backends/tensorrt_plan"
NO_PROVIDER = "[E:onnxruntime:test, provider_bridge_ort.cc:633 onnxruntime::ProviderLibrary::ProviderLibrary] Failed to load library, error code: 126"
MARKED = "[E] 2: [myelinBuilderUtils.cpp::operator()::752] Error Code 2: Internal Error ([ShapeHostToDeviceCopy 0] requires bool or uint8 I/O but node can not be handled by Myelin. Operation is not supported.)"
NO_PLAN = '"UNAVAILABLE: Internal: unable to load plan file to auto complete config: /tmp/folder6QdWaa/1/model.plan"'
METADATA_LENGTH = 'E0407 07:10:34.834313 1 logging.cc:40] "IRuntime::deserializeCudaEngine: Error Code 1: Serialization (Serialization assertion header.magicTag == rt::PlanMagicTag::kPLAN_MAGIC_TAG failed.Trying to load an engine created with incompatible serialization version (1825 != 1953657958). Check that it is a TRT engine file.)"'
METADATA = "ERROR: [TRT]: IRuntime::deserializeCudaEngine: Error Code 1: Serialization (Serialization assertion plan->header.magicTag == rt::kPLAN_MAGIC_TAG failed.Trying to load an engine created with incompatible serialization version.)"
NO_METHOD = 'RuntimeError: Tried to call pure virtual function "IInt8EntropyCalibrator2_pyimpl::read_calibration_cache"'
BIAS = "[05/19/2023-14:42:33] [E] Error[2]: [weightConvertors.cpp::quantizeBiasCommon::310] Error Code 2: Internal Error (Assertion getter(i) != 0 failed. )"
OLDER = "E0509 10:48:33.958262 1 logging.cc:43] coreReadArchive.cpp (41) - Serialization Error in verifyHeader: 0 (Version tag does not match. Note: Current Version: 96, Serialized Engine Version: 89)"
UNLOADED = "E0509 10:48:33.964105 1 model_repository_manager.cc:986] failed to load 'yolo_trt' version 1: Internal: unable to create TensorRT engine"
NO_VERSION = "[E] IRuntime::deserializeCudaEngine: Error Code 6: API Usage Error (The engine plan file is not compatible with this version of TensorRT, expecting library version 10.12.0.36 got .)"
NO_CREATOR = "ERROR: [TRT]: 3: getPluginCreator could not find plugin: DETECT_TRT version: 1.0"
NO_PLUGIN = "ERROR: [TRT]: 1: [pluginV2Runner.cpp::load::292] Error Code 1: Serialization (Serialization assertion creator failed.Cannot deserialize plugin since corresponding IPluginCreator not found in Plugin Registry)"
SHAPES = "[TRT] [E] [graphShapeAnalyzer.cpp::analyzeShapes::1285] Error Code 4: Miscellaneous (IPointWiseLayer conv_1_relu: broadcast dimensions must be conformable)"
QUOTED = """[TRT] [E] ModelImporter.cpp:779: ERROR: ModelImporter.cpp:179 In function parseGraph:
[6] Invalid Node - conv_1_relu
[graphShapeAnalyzer.cpp::analyzeShapes::1285] Error Code 4: Miscellaneous (IPointWiseLayer conv_1_relu: broadcast dimensions must be conformable)"""
NO_IMPORTER = """[06/17/2025-10:21:18] [TRT] [E] ModelImporter.cpp:967: ERROR: onnxOpCheckers.cpp:818 In function checkFallbackPluginImporter:
[6] creator && "Plugin not found, are the plugin name, version, and namespace correct?"
Fail parsing a.onnx
In node 11 with name: /GridSample and operator: GridSample3D (checkFallbackPluginImporter): INVALID_NODE: creator"""

NO_TENSOR_SHAPE = "[ONNXRuntimeError] : 1 : FAIL : TensorRT input: onnx::Where_3463 has no shape specified. Please run shape inference on the onnx model first."
OLD_COUNT = "[5] Assertion failed: tensors.count(input_name)"
ZERO_BYTES = "[TRT]    invalid engine cache file size (0 bytes)  networks/facenet-120/a.caffemodel.1.1.7103.GPU.FP16.engine"
NOT_LOADED = "[TRT]    detectNet -- failed to initialize."
CUSTOM = "[TRT]    model format 'custom' not supported by jetson-inference"
NO_BINDING = "[TRT]    3: Cannot find binding of given name: input_0"
LIBRARY_FILE = "[TRT] [E] 2: [builder.cpp::createCaskKernelLibraryImpl::137] Error Code 2: Internal Error (Assertion validateCaskKLibSize(buffer.size) failed. )"
NEW_BOARD = "[E] [TRT] 2: [utils.cpp::checkMemLimit::380] Error Code 2: Internal Error (Assertion upperBound != 0 failed. Unknown embedded device detected. Please update the table with the entry: {{1794, 6, 16}, 12660},)"
PLUGIN_STATUS = "[E] Error[2]: [pluginV2DynamicExtRunner.cpp::execute::126] Error Code 2: Internal Error (Assertion pluginUtils::isSuccess(status) failed. )"
FORCED_INT8 = "[TRT] [E] 2: [optimizer.cpp::filterQDQFormats::4670] Error Code 2: Internal Error (Assertion !n->candidateRequirements.empty() failed. All of the candidates were removed, which points to the node being incorrectly marked as an int8 node.)"
NO_FORMATS = "[E] Error[2]: [optimizer.cpp::getFormatRequirements::3015] Error Code 2: Internal Error (Assertion !n->candidateRequirements.empty() failed. no supported formats)"
NO_CONSTANT = "In node -1 (parseGraph): UNSUPPORTED_NODE: Assertion failed: convertOnnxWeights(initializer, &weights, ctx)"
NO_BUILDER = "VapourSynth encountered a fatal error: Cannot create infer builder"
UNKNOWN = "Cuda failure: unknown error"
MISFIT = "AssertionError: The value updated is not the same shape as the original. Updated: (32000, 5120), original: (0, 5120)"
NO_OUTPUT = "[TensorRT] ERROR: Network must have at least one output"
LOWER = "the engine plan file is not compatible with this version of tensorRT, expecting library version 5.1.6 got 5.0.6"
OLD_PARSER = (
    "[02/02/2021-00:00:00] [I] TensorRT version: 7.1.3",
    '[E] [TRT] While parsing node number 5 [Pow -> "6"]:',
    "[E] [TRT] ERROR: onnx2trt_utils.cpp:1200 In function elementwiseHelper:",
    "[8] Assertion failed: tensor_ptr->getDimensions().nbDims == maxNbDims",
)

NEWER_PLAN = "[E] IRuntime::deserializeCudaEngine: Error Code 1: Internal Error (Failed due to an old deserialization call on a newer plan file. This might happen when the plan file was built from an older TensorRT version.)"
CALIBRATION_FAULT = "[E] [TRT] 1: [calibrator.cpp::add::793] Error Code 1: Cuda Runtime (an illegal memory access was encountered)"
EMPTY_NAME = "[E] [TRT] 3: [engine.cpp::getProfileObliviousBindingIndex::1401] Error Code 3: Internal Error (getTensorShape given invalid tensor name: )"
ONE_PROCESS = "RuntimeError: [TensorRT-LLM][ERROR] Assertion failed: mpiSize == tp * pp (/tmp/cpp/tensorrt_llm/runtime/worldConfig.cpp:99)"
SMALL_CACHE = "[TensorRT-LLM][ERROR] maxTokensInPagedKvCache must be large enough to process at least 1 sequence to completion (i.e. must be larger than beam_width * tokensPerBlock * maxBlocksPerSeq)"
POINTER = '[libprotobuf ERROR text_format.cc:298] Error parsing text-format onnx2trt_onnx.ModelProto: 1:9: Message type "onnx2trt_onnx.ModelProto" has no field named "version".'
ON_JETSON = "[TRT] [E] IBuilder::buildSerializedNetwork: Error Code 9: API Usage Error (Target GPU SM 87 is not supported by this TensorRT release.)"
OF_PYTORCH = "ImportError: libtorch_cuda_cu.so: cannot open shared object file: No such file or directory"
NOT_EXPORTED = "Could not open file C:\\a\\unet.onnx"
OPERATOR = "vapoursynth.Error: operator (): engine deserialization failed"

NO_CREATOR_10 = "[E] [TRT] IPluginRegistry::getCreator: Error Code 4: API Usage Error (Cannot find plugin: EfficientNMS_TRT, version: 1, namespace:.)"
NO_INT8_SILU = (
    "[TRT] [E] 10: Could not find any implementation for node Conv_74 + PWN(PWN(Sigmoid_75), Mul_76)."
)
OF_MATMUL = "[TensorRT] ERROR: MatMul_276: last dimension of input0 = 16 and second to last dimension of input1 = 1 but must match."
PERMUTE = "[TRT] [E] 1: [reformat.cpp::executeCutensor::329] Error Code 1: CuTensor (Internal cuTensor permutate execute failed)"
HANDLE = (
    "[TRT] [E] 1: [checkMacros.cpp::catchCudaError::203] Error Code 1: Cuda Runtime (invalid resource handle)"
)

NO_MMCV = "[TRT] [E] 3: getPluginCreator could not find plugin: MMCVModulatedDeformConv2d version: 1"
NO_YOLO = "ERROR: [TRT]: 3: getPluginCreator could not find plugin: YoloLayer_TRT version: 1"
IN_DEEPSTREAM = "0:00:05.1  1845 0x56206e548360 ERROR  nvinfer gstnvinfer.cpp:632:gst_nvinfer_logger:<primary> NvDsInferContext[UID 1]: Error in NvDsInferContextImpl::initialize()"
NO_GEMM = "[TensorRT-LLM][ERROR] 3: getPluginCreator could not find plugin: Gemmtensorrt_llm version: 1"
NO_NMS = "[TRT] [E] 3: getPluginCreator could not find plugin: BatchedNMS_TRT version: 1"
JETSON = "[TRT]   device GPU, failed to create CUDA engine"
OLD_TAG = (
    "[TRT]   coreReadArchive.cpp (38) - Serialization Error in verifyHeader: 0 (Version tag does not match)"
)
NO_RANGE = "[TensorRT] ERROR: input_image: dynamic input is missing dimensions in profile 0."
WIDE = "RuntimeError: [Error thrown at core/conversion/converters/converter_util.cpp:167] Unable to freeze tensor of type Int64/Float64 into constant layer, try to compile model with truncate_long_and_double enabled"
NO_SHAPE = "RuntimeException: [ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Exception during initialization: tensorrt_execution_provider.cc:419 [ONNXRuntimeError] : 1 : FAIL : TensorRT input: a:0 has no shape specified. Please run shape inference on the onnx model first."
NO_ADDRESS = "[01/25/2025-17:25:05] [TRT] [E] IExecutionContext::enqueueV3: Error Code 3: API Usage Error (Parameter check failed, condition: mContext.profileObliviousBindings.at(profileObliviousIndex) != nullptr. Address is not set for input tensor input. Call setInputTensorAddress or setTensorAddress before enqueue/execute.)"
MARKS = (
    "[E] FAILED | Runtime: 128.925s | Command: polygraphy run a.onnx --trt --validate --trt-outputs mark all"
)
SUBSCRIPT = "[E] 2: [cgraph.h::assertIsValidSubscript::161] Error Code 2: Internal Error (Assertion static_cast<size_t>(c) < mSet.size() failed. )"
SCALES = 'UNSUPPORTED_NODE: Assertion failed: scales.is_weights() && "Resize scales must be an initializer!"'
OLD_LIMIT = "[TensorRT] ERROR: Internal error: could not find any implementation for node (Unnamed Layer* 202) [Deconvolution], try increasing the workspace size with IBuilder::setMaxWorkspaceSize()"
NO_IMAGE = "Cuda failure: no kernel image is available for execution on the device in file plugin_factory.cpp at line 155"
ATTENTION = "[TensorRT-LLM][ERROR] tensorrt_llm::common::TllmException: [TensorRT-LLM][ERROR] Assertion failed: d == a + length (gptAttentionCommon.cpp:320)"
NO_DLL = "FileNotFoundError: Could not find: nvinfer.dll. Is it on your PATH?"
NO_LOADED = "AttributeError: 'NoneType' object has no attribute 'create_execution_context'"
PROTO = "[libprotobuf ERROR google/protobuf/text_format.cc:298] Error parsing text-format onnx2trt_onnx.ModelProto: 1:1: Invalid control characters encountered in text."
NO_NUMBER = "ImportError: libnvinfer.so.8: cannot open shared object file: No such file or directory"
WRONG_PROCEDURE = 'OSError: [WinError 127] The specified procedure could not be found. Error loading "C:\\TensorRT\\lib\\nvinfer_plugin.dll" or one of its dependencies.'
OTHER_WEIGHTS = "yolov5: ../yolov5.cpp:55: Assertion failed: nvinfer1::Network::addScale(): shift weights has count 0 but 80 was expected"
NO_CLASS = "RuntimeError: Unknown type name '__torch__.torch.classes.tensorrt.Engine':"
IMPLICIT = "[E] [TRT] (Unnamed Layer* 1) [Shape]: explicit batch is required for this layer"
OTHER_RELEASE = "[E:onnxruntime:Default, provider_bridge_ort.cc:1080 TryGetProviderInfo_TensorRT] Failed to load library libonnxruntime_providers_tensorrt.so with error: /usr/lib/libonnxruntime_providers_tensorrt.so: undefined symbol: createInferRuntime_INTERNAL"
BYTES = "[E] [TRT] ModelImporter.cpp:776: ERROR: builtin_op_importers.cpp:353 In function importCast: [8] Assertion failed: newType != UINT8"
GATHER = """[E] [TRT] While parsing node number 8 [Gather -> "201"]:
ERROR: onnx-tensorrt/builtin_op_importers.cpp:772 In function importGather:
[8] Assertion failed: !(data->getType() == nvinfer1::DataType::kINT32 && nbDims == 1)"""
NO_TF_TRT = "2019-11-16 10:00:00.000001: W tensorflow/stream_executor/platform/default/dso_loader.cc:55] Could not load dynamic library 'libnvinfer.so.5'; dlerror: libnvinfer.so.5: cannot open shared object file: No such file or directory"
NO_PADDLE_TRT = "You are using Paddle compiled with TensorRT, but TensorRT dynamic library is not found."
COMPILER = "NVRTC Compilation failure"
UNWRITTEN = "[12/29/2020-20:56:49] [E] Cannot open engine file: a/yolov4.engine"
UNOPENED = "Error opening engine file: yolo/yolov4-tiny.trt"
UNNAMED = "RuntimeError: expected ) but found 'number' here: Serialized   File \"code/__torch__.py\", line 6 __torch___function_trt_engine_0x77ea7da0 : __torch__.torch.classes.tensorrt.Engine"
JIT = "[E] [TRT] 2: [a.cpp::b::1] Error Code 2: Internal Error (Assertion !hasResidualOrExtraJitInput || !isOutInt8 failed.)"
TIMED_OUT = "[TensorRT] ERROR: ../rtSafe/resources.h (460) - Cuda Error in loadKernel: 702 (the launch timed out and was terminated)"
TORCH_SYMBOL = "ImportError: /usr/lib/tensorrt_llm/bindings.so: undefined symbol: _ZN2at4_ops9is_pinned4callERKNS_6TensorE"
NO_PASS = "ValueError: (InvalidArgument) Pass tensorrt_subgraph_pass has not been registered."
NO_NAME = "ImportError: cannot import name 'QuantConfig' from 'tensorrt_llm.models.modeling_utils' (/usr/lib/modeling_utils.py)"
TOO_MANY = "tritonclient.utils.InferenceServerException: [400] inference request batch-size must be <= 1 for 'd2_1_b_trt'"
UNWRITTEN_TENSOR = "In node 0 (importModel): INVALID_GRAPH: Assertion failed: tensors.count(input_name)"
OWN_CHECK = 'Traceback (most recent call last):\n  File "trt_model.py", line 31, in ONNX_to_TRT\n    assert parser.parse(model.read())\nAssertionError'
NO_PROFILE = "4: [network.cpp::validate::3062] Error Code 4: Internal Error (Network has dynamic or shape inputs, but no optimization profile has been defined.)"
RTX_RUN = "&&&& RUNNING TensorRT_RTX [TensorRT-RTX v10701] # tensorrt_rtx --onnx=m.onnx"
TOO_MUCH = "[E] IBuilder::buildSerializedNetwork: Error Code 4: API Usage Error (x: tensor volume exceeds 1099511627776)"
NO_MODEL = "[07/29/2022-09:10:44] [TRT] [E] ModelImporter.cpp:735: Failed to parse ONNX model from file: /home/a/folded_model.onnx"
NO_HOST_CODE = "E0801 15:08:52.225389 1 logging.cc:40] 4: [runtime.cpp::deserializeCudaEngineEx::113] Error Code 4: Internal Error (Cannot deserialize engine with lean runtime since IRuntime::getEngineHostCodeAllowed() is false.)"
NO_HOST_CODE_LOADED = "E0801 15:08:52.242382 1 model_lifecycle.cc:626] failed to load 'a' version 1: Internal: unable to load plan file to auto complete config: /models/a/1/model.plan"
NAMED_SIZES = "[TRT] [E] IExecutionContext::getTensorShape: Error Code 7: Internal Error (Dimensions with name batch_size must be equal. Condition '==' violated: 1 != 2. Instruction: CHECK_EQUAL 1 2.)"
NO_PLAN_LOADED = "TypeError: deserialize_cuda_engine(): incompatible function arguments. The following argument types are supported:"
NO_WORK = (
    "ERROR: [Torch-TensorRT] - Method requested cannot be compiled by Torch-TensorRT.TorchScript.",
    "There is no work to be done since the resulting compiled program will contain an engine that is empty.",
)
PASSED_ON = "[TensorRT] ERROR: Tensor output_3 cannot be both input and output"
CUDNN_FAILED = "[E] [TRT] C:\\source\\rtSafe\\cuda\\cudaConvolutionRunner.cpp (483) - Cudnn Error in nvinfer1::rt::cuda::CudnnConvolutionRunner::executeConv: 8 (CUDNN_STATUS_EXECUTION_FAILED)"
OTHER_CUDNN = "[W] [TRT] TensorRT was linked against cuDNN 8.1.0 but loaded cuDNN 8.0.2"
SHADER = "[E] [TRT] 1: [softMaxV2Runner.cpp::execute::226] Error Code 1: Cask (shader run failed)"
EVENT = "[E] Error[1]: [graphContext.h::~MyelinGraphContext::39] Error Code 1: Myelin (Error 716 destroying event '0x2df914a0'.)"
ORT_OPERATOR = "2021-05-25 09:13:26.123456 [E:onnxruntime:Default, tensorrt_execution_provider.h:51 log] [2021-05-25 09:13:26   ERROR] INVALID_ARGUMENT: getPluginCreator could not find plugin OneHot version 1"
GPU_FULL = "[E] [virtualMemoryBuffer.cpp::nvinfer1::StdVirtualMemoryBufferImpl::resizePhysical::154] Error Code 2: OutOfMemory (Requested size was 4194304000 bytes.)"

TYPED_FLAG = "[E] IBuilder::buildSerializedNetwork: Error Code 3: API Usage Error (Parameter check failed, condition: !config.getFlag(BuilderFlag::kFP16). )"
TOO_LONG = "[TensorRT-LLM][ERROR] Encountered an error in forwardAsync function: [TensorRT-LLM][ERROR] Assertion failed: Input length (6973) + max new tokens (4095) + draft tokens (0) must be less than max sequence length (8192). (/sources/gptDecoderBatched.cpp:444)"
CALIBRATED = "&&&& RUNNING TensorRT.trtexec [TensorRT v8001] # trtexec --onnx=a.onnx --int8 --calib=a.cache"
NO_ALLOCATION = (
    "terminate called after throwing an instance of 'std::bad_alloc'",
    "  what():  std::bad_alloc",
)


@pytest.mark.parametrize(
    ("lines", "told", "untold"),
    [
        # https://github.com/jkjung-avt/tensorrt_demos/issues/386
        ((TIMED_OUT,), "because the GPU drives a display", "First suspect the plugins"),
        # https://github.com/shashikg/WhisperS2T/issues/21 and 58
        ((TORCH_SYMBOL,), "This TensorRT-LLM was built for a different PyTorch", "against the TensorRT"),
        ((NO_NAME,), "does not belong to the installed release", "does not contain the reason"),
        # https://github.com/PaddlePaddle/PaddleDetection/issues/5675
        ((NO_PASS,), "The installed Paddle was built without TensorRT", "does not contain the reason"),
        # https://github.com/triton-inference-server/server/issues/6165
        ((TOO_MANY,), "--disable-auto-complete-config", "does not contain the reason"),
        # https://github.com/NVIDIA/TensorRT/issues/289
        ((UNWRITTEN_TENSOR,), "a node has an input tensor that the parser does not know", "LOG124"),
        # https://github.com/deepcam-cn/yolov5-face/issues/197
        ((OWN_CHECK,), "The parser rejected the model", "An internal check"),
        # https://github.com/DerryHub/BEVFormer_tensorrt/issues/97
        ((NO_MMCV,), "--staticPlugins=libmmdeploy_tensorrt_ops.so", "com.microsoft"),
        ((IN_DEEPSTREAM, NO_YOLO), "custom-lib-path=libplugin.so", "staticPlugins"),
        # https://github.com/NVIDIA/TensorRT-LLM/issues/1584
        ((NO_GEMM,), "TRT_LLM_LOAD_PLUGINS=1", "com.microsoft"),
        ((NO_NMS,), "use TensorRT <11.0, whose plugin library contains the plugin", "libplugin"),
        # https://github.com/dusty-nv/jetson-inference/issues/680
        ((OLD_TAG, JETSON), "delete the .engine file in data/networks", "saveEngine"),
        # https://github.com/NVIDIA/TensorRT/issues/532
        ((NO_RANGE,), "config.add_optimization_profile(profile)", "LOG124"),
        # https://github.com/pytorch/pytorch/issues/82875
        ((WIDE,), "Pass truncate_long_and_double=True", "does not contain the reason"),
        # https://github.com/microsoft/onnxruntime/issues/3293
        ((NO_SHAPE,), "onnxruntime.tools.symbolic_shape_infer", "does not contain the reason"),
        # https://github.com/IRCVLab/Depth-Anything-for-Jetson-Orin/issues/3
        ((NO_ADDRESS,), "Call set_tensor_address", "See the documentation of this call"),
        # https://github.com/NVIDIA/TensorRT/issues/3788
        (
            (SUBSCRIPT, MARKS),
            "First build without the option '--trt-outputs mark all'",
            "does not contain the reason",
        ),
        # https://github.com/onnx/onnx-tensorrt/issues/483
        ((SCALES,), "Export with opset 11", "LOG124"),
        # https://github.com/NVIDIA-AI-IOT/torch2trt/issues/36
        ((OLD_LIMIT,), "Raise the workspace first", "LOG124"),
        # https://github.com/enazoe/yolo-tensorrt/issues/4
        ((NO_IMAGE,), "compile the program or the plugin for this GPU", "LOG124"),
        # https://github.com/triton-inference-server/tensorrtllm_backend/issues/191
        ((ATTENTION,), "another release of TensorRT-LLM built the engine", "saveEngine"),
        # https://github.com/Kiteretsu77/FAST_Anime_VSR/issues/3
        ((NO_DLL,), "The DLL is in TensorRT's zip archive", "LOG124"),
        # https://github.com/alxmamaev/jetson_yolov5_tensorrt/issues/3
        (
            (NO_LOADED,),
            "If the program loads a file (deserialize_cuda_engine)",
            "The builder returned no engine",
        ),
        # https://github.com/wang-xinyu/tensorrtx/issues/800
        ((OTHER_WEIGHTS,), "do not belong to the network that the program builds", "An internal check"),
        # https://github.com/pytorch/TensorRT/issues/632
        ((NO_CLASS,), "Import torch_tensorrt before torch.jit.load", "does not contain the reason"),
        # https://github.com/pytorch/TensorRT/issues/836
        ((UNNAMED,), "Torch-TensorRT 1.2 or newer", "does not contain the reason"),
        # https://github.com/NVIDIA/TensorRT/issues/1773
        ((IMPLICIT,), "--explicitBatch", "does not contain the reason"),
        # https://github.com/ultralytics/yolov5/issues/10706
        ((NO_NUMBER,), "libnvinfer.so", "LOG124"),
        ((WRONG_PROCEDURE,), "LOG139", "LOG124"),
        ((OTHER_RELEASE,), "onnxruntime", "LOG124"),
        ((BYTES,), "does not compute with UINT8", "onnxsim"),
        # https://github.com/onnx/onnx-tensorrt/issues/283 and 414
        ((GATHER,), "python -m onnxsim model.onnx simplified.onnx", "LOG124"),
        # https://github.com/tensorflow/tensorflow/issues/34329
        ((NO_TF_TRT,), "TensorFlow cannot load libnvinfer.so.5", "ONNX Runtime"),
        # https://github.com/PaddlePaddle/PaddleDetection/issues/5550
        ((NO_PADDLE_TRT,), "the bin folder is not enough", "ONNX Runtime"),
        # https://github.com/NVIDIA/TensorRT/issues/3675
        ((COMPILER,), "NVRTC must belong to the CUDA release", "cuBLAS. A lack"),
        # https://github.com/Tianxiaomo/pytorch-YOLOv4/issues/359
        ((UNWRITTEN,), "the build itself succeeded", "load its plugins first"),
        # https://github.com/jkjung-avt/tensorrt_demos/issues/528
        ((UNOPENED,), "load its plugins first", "the build itself succeeded"),
        # https://github.com/NVIDIA/TensorRT/issues/2961
        ((JIT,), "Build with the newest release first", "does not contain the reason"),
        # https://github.com/NVIDIA/TensorRT/issues/3898
        ((OLDER,), "the machine has two TensorRT installations", "LOG124"),
        # https://github.com/onnx/onnx/issues/4392: one file, two reports
        (
            (PROTO, NO_MODEL),
            "a file cannot be read: /home/a/folded_model.onnx",
            "a file cannot be read: [libprotobuf",
        ),
        # https://github.com/linClubs/BEVFusion-ROS-TensorRT/issues/19: a crash, and no lack of memory
        ((CRASHED,), "gdb's backtrace", "host memory"),
        (("Killed",), "host memory", "gdb"),
        # https://github.com/yuvraj108c/ComfyUI-Rife-Tensorrt/issues/25
        ((NO_FLAG,), "tensorrt<11", "num_io_tensors"),
        # https://github.com/ultralytics/ultralytics/issues/22271
        ((FULL,), "600 MiB, but only 302 MiB of GPU memory were free", "--memPoolSize"),
        # https://github.com/replicate/cog-triton/issues/51
        ((TOO_NEW,), "tensorrt==10.2.0.post1", "ldd"),
        # https://github.com/autowarefoundation/autoware/issues/6434
        ((NO_PTX,), "Update the driver", "docker run"),
        # https://github.com/AmusementClub/vs-mlrt/issues/89
        ((KEPT,), "trtlint a.log", "does not contain the reason"),
        # https://github.com/pytorch/TensorRT/issues/3124
        ((EMPTY,), "a constant without elements", "does not contain the reason"),
        # https://github.com/NVIDIA-ISAAC-ROS/isaac_ros_dnn_inference/issues/35
        ((STAT,), "model_repository_paths", "does not contain the reason"),
        # https://github.com/nvidia-holoscan/holohub/issues/1570
        ((CLIPPED,), "in a mask, where the clipping has no effect", "--bf16"),
        # https://github.com/yuvraj108c/ComfyUI-Upscaler-Tensorrt/issues/36
        # https://github.com/NVIDIA-ISAAC-ROS/isaac_ros_depth_segmentation/issues/10
        ((DLA_FORMATS,), "Add --allowGPUFallback", "An internal check"),
        # https://github.com/NVIDIA/TensorRT/issues/3615
        ((DLA_ALONE,), "Load it with the cuDLA API", "LOG124"),
        # https://github.com/NVIDIA/TensorRT/issues/2426
        ((DLA_SUBMIT,), "Users reported this error, but no remedy is known", "LOG124"),
        # https://github.com/triton-inference-server/server/issues/6541
        ((NO_BACKEND,), "is a platform and not a backend", "ldd"),
        # https://github.com/microsoft/onnxruntime/issues/5351
        ((NO_PROVIDER,), "it needs a second library that is missing", "LOG124"),
        # https://github.com/rmccorm4/tensorrt-utils/issues/17
        ((NO_METHOD,), "read_calibration_cache and write_calibration_cache", "does not contain the reason"),
        # https://github.com/NVIDIA/TensorRT/issues/2984
        ((BIAS,), "Q/DQ nodes instead of a calibrator", "An internal check"),
        # https://github.com/NVIDIA/TensorRT/issues/3592
        ((MARKED,), "Remove the option '--trt-outputs", "An internal check"),
        # https://github.com/triton-inference-server/server/issues/6059
        ((NO_PLAN,), "the engine is from another release", "LOG124"),
        # https://github.com/ultralytics/ultralytics/issues/20053 and 22910
        ((METADATA_LENGTH,), "begins with metadata of 1825 bytes", "not a complete engine"),
        ((METADATA,), "Ultralytics writes its own metadata", "LOG124"),
        # https://github.com/wang-xinyu/tensorrtx/issues/533: one failure, and the framework repeats it
        ((OLDER, UNLOADED), "the engine of yolo_trt was built by another version", "LOG142"),
        ((OLDER,), "(the file has 89, this library has 96)", "of yolo_trt"),
        ((OLDER,), "nvcr.io/nvidia/tensorrt of the same YY.MM as the tritonserver", "saveEngine"),
        # https://github.com/westNeighbor/ComfyUI-ultimate-openpose-estimator/issues/9
        ((NO_VERSION,), "(this library has 10.12.0.36)", "the file has"),
        # https://github.com/enazoe/yolo-tensorrt/issues/168
        ((NO_CREATOR, NO_PLUGIN), "must load the plugin's library first", "LOG139"),
        ((NO_PLUGIN,), "LOG139", "LOG103"),
        # https://github.com/NVIDIA/TensorRT/issues/1677
        ((SHAPES, QUOTED), "The input shapes of this node are incompatible", "LOG136"),
        (
            ('[TRT] [E] While parsing node number 4 [PRelu -> "conv_1_relu"]:', QUOTED),
            "Reshape the slope to [C, 1, 1]",
            "LOG136",
        ),
        ((SHAPES,), "LOG136", "LOG102"),
        # https://github.com/antgroup/ditto-talkinghead/issues/45
        ((NO_IMPORTER,), "operator GridSample3D has neither", "an operator has neither"),
        # https://github.com/microsoft/onnxruntime/issues/12781
        ((NO_TENSOR_SHAPE,), "onnxruntime.tools.symbolic_shape_infer", "LOG124"),
        # https://github.com/onnx/onnx-tensorrt/issues/199 and 741: parsers of TensorRT 6 and older
        ((OLD_COUNT,), "keep_initializers_as_inputs=True", "is not valid"),
        # https://github.com/dusty-nv/jetson-inference/issues/946, 1686 and 1363
        ((ZERO_BYTES, NOT_LOADED), "left an empty file", "download-models.sh"),
        ((CUSTOM, NOT_LOADED), "newer versions know more names", "download-models.sh"),
        ((NO_BINDING, NOT_LOADED), "--output-cvg", "--minShapes"),
        # https://github.com/NVIDIA/TensorRT/issues/2496
        ((LIBRARY_FILE,), "nvinfer_builder_resource.dll", "newest release first"),
        # https://github.com/NVIDIA/TensorRT/issues/2098
        ((NEW_BOARD,), "Install a newer JetPack", "newest release first"),
        # https://github.com/laugh12321/TensorRT-YOLO/issues/172
        ((PLUGIN_STATUS,), "the run of an engine failed", "newest release first"),
        # https://github.com/NVIDIA/TensorRT/issues/3055
        ((FORCED_INT8,), "put only QuantizeLinear before the plugin", "Run the layer in another type"),
        # https://github.com/NVIDIA/TensorRT/issues/2406
        (
            (NO_FORMATS,),
            "a later release builds the same model",
            "put only QuantizeLinear before the plugin",
        ),
        # https://github.com/seanavery/yolov5-tensorrt/issues/2
        ((NO_CONSTANT,), "newer than the release", "In this release, the input must be a constant"),
        # https://github.com/tongyuantongyu/vs-NNVISR/issues/7
        ((NO_BUILDER,), "the GPU is too old for this TensorRT release", "holds the memory of the GPU"),
        # https://github.com/NVIDIA/TensorRT/issues/3110
        ((UNKNOWN,), "Restart the computer", "LOG124"),
        # https://github.com/NVIDIA/TensorRT-LLM/issues/673
        ((MISFIT,), "(32000, 5120) and the configuration (0, 5120)", "LOG190"),
        # https://github.com/NVIDIA/TensorRT/issues/37
        ((NO_OUTPUT,), "network.mark_output", "The network is empty"),
        # https://github.com/dusty-nv/jetson-inference/issues/426
        ((LOWER,), "(the file has 5.0.6, this library has 5.1.6)", "LOG124"),
        (OLD_PARSER, "Upgrade TensorRT first", "LOG124"),
        # https://github.com/olegchomp/TouchDiffusion/issues/27
        ((NEWER_PLAN,), "was built by another version of TensorRT", "LOG124"),
        # https://github.com/NVIDIA/TensorRT/issues/1931
        ((CALIBRATION_FAULT,), "must be a pointer to GPU memory", "First suspect the plugins"),
        # https://github.com/NVIDIA-ISAAC-ROS/isaac_ros_object_detection/issues/32
        ((EMPTY_NAME,), "output_binding_names of the TensorRT node", "LOG122"),
        # https://github.com/NVIDIA/TensorRT-LLM/issues/1950
        ((ONE_PROCESS,), "mpirun -n NUMBER", "LOG124"),
        # https://github.com/triton-inference-server/tensorrtllm_backend/issues/59
        ((SMALL_CACHE,), "max_tokens_in_paged_kv_cache of at least", "newer release"),
        # https://github.com/SJTU-IPADS/disb/issues/7
        ((POINTER,), "git lfs pull", "config.pbtxt"),
        # https://github.com/Megvii-BaseDetection/YOLOX/issues/1825
        ((ON_JETSON,), "--system-site-packages", "If the release dropped the GPU"),
        # https://github.com/pytorch/TensorRT/issues/708
        ((OF_PYTORCH,), "is a part of PyTorch", "built against the TensorRT release that the program uses"),
        # https://github.com/NVIDIA/Stable-Diffusion-WebUI-TensorRT/issues/262
        ((NOT_EXPORTED,), "the export failed", "mounts of a container"),
        # https://github.com/AmusementClub/vs-mlrt/issues/138
        ((OPERATOR,), "only on the same kind of GPU", "does not contain the reason"),
        # https://github.com/levipereira/triton-server-yolo/issues/3
        ((NO_CREATOR_10,), "contains the plugin EfficientNMS_TRT", "LOG124"),
        # https://github.com/NVIDIA/TensorRT/issues/3640
        ((NO_INT8_SILU,), "TensorRT 10 builds most of these models", "LOG124"),
        # https://github.com/triple-mu/YOLOv8-TensorRT/issues/5
        ((OF_MATMUL,), "LOG136", "LOG124"),
        # https://github.com/ultralytics/ultralytics/issues/9092
        ((PERMUTE, HANDLE), "remove pycuda.autoinit", "LOG124"),
        ((PERMUTE,), "LOG124", "LOG155"),
        ((NO_KERNEL, "[!] Invalid Engine."), "G_LOGGER.module_severity", "trtexec --verbose"),
        # https://github.com/triton-inference-server/server/issues/6129
        ((NO_HOST_CODE, NO_HOST_CODE_LOADED), "version-compatible=true", "LOG124"),
        ((NO_HOST_CODE, NO_HOST_CODE_LOADED), "engine_host_code_allowed = True", "LOG142"),
        # https://github.com/NVIDIA/Isaac-GR00T/issues/358
        ((NAMED_SIZES,), "different sizes in the dimension batch_size: 1 and 2", "LOG124"),
        # https://github.com/NVIDIA/TensorRT/issues/2052: the builder returned None
        ((NO_PROFILE, NO_PLAN_LOADED), "LOG115", "LOG143"),
        ((NO_PLAN_LOADED,), "The builder returned no engine", "LOG143"),
        # https://github.com/pytorch/TensorRT/issues/908
        (NO_WORK, "has nothing to compile in the method", "cannot convert"),
        # https://github.com/NVIDIA-AI-IOT/torch2trt/issues/365
        ((PASSED_ON,), "returns one of its inputs without a change", "newer release"),
        # https://github.com/NVIDIA/TensorRT/issues/1371
        ((OTHER_CUDNN, CUDNN_FAILED), "First install the version of the library", "LOG124"),
        ((CUDNN_FAILED,), "LOG129", "First install the version of the library"),
        # https://github.com/fabio-sim/LightGlue-ONNX/issues/52
        ((SHADER,), "A kernel failed at run time", "onvolution"),
        # https://github.com/NVIDIA/TensorRT/issues/2391
        ((EVENT,), "LOG128", "LOG106"),
        # https://github.com/microsoft/onnxruntime/issues/7825
        ((ORT_OPERATOR,), "does not stop ONNX Runtime", "LOG124"),
        ((NO_NMS,), "LOG103", "does not stop ONNX Runtime"),
        # https://github.com/marcoslucianops/DeepStream-Yolo/issues/366
        ((GPU_FULL, NO_KERNEL), "A larger workspace does not help", "Run the layer in another type"),
        ((GPU_FULL, NO_KERNEL), "failed: OutOfMemory (Requested size was", "raise "),
        # https://github.com/NVIDIA/TensorRT/issues/4253
        (
            (TYPED_FLAG, "[!] Invalid Engine."),
            "the ONNX file defines the types",
            "See the documentation of this call",
        ),
        # https://github.com/NVIDIA/TensorRT-LLM/issues/2494
        ((TOO_LONG,), "LOG192", "no engine was created"),
        # https://github.com/NVIDIA/TensorRT/issues/1703
        (
            (CALIBRATED, *NO_ALLOCATION),
            "Build once without --calib",
            "LOG124",
        ),
        (NO_ALLOCATION, "memory ran out: std::bad_alloc", "--calib"),
        # The number of a TensorRT-RTX release is no release of TensorRT before 8.
        ((RTX_RUN, TOO_MUCH), "See the documentation of this call", "This release is from 2021 or older"),
    ],
)
def test_advice(tmp_path: Path, lines: tuple[str, ...], told: str, untold: str) -> None:
    (tmp_path / "build.log").write_text("\n".join(["TensorRT", *lines, ""]), "utf-8")
    found = printed(tmp_path, "--isolated", "--no-cache", "--format", "json", "build.log").out
    assert told in found
    assert untold not in found


@pytest.mark.parametrize(
    ("lines", "rule"),
    [
        (
            (
                "operation.cpp:3390: DCHECK(opnd->is_data()) failed.",
                "[E] Error[10]: Error Code 10: Internal Error (Could not find any implementation for node {ForeignNode[a...b]}.)",
            ),
            "LOG104",
        ),
        # https://github.com/NVIDIA/TensorRT/issues/3411: no error names the block
        (
            (
                "stream_tile_size_solver.hpp:62: DCHECK(ub >= lb) failed. ",
                "[E] Error[1]: [codeGenerator.cpp::compileGraph::894] Error Code 1: Myelin (No Myelin Error exists)",
            ),
            "LOG106",
        ),
    ],
)
def test_a_failed_check_of_a_block_is_one_finding(tmp_path: Path, lines: tuple[str, ...], rule: str) -> None:
    (tmp_path / "build.log").write_text("\n".join(["TensorRT", *lines, ""]), "utf-8")
    out = printed(tmp_path, "--isolated", "--no-cache", "--format", "json", "build.log").out
    (finding,) = json.loads(out)["models"][0]["findings"]
    assert finding["rule"] == rule
    assert "DCHECK(" in finding["message"]


def test_a_timing_cache_that_is_not_used_is_no_failure(tmp_path: Path) -> None:
    # https://github.com/lightvector/KataGo/issues/739
    lines = (
        "[TRT] [E] 1: [myelinCache.h::deserializeFromBuffer::52] Error Code 1: Myelin (Myelin error from unknown graph)",
        "[TRT] [E] 4: The timing cache will not be used!",
    )
    (tmp_path / "build.log").write_text("\n".join(["TensorRT", *lines, ""]), "utf-8")
    out = printed(tmp_path, "--isolated", "--no-cache", "--format", "json", "build.log").out
    assert {(each["rule"], each["severity"]) for each in json.loads(out)["models"][0]["findings"]} == {
        ("LOG119", "warning")
    }


def test_a_line_that_repeats_a_failure_is_evidence_of_it(tmp_path: Path) -> None:
    (tmp_path / "build.log").write_text(f"{OLDER}\n{UNLOADED}\n", "utf-8")
    out = printed(tmp_path, "--isolated", "--no-cache", "--format", "json", "build.log").out
    (finding,) = json.loads(out)["models"][0]["findings"]
    assert finding["rule"] == "LOG114"
    assert any(line.startswith("build.log:2: failed to load 'yolo_trt'") for line in finding["evidence"])


def test_another_model_of_a_server_fails_for_itself(tmp_path: Path) -> None:
    other = UNLOADED.replace("yolo_trt", "unet")
    (tmp_path / "build.log").write_text(f"{OLDER}\n{UNLOADED}\n{other}\n", "utf-8")
    out = printed(tmp_path, "--isolated", "--no-cache", "--format", "json", "build.log").out
    assert [each["rule"] for each in json.loads(out)["models"][0]["findings"]] == ["LOG114", "LOG142"]


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        # https://github.com/jkjung-avt/tensorrt_demos/issues/315: outputs that Polygraphy compared
        ("[E]         FAILED | Difference exceeds tolerance (rtol=1e-05, atol=1e-05)", ""),
        # https://github.com/NVIDIA-AI-IOT/nanosam/issues/18
        (
            " Tactic Device request: 4248MB Available: 2507MB. Device memory is insufficient to use tactic.",
            "LOG108",
        ),
        # https://github.com/yuvraj108c/ComfyUI-Upscaler-Tensorrt/issues/5
        ("[E] ModelImporter.cpp:780: Input is not a regular file: C:\\models\\onnx", "LOG141"),
        # https://github.com/RichardoMrMu/yolov5-deepsort-tensorrt/issues/5
        ("[E] [TRT] INVALID_ARGUMENT: Cannot deserialize with an empty memory buffer.", "LOG138"),
        # https://github.com/pytorch/TensorRT/blob/v2.5.0/py/torch_tensorrt/_enums.py: not also a refused network
        (
            "TypeError: Provided an unsupported data type as an input data type (support: bool, int32, long, half, float), got: torch.float8_e4m3fn",
            "TTR303",
        ),
    ],
)
def test_cause(tmp_path: Path, line: str, rule: str) -> None:
    (tmp_path / "build.log").write_text(f"[I] [TRT] Loaded engine size: 1 MiB\n{line}\n", "utf-8")
    out = printed(tmp_path, "--isolated", "--no-cache", "--format", "json", "build.log").out
    assert [each["rule"] for each in json.loads(out)["models"][0]["findings"]] == ([rule] if rule else [])


REASON_BELOW = (
    "[05/27/2024-07:46:47] [E] [TRT] ModelImporter.cpp:953: ERROR: ModelImporter.cpp:195 In function parseNode:",
    "[6] Invalid Node - /Reshape_240",
    "\x1b[31m/Reshape_240: reshape changes volume. Reshaping [1,3,4] to [1,5].\x1b[0m",
)


@pytest.mark.parametrize(
    "record",
    [
        lambda line: {"log": line + "\n", "stream": "stderr", "time": "2024-01-01T00:00:00.1Z"},
        lambda line: {"time": "2024-01-01T00:00:00Z", "level": "error", "msg": line},
        lambda line: {"kubernetes": {"labels": {"app": "a"}}, "log": line + "\n"},
        lambda line: {"__REALTIME_TIMESTAMP": "1", "MESSAGE": line},
    ],
    ids=["docker", "logger", "kubernetes", "journal"],
)
def test_reason_on_the_next_line_of_json(tmp_path: Path, record: Callable[[str], dict[str, object]]) -> None:
    plain = "\n".join(line.replace("\x1b[31m", "").replace("\x1b[0m", "") for line in REASON_BELOW)
    (tmp_path / "plain.log").write_text(f"{plain}\n", "utf-8")
    (tmp_path / "json.log").write_text("".join(json.dumps(record(line)) + "\n" for line in REASON_BELOW))
    messages = []
    for name in ("plain.log", "json.log"):
        out = printed(tmp_path, "--isolated", "--no-cache", "--format", "json", name).out
        (finding,) = json.loads(out)["models"][0]["findings"]
        messages.append((finding["rule"], finding["message"]))
    assert messages[0] == messages[1]
    assert "reshape changes volume" in messages[1][1]


def test_message_of_several_lines_in_json_keeps_its_number(tmp_path: Path) -> None:
    lines = [json.dumps({"msg": "TensorRT"}), json.dumps({"msg": "\n".join(REASON_BELOW)})]
    (tmp_path / "build.log").write_text("\n".join([*lines, ""]), "utf-8")
    out = printed(tmp_path, "--isolated", "--no-cache", "--format", "json", "build.log").out
    (finding,) = json.loads(out)["models"][0]["findings"]
    assert any(line.startswith("build.log:2:") for line in finding["evidence"])


@pytest.mark.parametrize(
    "text",
    [
        # https://github.com/TNTwise/REAL-Video-Enhancer/issues/165: glued to a progress bar
        "[Torch-TensorRT] ready\nFPS: 94 ETA: 0:00:36ERROR: [Torch-TensorRT] - IExecutionContext::enqueueV3: Error Code 1: Myelin ([exec_instr",
        # https://github.com/pytorch/TensorRT/issues/4610
        'import torch_tensorrt\nTraceback (most recent call last):\n  File "a.py", line 1, in run\n    assert engine\nAsserti',
        "[NVINFER LOG]: 6: The engine plan file is generated on an incompat",
        '{"log":"[05/27/2024-07:46:47] [E] [TRT] ModelImporter.cpp:953: ERROR: Model',
        "[05/27/2024-07:46:47] [E] [TRT] 10: Could not find any imp",
    ],
)
def test_log_that_ends_inside_the_reason_is_loud(tmp_path: Path, text: str) -> None:
    (tmp_path / "build.log").write_text(text, "utf-8")
    found = printed(tmp_path, "--isolated", "--no-cache", "build.log")
    assert found.code == 1
    assert "error[LOG" in found.out


@pytest.mark.parametrize("name", ["build.log", "build.jsonl"])
def test_lines_of_json_in_any_order_are_a_log(tmp_path: Path, name: str) -> None:
    line = json.dumps({"time": "2024-01-01T00:00:00Z", "stream": "stderr", "log": NO_KERNEL + "\n"})
    (tmp_path / name).write_text(f"{line}\n", "utf-8")
    out = printed(tmp_path, "--isolated", "--no-cache", "--format", "json", name).out
    assert [each["rule"] for each in json.loads(out)["models"][0]["findings"]] == ["LOG105"]


@pytest.mark.parametrize(
    ("lines", "options"),
    [
        (
            (
                "&&&& RUNNING TensorRT.trtexec [TensorRT v101601] # trtexec --onnx=m.onnx",
                f"[E] [TRT] {NO_PROFILE}",
            ),
            "for example --minShapes=x:1x3x8x8,y:1 --optShapes=x:1x3x8x8,y:1 --maxShapes=x:1x3x8x8,y:1.",
        ),
        (
            (f"[E] {NO_PROFILE}", "[!] Invalid Engine. Please ensure the engine was built correctly"),
            "for example --trt-min-shapes x:[1,3,8,8] y:[1] --trt-opt-shapes x:[1,3,8,8] y:[1] --trt-max-shapes",
        ),
        (
            (
                f"2024-01-01 10:00:00.123 [E:onnxruntime:Default, a.h:73 log] [2024-01-01 10:00:00   ERROR] {NO_PROFILE}",
            ),
            "trt_profile_min_shapes=x:1x3x8x8,y:1, trt_profile_opt_shapes=",
        ),
        (
            (f"ERROR:torch_tensorrt [TensorRT Conversion Context]:{NO_PROFILE}",),
            "torch_tensorrt.Input(min_shape=(1,), opt_shape=(1,), max_shape=(1,)) for y",
        ),
        ((f"[TRT] [E] {NO_PROFILE}",), "for example trtexec --minShapes=x:1x3x8x8,y:1 --optShapes="),
    ],
)
def test_missing_profile_in_the_words_of_each_program(
    tmp_path: Path, lines: tuple[str, ...], options: str
) -> None:
    inputs = [
        helper.make_tensor_value_info("x", 1, ["b", 3, 8, 8]),
        helper.make_tensor_value_info("y", 1, ["b"]),
    ]
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Shape", ["y"], ["t"])]
    outputs = [helper.make_tensor_value_info(name, 7, None) for name in "st"]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", inputs, outputs)), tmp_path / "m.onnx")
    (tmp_path / "build.log").write_text("\n".join([*lines, ""]), "utf-8")
    found = printed(
        tmp_path, "--isolated", "--no-cache", "--format", "json", "m.onnx", "--log", "build.log"
    ).out
    assert options in found


@pytest.mark.parametrize(
    ("lines", "rules", "message"),
    [
        # https://github.com/NVIDIA/TensorRT/issues/1661: the size is on the line below
        (
            (
                "[E] Error[1]: [defaultAllocator.cpp::allocate::20] Error Code 1: Cuda Runtime (out of memory)",
                "[W] [TRT] Requested amount of GPU memory (17179869184 bytes) could not be allocated.",
            ),
            ["LOG133"],
            "memory ran out (16384 MiB requested)",
        ),
        (
            (
                "[E] 2: [virtualMemoryBuffer.cpp::resizePhysical::145] Error Code 2: OutOfMemory (no further information)",
                "[E] 2: [virtualMemoryBuffer.cpp::resizePhysical::140] Error Code 2: OutOfMemory (Requested size was 1073741824 bytes.)",
            ),
            ["LOG133"],
            "memory ran out (1024 MiB requested)",
        ),
        (
            (
                "TensorRT",
                "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB (GPU 0; 8.00 GiB total capacity; 1.10 GiB free)",
            ),
            ["LOG133"],
            "(2560 MiB requested, 1126 MiB free)",
        ),
        (
            (
                f"[01/01/2024-00:00:00] {FULL}",
                "[01/01/2024-00:00:00] [TRT] [W] Skipping tactic 0 due to insufficient memory on requested size of 629145600 detected for tactic 0x0.",
            ),
            ["LOG108"],
            "was 600 MiB, but only 302 MiB of GPU memory were free",
        ),
    ],
)
def test_size_of_a_request_beside_the_error(
    tmp_path: Path, lines: tuple[str, ...], rules: list[str], message: str
) -> None:
    (tmp_path / "build.log").write_text("\n".join([*lines, ""]), "utf-8")
    out = printed(tmp_path, "--isolated", "--no-cache", "--format", "json", "build.log").out
    findings = json.loads(out)["models"][0]["findings"]
    assert [each["rule"] for each in findings] == rules
    assert message in out
