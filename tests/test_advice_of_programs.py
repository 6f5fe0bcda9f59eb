"""Tests of log-rule advice about errors of programs, pipelines and old releases."""

# ruff: noqa: E501 (lines of logs are quoted whole)

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.inprocess import printed

NO_ATTRIBUTE = "AttributeError: module '{}' has no attribute '{}'"
NO_WIDTH = """** ERROR: main:655: Failed to set pipeline to PAUSED
ERROR from src_bin_muxer: Output width not set
App run failed"""
SHORT = "[TensorRT-LLM][ERROR] Assertion failed: The engine is built with remove_input_padding=True and max_num_tokens=128, while trying to benchmark on 8192 tokens (/src/a.cpp:140)"
NO_KERNEL = """[E] Error Code: 10: Could not find any implementation for node /model/model.6/Conv.
Building engine: 100%|####| 6/6 [00:43<00:00,  7.20s/it]
[E] IBuilder::buildSerializedNetwork: Error Code 10: Internal Error (Could not find any implementation for node /model/model.6/Conv.)"""
MAPPING = "[TensorRT] ERROR: ../rtSafe/safeContext.cpp (133) - Cudnn Error in configure: 7 (CUDNN_STATUS_MAPPING_ERROR)"
PTX = "CUDA Runtime error create_frustum_kernel # a PTX JIT compilation failed, code = cudaErrorInvalidPtx [ 218 ] in file /mnt/a.cu:209"
WEIGHTS = "[TensorRT] ERROR: 4: (Unnamed Layer* 325) [Convolution]: count of 2304 weights in kernel, but kernel dimensions (3,3) with 256 input channels were specified."
OLD_LAYER = "[TensorRT] ERROR: (Unnamed Layer* 486) [Shuffle]: at most one dimension may be inferred"
GEMM = (
    "[02/23/2021-01:29:40] [E] [TRT] Gemm_848: attempt to multiply two matrices with mismatching dimensions"
)
NO_FILE = "[Errno 2] No such file or directory: '/ComfyUI/models/tensorrt/upscaler/4x_10.9.0.34.trt'"
READ = "coreReadArchive.h(271) - Serialization Error in readExternal:0(Type mismatch)"
UFF = "[08/18/2019-20:58:10] [E] [TRT] UffParser: Validator error: mrcnn_mask_deconv/add_1: Unsupported operation _AddV2"
REFUSED = "yolov7: /a/main.cpp:38: void serialize_engine(unsigned int): Assertion `serialized_engine != nullptr' failed."


NO_FORMAT = (
    "[02/12/2024-12:40:19] [TRT] [E] 9: [pluginV2Builder.cpp::reportPluginError::24] Error Code 9: Internal Error "
    "(layers/0/attention/qkv/PLUGIN_V2_Gemm_0: could not find any supported formats consistent with input/output "
    "data types)"
)
NO_ENGINE = "TensorRT\nAttributeError: 'NoneType' object has no attribute 'create_execution_context'"
STRIDE = (
    "[TensorRT] ERROR: _107: elementwise inputs must have same dimensions or follow broadcast rules (input "
    "dimensions were [1,24,136,240] and [1,24,135,240])."
)
DIVIDED = "TensorRT\n[1]    4584 floating point exception (core dumped)  ./demo  ../demo/yolo_test.mp4"


@pytest.mark.parametrize(
    ("log", "rule", "told", "untold"),
    [
        # https://github.com/NVIDIA-AI-IOT/jetracer/issues/27
        (
            NO_ATTRIBUTE.format("torch", "reciprocal_"),
            "LOG190",
            "Install the PyTorch that the",
            "tensorrt<10",
        ),
        # https://github.com/cumulo-autumn/StreamDiffusion/issues/77
        (
            NO_ATTRIBUTE.format("polygraphy.backend.trt.util", "get_bindings_per_profile"),
            "LOG143",
            "pip install polygraphy==",
            "tensorrt<10",
        ),
        # https://github.com/tensorflow/tensorflow/issues/35440
        (
            NO_ATTRIBUTE.format("tensorflow.contrib.tensorrt.python.trt_convert", "TrtGraphConverter"),
            "LOG143",
            "Update TensorFlow",
            "tensorrt<10",
        ),
        # https://github.com/ultralytics/ultralytics/issues/547
        ("TensorRT\nKeyError: '.engine'", "LOG190", "pip install -U ultralytics", "LOG124"),
        # https://github.com/marcoslucianops/DeepStream-Yolo/issues/92
        (NO_WIDTH, "LOG193", "The [streammux] group", "cannot be read or decoded"),
        # https://github.com/triton-inference-server/tensorrtllm_backend/issues/212
        (
            "Input tensor 'host_max_kv_cache_length_0' not found; expected shape: (1)",
            "LOG192",
            "(trtllm-build)",
            "trtexec",
        ),
        # https://github.com/NVIDIA/TensorRT-LLM/issues/1666
        (SHORT, "LOG192", "a larger --max_num_tokens", "--max_seq_len"),
        # https://github.com/yuvraj108c/ComfyUI-Upscaler-Tensorrt/issues/21
        (NO_KERNEL, "LOG105", "multiples of 64", "LOG124"),
        # https://github.com/NVIDIA/TensorRT/issues/480
        (MAPPING, "LOG129", "With PyCUDA, push the context", "Check the installation"),
        # https://github.com/NVIDIA/TensorRT-LLM/issues/1077
        (NO_FORMAT, "LOG124", "--gpt_attention_plugin", "An internal check"),
        # https://github.com/Media-Smart/volksdep/issues/15
        (
            NO_ENGINE,
            "LOG124",
            "releases of TensorRT and PyTorch that the program was written",
            "internal check",
        ),
        # https://github.com/SthPhoenix/InsightFace-REST/issues/13
        (STRIDE, "LOG136", "a multiple of 32", "stored as a constant, in most cases the batch size"),
        # https://github.com/ceccocats/tkDNN/issues/197
        (DIVIDED, "LOG125", "let this version of the program build it again", "no engine was created"),
        # https://github.com/NVIDIA-AI-IOT/Lidar_AI_Solution/issues/35
        (PTX, "LOG127", "Update the driver", "LOG124"),
        (
            WEIGHTS,
            "LOG165",
            "do not belong to the network that the program builds",
            "TensorRT's own and states",
        ),
        # https://github.com/GeekAlexis/FastMOT/issues/27
        (OLD_LAYER, "LOG124", "This release is from 2021 or older", "TensorRT's own and states"),
        # https://github.com/zerollzeng/tiny-tensorrt/issues/41
        (GEMM, "LOG136", "getOutputDimensions", "stored as a constant"),
        # https://github.com/yuvraj108c/ComfyUI-Upscaler-Tensorrt/issues/49
        (NO_FILE, "LOG141", "does not exist yet", "delete the .engine file"),
        # https://github.com/triton-inference-server/server/issues/2307
        (READ, "LOG138", "an engine that another release built", "LOG124"),
        # https://github.com/NVIDIA/TensorRT/issues/125
        (UFF, "LOG140", "Convert with TensorFlow 1.14", "Lint the model for this version"),
        # https://github.com/wang-xinyu/tensorrtx/issues/1271
        (REFUSED, "LOG124", "update the program with git pull", "states the reason"),
    ],
)
def test_advice(tmp_path: Path, log: str, rule: str, told: str, untold: str) -> None:
    (tmp_path / "build.log").write_text(f"{log}\n", "utf-8")
    text = printed(tmp_path, "--isolated", "--no-cache", "--format", "json", "build.log").out
    assert [each["rule"] for each in json.loads(text)["models"][0]["findings"]] == [rule]
    assert told in text
    assert untold not in text


def test_three_references(tmp_path: Path) -> None:
    (tmp_path / "build.log").write_text(f"{MAPPING}\n", "utf-8")
    lines = printed(tmp_path, "--isolated", "--no-cache", "build.log").out.splitlines()
    seen = [line.strip() for line in lines if "= see: " in line]
    assert seen[0] == "= see: https://github.com/NVIDIA/TensorRT/issues/480"
    assert len(seen) == 4
    assert seen[3].endswith("more: trtlint rule LOG129")
